package compare

import (
	"slices"
	"strings"
	"testing"
)

func TestFigure(t *testing.T) {
	tests := []struct {
		key    string
		values []string
		want   float64
		unit   string
	}{
		{"noise", []string{"2.1%"}, 2.1, "%"},
		{"noise", []string{"2.1% of a loop of 1 ms"}, 2.1, "%"},
		{"noise", []string{"1%", "3%", "2%"}, 3, "%"},
		{"noise-pct", []string{"4"}, 4, "%"},
		{"line-ns", []string{"52"}, 52, "ns"},
		{"line-ns", []string{"52.5", "53.5"}, 53, "ns"},
		{"line", []string{"52 ns"}, 52, "ns"},
		{"sleep", []string{"1.5 µs"}, 1500, "ns"},
		{"sleep-us", []string{"2"}, 2000, "ns"},
		{"cpus", []string{"4"}, 0, ""},
		{"go", []string{"go1.26"}, 0, ""},
		{"size", []string{"4 slots"}, 0, ""},
		{"size", []string{"4nslots"}, 0, ""},
		{"line-ns", []string{"52", "unknown"}, 0, ""},
		{"line-ns", nil, 0, ""},
	}
	for _, tt := range tests {
		v, unit, ok := figure(tt.key, tt.values)
		if ok != (tt.unit != "") || ok && (v != tt.want || unit != tt.unit) {
			t.Errorf("%s: %q reads %v %s, %v; want %v %s", tt.key, tt.values, v, unit, ok, tt.want, tt.unit)
		}
	}
}

// A reading explains a change of a time in the same direction that is not larger.
func TestExplained(t *testing.T) {
	tests := []struct {
		name, was, is string
		change        float64 // of the time; the rate is its inverse
		want          string  // the reading that explains the change
		says          string
	}{
		{"less than the noise", "noise: 1%\n", "noise: 9%\n", 1.08, "noise", "noise was 1% in OLD and 9% in NEW; 2 of the changes are no larger"},
		{"faster by less than the noise", "noise: 9%\n", "noise: 1%\n", 0.93, "noise", "2 of the changes are no larger"},
		{"more than the noise", "noise: 1%\n", "noise: 9%\n", 1.2, "", "in NEW."},
		{"less than the machine's own", "line-ns: 50\n", "line-ns: 60\n", 1.15, "line-ns", "line-ns was 50 ns in OLD and 60 ns in NEW (+20.0%); 2 of the changes are no larger than the machine's own"},
		{"more than the machine's own", "line-ns: 50\n", "line-ns: 60\n", 1.3, "", "in NEW (+20.0%)."},
		{"in comments, as the lab writes it", "# noise: 1%\n", "# noise: 9%\n", 1.08, "noise", "noise was 1% in OLD and 9% in NEW; 2 of the changes are no larger"},
		{"a comment of no reading", "# noise: 1%\n# see: 1 page\n# ns: low\n", "# noise: 9%\n", 1.08, "noise", "2 of the changes are no larger"},
		{"the other way", "line-ns: 60\n", "line-ns: 50\n", 1.15, "", "(-16.7%)."},
		{"faster, as the machine", "line-ns: 60\n", "line-ns: 50\n", 0.9, "line-ns", "2 of the changes are no larger"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := setting(t, header+tt.was, later+tt.is, tt.change)
			if len(c.Readings) != 1 {
				t.Fatalf("readings %+v", c.Readings)
			}
			for _, p := range c.Points {
				var want []string
				if tt.want != "" && p.Unit != "B/op" {
					want = []string{tt.want}
				}
				if !slices.Equal(p.Explained, want) {
					t.Errorf("%s (%s): explained by %q, want %q", p.Unit, p.Delta, p.Explained, want)
				}
			}
			if got := c.Readings[0].sentence(); !strings.Contains(got, tt.says) {
				t.Errorf("the sentence is %q, want %q", got, tt.says)
			}
		})
	}
}

// Readings do not explain points within noise.
func TestNoiseIsNotExplained(t *testing.T) {
	c := setting(t, header+"noise: 9%\n", later+"noise: 9%\n", 1.0001)
	if c.Readings[0].Explains != 0 || c.Points[0].Verdict != Same {
		t.Errorf("readings %+v of a point that is %q", c.Readings, c.Points[0].Verdict)
	}
}

// A reading of only one run explains nothing.
func TestReadingOfOneRun(t *testing.T) {
	if c := setting(t, header+"noise: 9%\n", later, 1.05); len(c.Readings) != 0 {
		t.Errorf("readings %+v", c.Readings)
	}
}
