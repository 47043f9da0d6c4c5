package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every class in a page has a style.
func TestStyles(t *testing.T) {
	for _, r := range []*Report{crowded()} {
		for _, class := range unstyled(render(t, r.WritePage)) {
			t.Errorf("class %q has no style", class)
		}
	}
	if got := unstyled(`</style><p class="soft planted">`); len(got) != 1 {
		t.Errorf("a planted class: reported %q", got)
	}
}

// unstyled returns the classes of a page without a style. Some are there for
// the checks of the page, or for a family that is not in it.
func unstyled(page string) (missing []string) {
	_, body, _ := strings.Cut(page, "</style>")
	for _, match := range regexp.MustCompile(`class="([^"]+)"`).FindAllStringSubmatch(body, -1) {
		for class := range strings.FieldsSeq(match[1]) {
			if class != "mark" && !regexp.MustCompile(`\.`+class+`\b`).MatchString(style) {
				missing = append(missing, class)
			}
		}
	}
	return missing
}

// A theme has the colors of page.css by name, light or dark.
type theme map[string]color

// A color is red, green and blue, linear, from 0 to 1.
type color [3]float64

// themes reads the colors from a style: the light ones come first, and dark
// overrides them.
func themes(t *testing.T, style string) map[string]theme {
	t.Helper()
	light, dark, found := strings.Cut(style, "prefers-color-scheme: dark")
	if !found {
		t.Fatal("the style has no dark theme")
	}
	dark, _, _ = strings.Cut(dark, "\n}\n")
	all := map[string]theme{"light": make(theme), "dark": make(theme)}
	for name, text := range map[string]string{"light": light, "dark": dark} {
		for _, match := range regexp.MustCompile(`--([a-z0-9]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			all[name][match[1]] = parseColour(t, match[2])
		}
	}
	return all
}

func parseColour(t *testing.T, hex string) (c color) {
	t.Helper()
	for i := range c {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		if s := float64(v) / 255; s <= 0.04045 {
			c[i] = s / 12.92
		} else {
			c[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return c
}

// eyes are kinds of color vision: normal, and the two common forms of color
// blindness. The matrices, for linear colors, are from Machado, Oliveira and
// Fernandes, 2009, at full severity.
var eyes = map[string][3][3]float64{
	"most":        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"deuteranope": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"protanope":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
}

// distance is the smallest CIELAB (1976) distance over all eyes. A difference
// of 2.3 is just noticeable.
func distance(a, b color) float64 {
	least := math.Inf(1)
	for _, eye := range eyes {
		p, q := labColor(seen(a, eye)), labColor(seen(b, eye))
		least = min(least, math.Sqrt(math.Pow(p[0]-q[0], 2)+math.Pow(p[1]-q[1], 2)+math.Pow(p[2]-q[2], 2)))
	}
	return least
}

func seen(c color, eye [3][3]float64) (s color) {
	for i, row := range eye {
		s[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return s
}

func labColor(c color) [3]float64 {
	f := func(v float64) float64 {
		if v > 0.008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16.0/116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.95047)
	y := f(0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2])
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// familyDistance is the least distance between the colors of two families. A browser checks
// the contrast of what it shows: tools/page.
const familyDistance = 25

func TestPalette(t *testing.T) {
	for name, colors := range themes(t, style) {
		for _, wrong := range faults(colors) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	colors := themes(t, style)["light"]
	colors["p0"] = parseColour(t, "#33383d")
	if wrong := faults(colors); len(wrong) != 1 {
		t.Errorf("two families of one color: reported %q", wrong)
	}
}

func faults(colors theme) (wrong []string) {
	families := []string{"n0", "p0", "s0"}
	for i, a := range families {
		for _, b := range families[:i] {
			if d := distance(colors[a], colors[b]); d < familyDistance {
				wrong = append(wrong, fmt.Sprintf("the families of %s and %s: %.1f", a, b, d))
			}
		}
	}
	return wrong
}
