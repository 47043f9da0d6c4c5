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

func lines(series ...Series) Lines {
	return Lines{Title: "con <1>", XAxis: "GOMAXPROCS", YAxis: "ns per value", X: []string{"1", "2", "8"}, Shaded: 3, Series: series}
}

// wellFormed fails unless svg is XML from end to end, and has numbers alone.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("a coordinate is no number:\n%s", svg)
	}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
		}
	}
}

// places returns the numbers of all attributes of the given name.
func places(t *testing.T, svg, pattern string) []float64 {
	t.Helper()
	var found []float64
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(svg, -1) {
		v, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, v)
	}
	return found
}

func TestLinesIsWellFormed(t *testing.T) {
	full := Series{Name: `a & "b"`, Class: "s1", At: map[int]Value{0: exact(10), 1: {Mid: 12, Lo: 11, Hi: 14, Tip: "<12>"}, 2: exact(900)}}
	for name, chart := range map[string]Lines{
		"full":       lines(full, Series{Name: "partial", Class: "n1", At: map[int]Value{1: exact(3)}}),
		"no series":  lines(),
		"no values":  lines(Series{Name: "none"}),
		"one place":  {Title: "t", X: []string{"1"}, Series: []Series{{Name: "a", At: map[int]Value{0: exact(1)}}}},
		"zeros":      lines(Series{Name: "zero", At: map[int]Value{0: exact(0), 1: exact(0)}}),
		"shaded":     {Title: "t", X: []string{"1", "8"}, Shaded: 1, Shade: "oversubscribed", Series: []Series{full}},
		"long names": lines(Series{Name: strings.Repeat("long ", 20), At: map[int]Value{0: exact(1)}}),
	} {
		t.Run(name, func(t *testing.T) { wellFormed(t, chart.SVG()) })
	}
}

// A larger value is drawn higher, and an interval encloses its mark.
func TestLinesGeometry(t *testing.T) {
	svg := lines(Series{Name: "a", At: map[int]Value{0: {Mid: 20, Lo: 10, Hi: 30}, 1: exact(25)}}).SVG()
	cy := places(t, svg, `cy="([0-9.]+)"`)
	if len(cy) != 3 || cy[0] <= cy[1] { // two marks, and the sample beside the name
		t.Errorf("marks of 20 and 25 at heights %v", cy)
	}
	y1 := places(t, svg, `y1="([0-9.]+)" x2="[0-9.]+" y2="[0-9.]+" class="whisker range"`)
	if len(y1) != 1 && len(y1) != 2 {
		t.Fatalf("%d range whiskers", len(y1))
	}
	if y1[0] <= cy[0] {
		t.Errorf("the lower end of the interval, at %v, is not below its mark, at %v", y1[0], cy[0])
	}
}

// one returns a chart of one figure.
func one(v Value, cover []Value) string {
	return Dots{Cover: cover, Figures: []Figure{{Label: "a", Text: "1", Marks: []Mark{{Value: v}}}}}.SVG()
}

// Charts that cover the same values have the same scale.
func TestCover(t *testing.T) {
	cover := []Value{exact(20), exact(900)}
	ticks := regexp.MustCompile(`class="tick">[^<]+<`)
	for _, pair := range [][2]string{
		{lines(Series{Name: "a", At: map[int]Value{0: exact(30)}}).SVG(), Lines{X: []string{"1"}, Cover: cover}.SVG()},
		{one(exact(30), nil), Dots{Cover: cover}.SVG()},
	} {
		if slices.Equal(ticks.FindAllString(pair[0], -1), ticks.FindAllString(pair[1], -1)) {
			t.Error("values to be covered do not change the scale")
		}
	}
	narrow, wide := one(exact(30), cover), one(exact(800), cover)
	if !slices.Equal(ticks.FindAllString(narrow, -1), ticks.FindAllString(wide, -1)) {
		t.Error("two charts that cover the same values have different ticks")
	}
}

// Every repetition is drawn: as a point on the scale, or as an arrow towards it.
func TestEachRepetitionIsShown(t *testing.T) {
	value := Value{Mid: 100, Lo: 95, Hi: 105, Each: []float64{93, 95, 100, 105, 140, 900, 1000}}
	for name, svg := range map[string]string{
		"lines": lines(Series{Name: "a", At: map[int]Value{0: value}}).SVG(),
		"dots":  one(value, nil),
	} {
		wellFormed(t, svg)
		points := regexp.MustCompile(`d="([^"]*)" class="each"`).FindStringSubmatch(svg)
		if points == nil || strings.Count(points[1], "h0") != 5 {
			t.Errorf("%s: points %q, want 5 of them", name, points)
		}
		if n := strings.Count(svg, `class="beyond"`); n != 2 {
			t.Errorf("%s: %d arrows, want 2", name, n)
		}
	}
	if s := newScale([]Value{value}, false); s.log || s.hi < 140 || s.hi > 200 {
		t.Errorf("two outliers make the scale %+v", s)
	}
}

// Without colors, dashes and marks identify each family, and marks beside the names.
func TestLinesWithoutColour(t *testing.T) {
	at := map[int]Value{0: exact(1), 1: exact(2)}
	svg := lines(Series{Name: "a", Shape: Square, At: at}, Series{Name: "b", Shape: Triangle, Dashed: true, At: at}).SVG()
	if strings.Count(svg, `class="line dashed"`) != 1 || strings.Count(svg, `class="line"`) != 1 {
		t.Errorf("no whole and dashed line:\n%s", svg)
	}
	shapes := make(map[string]int)
	for _, d := range regexp.MustCompile(`<path d="M[0-9.]+ [0-9.]+([a-z])[^"]*" class="dot"`).FindAllStringSubmatch(svg, -1) {
		shapes[d[1]]++
	}
	if shapes["h"] != 3 || shapes["l"] != 3 { // two marks each, and beside the name
		t.Errorf("shapes %v, want 3 squares and 3 triangles", shapes)
	}
}

// What leads to a name is beside the frame, not in it, and starts at a mark at its edge: it
// does not look like data.
func TestLeaders(t *testing.T) {
	chart := lines(
		Series{Name: "to the end", At: map[int]Value{0: exact(1), 2: exact(2)}},
		Series{Name: "ends early", At: map[int]Value{0: exact(3)}},
	)
	from := places(t, chart.SVG(), `<line x1="([0-9.]+)" [^>]* class="leader"`)
	if len(from) != 1 || from[0] <= chart.layout().right {
		t.Errorf("leaders from %v, want one to the right of %v", from, chart.layout().right)
	}
}

// A value without a known size leaves a gap in its line: only its repetitions
// are drawn, and they do not change the scale.
func TestUnknown(t *testing.T) {
	vague := Value{Mid: 3, Lo: 0.1, Hi: 900, Unknown: true, Each: []float64{2, 3}}
	svg := lines(Series{Name: "a", At: map[int]Value{0: exact(2), 1: vague, 2: exact(3)}}).SVG()
	wellFormed(t, svg)
	if n := strings.Count(svg, `<circle`); n != 3 { // two marks, and the sample
		t.Errorf("%d marks, want 3", n)
	}
	if !regexp.MustCompile(`<path d="M[0-9. ]+M[0-9. ]+" class="line"`).MatchString(svg) {
		t.Errorf("no gap in the line:\n%s", svg)
	}
	if strings.Contains(svg, `class="tick">100<`) {
		t.Error("an unknown value changes the scale")
	}
	only := lines(Series{Name: "unseen", At: map[int]Value{0: vague}}).SVG()
	if !strings.Contains(only, "unseen (not known)") || strings.Contains(only, `class="line"`) || !strings.Contains(only, `class="each"`) || strings.Contains(only, "whisker") {
		t.Errorf("a series without a known value has no name, or more than its repetitions:\n%s", only)
	}
	dots := one(vague, nil)
	if strings.Contains(dots, "whisker") || strings.Contains(dots, "<circle") || strings.Contains(dots, `class="bar"`) || !strings.Contains(dots, `class="each"`) {
		t.Errorf("a figure without a known value has more than its repetitions:\n%s", dots)
	}
}

func TestScale(t *testing.T) {
	tests := []struct {
		name   string
		values []Value
		log    bool
		lo     float64
	}{
		{"close figures start at zero", []Value{exact(30), exact(110)}, false, 0},
		{"distant figures are logarithmic", []Value{exact(3), exact(400)}, true, 2},
		{"outliers far away change nothing", []Value{{Mid: 30, Lo: 29, Hi: 31, Each: []float64{2, 900}}}, false, 0},
		{"many decades", []Value{exact(1), exact(1e7)}, true, 1},
		{"a zero rules logarithms out", []Value{exact(0), exact(400)}, false, 0},
		{"nothing", nil, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScale(tt.values, false)
			if s.log != tt.log || s.lo != tt.lo {
				t.Errorf("scale %+v, want log %v from %v", s, tt.log, tt.lo)
			}
			for _, v := range tt.values {
				if p := s.at(v.Mid); p < 0 || p > 1 || math.IsNaN(p) {
					t.Errorf("%v lies at %v", v.Mid, p)
				}
			}
			ticks := s.ticks()
			if len(ticks) < 3 || len(ticks) > maxTicks {
				t.Errorf("%d ticks: %v", len(ticks), ticks)
			}
			if !slices.IsSorted(ticks) {
				t.Errorf("ticks out of order: %v", ticks)
			}
		})
	}
}

func TestInLines(t *testing.T) {
	const text = "sluice.Elastic, batches of 64 × über-long"
	for room := 30.0; room < 300; room += 7 {
		lines := inLines(text, labelSize, room)
		for _, line := range lines {
			if widthOf(line, labelSize) > room {
				t.Errorf("in a room of %v: %q", room, line)
			}
		}
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.ReplaceAll(text, " ", "") {
			t.Errorf("in a room of %v letters are lost: %q", room, lines)
		}
	}
	if got := inLines("ab", labelSize, 1); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("with room for nothing: %q", got)
	}
	if got := inLines("", labelSize, 100); len(got) != 0 {
		t.Errorf("nothing has the lines %q", got)
	}
}
