package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func exact(v float64) Value { return Value{Mid: v, Lo: v, Hi: v, Firm: true} }

// at returns values at the first places.
func at(values ...Value) map[int]Value {
	all := make(map[int]Value)
	for i, v := range values {
		all[i] = v
	}
	return all
}

func lines(values ...Value) Lines {
	return Lines{
		Label: "con <1>", X: []string{"1", "2", "8"}, Shaded: 3, At: at(values...),
		Scale: NewScale(values), Look: Look{Class: "s0", Shape: Dot},
	}
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
	if wrong := regexp.MustCompile(`NaN|Inf|%!|"-[0-9.]+%"`).FindString(svg); wrong != "" {
		t.Errorf("%s in\n%s", wrong, svg)
	}
}

// places returns the numbers that a pattern finds in a drawing.
func places(t *testing.T, svg, pattern string) (found []float64) {
	t.Helper()
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(svg, -1) {
		v, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, v)
	}
	return found
}

// A chart of anything is well-formed: of one place, of values that are missing, unknown,
// negative or far apart.
func TestLinesAreWellFormed(t *testing.T) {
	vague := Value{Mid: 3, Lo: 0.1, Hi: 900, Unknown: true, Each: []float64{2, 3}}
	for name, l := range map[string]Lines{
		"plain": lines(exact(1), exact(2), exact(3)), "far apart": lines(exact(1), exact(1e7)), "nothing": lines(),
		"negative": lines(exact(-1), exact(2)), "unknown": lines(vague), "a gap": lines(exact(2), vague, exact(3)),
		"with an interval": lines(Value{Mid: 2, Lo: 1, Hi: 3, Each: []float64{0.1, 1, 2, 3, 99}, Tip: "<2>"}, exact(4)),
		"one place":        {X: []string{"1"}, Shaded: 1, At: at(exact(1)), Scale: NewScale([]Value{exact(1)})},
		"all shaded":       {X: []string{"1", "2"}, At: at(exact(1), exact(2)), Scale: NewScale([]Value{exact(1), exact(2)})},
		"no place":         {Scale: NewScale(nil)},
	} {
		t.Run(name, func(t *testing.T) { wellFormed(t, l.SVG()) })
	}
}

// A line connects known neighbors. A value that is not known leaves a gap: only its
// repetitions are drawn, and they do not change the scale.
func TestUnknown(t *testing.T) {
	vague := Value{Mid: 3, Lo: 0.1, Hi: 900, Unknown: true, Each: []float64{2, 3}}
	svg := lines(exact(2), vague, exact(3)).SVG()
	if n := strings.Count(svg, string(Dot)); n != 2 || strings.Contains(svg, `class="line"`) || !strings.Contains(svg, `class="each"`) || strings.Contains(svg, "whisker") {
		t.Errorf("%d marks, want 2, the repetitions of the unknown value, and no line:\n%s", n, svg)
	}
	if n := strings.Count(lines(exact(2), exact(4), exact(3)).SVG(), `class="line"`); n != 2 {
		t.Errorf("%d parts of a line, want 2", n)
	}
	if strings.Contains(svg, `>100<`) {
		t.Error("an unknown value changes the scale")
	}
	if strip := Strip(NewScale([]Value{exact(3)}), Value{}, Mark{Value: vague}); strings.Contains(strip, "whisker") || strings.Contains(strip, `class="bar"`) || !strings.Contains(strip, `class="each"`) {
		t.Errorf("a strip of an unknown value has more than its repetitions:\n%s", strip)
	}
}

// A larger figure is further up, and the built-in channel is a line beside, without marks.
func TestLines(t *testing.T) {
	l := lines(exact(10), exact(20), exact(30))
	l.Beside, l.Look = at(exact(5), exact(5)), Look{Class: "p0", Shape: Triangle, Dashed: true}
	svg := l.SVG()
	if y := places(t, svg, `translate\(0 ([0-9.]+)\)`); len(y) != 3 || !(y[0] > y[1] && y[1] > y[2]) {
		t.Errorf("marks at %v, want them further up", y)
	}
	if strings.Count(svg, "line beside") != 1 || strings.Count(svg, "line dashed") != 2 || strings.Count(svg, string(Triangle)) != 3 {
		t.Errorf("lines of the wrong kind:\n%s", svg)
	}
}

// Repetitions beyond the scale are at its edge, and of another class.
func TestBeyond(t *testing.T) {
	v := Value{Mid: 30, Lo: 29, Hi: 31, Firm: true, Each: []float64{30, 900}}
	svg := lines(v, exact(40)).SVG()
	if strings.Count(svg, `class="beyond"`) != 1 || strings.Count(svg, `class="each"`) != 1 || strings.Contains(svg, "range") {
		t.Errorf("the repetitions:\n%s", svg)
	}
	v.Firm = false
	if svg := lines(v).SVG(); !strings.Contains(svg, `class="whisker range"`) {
		t.Errorf("a range looks like an interval:\n%s", svg)
	}
}

// The names of places never touch, even in the narrowest chart: some are left out. The last
// is always there.
func TestPlaces(t *testing.T) {
	for _, x := range [][]string{{"0", "1", "2", "5", "10", "25", "100", "1024"}, {"1 to 1", "8 to 1", "1 to 8", "8 to 8"}, {"1"}, {"one", "two words, or more"}} {
		l := lines()
		l.X = x
		svg := l.SVG()
		below := regexp.MustCompile(`<text x="([0-9.]+)%" y="120.0"[^>]*>([^<]*)<`).FindAllStringSubmatch(svg, -1)
		if len(below) == 0 || below[0][2] != x[len(x)-1] {
			t.Errorf("%q has %q", x, below)
		}
		const narrowest, letter = 170, 7
		free := math.Inf(1)
		for _, text := range below {
			share, _ := strconv.ParseFloat(text[1], 64)
			middle, half := share/100*narrowest, letter*float64(len(text[2]))/2
			if middle+half > free {
				t.Errorf("%q: %q touches its neighbor", x, text[2])
			}
			free = middle - half
		}
	}
}

// A linear scale has a bar from zero; a logarithmic one has none. The base is a line.
func TestStrip(t *testing.T) {
	linear := NewScale([]Value{exact(40), exact(80)})
	first, second := Strip(linear, exact(40), Mark{Value: exact(40)}), Strip(linear, exact(40), Mark{Value: exact(80), Look: Look{Class: "s0", Shape: Dot}})
	wellFormed(t, first)
	a, b := places(t, first, `width="([0-9.]+)%" height="10" class="bar"`), places(t, second, `width="([0-9.]+)%" height="10" class="bar"`)
	if len(a) != 1 || len(b) != 1 || math.Abs(b[0]-2*a[0]) > 0.2 {
		t.Errorf("bars of 40 and 80 are %v and %v wide", a, b)
	}
	if base := places(t, second, `x1="([0-9.]+)%"[^>]*class="baseline"`); len(base) != 1 || base[0] != a[0] {
		t.Errorf("the baseline is at %v, the figure at %v", base, a)
	}
	logarithmic := NewScale([]Value{exact(1), exact(100)})
	three := Strip(logarithmic, Value{}, Mark{Value: exact(1), Look: Look{Shape: Diamond}}, Mark{Value: exact(10)}, Mark{Value: exact(100)})
	wellFormed(t, three)
	if x := places(t, three, `<svg x="([0-9.]+)%"`); !logarithmic.Log || len(x) != 3 || math.Abs(x[1]-50) > 0.1 || strings.Contains(three, "bar") || strings.Contains(three, "baseline") {
		t.Errorf("marks at %v:\n%s", x, three)
	}
	wellFormed(t, Axis(linear))
	wellFormed(t, Axis(logarithmic))
	if n := strings.Count(Axis(logarithmic), "<text"); n < 2 {
		t.Errorf("%d figures at the axis", n)
	}
}

func TestScale(t *testing.T) {
	tests := []struct {
		name   string
		values []Value
		log    bool
	}{
		{"close figures start at zero", []Value{exact(30), exact(110)}, false},
		{"distant figures are logarithmic", []Value{exact(3), exact(400)}, true},
		{"outliers far away change nothing", []Value{{Mid: 30, Lo: 29, Hi: 31, Each: []float64{2, 900}}}, false},
		{"many decades", []Value{exact(1), exact(1e7)}, true},
		{"a zero rules logarithms out", []Value{exact(0), exact(400)}, false},
		{"nothing", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewScale(tt.values)
			if s.Log != tt.log || !s.Log && s.lo != 0 {
				t.Errorf("scale %+v, want log %v", s, tt.log)
			}
			for _, v := range tt.values {
				if p := s.at(v.Mid); p < 0 || p > 1 || math.IsNaN(p) {
					t.Errorf("%v lies at %v", v.Mid, p)
				}
			}
			for _, room := range []float64{acrossRoom, uprightRoom} {
				ticks := s.ticks(room)
				if len(ticks) < 2 || len(ticks) > 6 || !slices.IsSorted(ticks) {
					t.Errorf("ticks %v", ticks)
				}
				for i := 1; i < len(ticks); i++ {
					if s.at(ticks[i])-s.at(ticks[i-1]) < room {
						t.Errorf("%v and %v touch", ticks[i-1], ticks[i])
					}
				}
			}
		})
	}
}
