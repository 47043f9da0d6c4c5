package plot

import (
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func figures(n int, label string) []Figure {
	var all []Figure
	for i := range n {
		v := 40 * float64(1+i*i)
		all = append(all, Figure{
			Label: label + " " + strconv.Itoa(i), Text: strconv.Itoa(int(v)) + " ns", Baseline: i == 1,
			Marks: []Mark{{Class: "s0", Value: Value{Mid: v, Lo: 0.9 * v, Hi: 1.2 * v, Firm: true}}},
		})
	}
	return all
}

func TestDots(t *testing.T) {
	vague := Figure{Label: "vague", Text: "not known", Marks: []Mark{{Value: Value{Mid: 1, Lo: 0.01, Hi: 1e6, Unknown: true}}}}
	for name, chart := range map[string]Dots{
		"marks":       {Title: "One value", Unit: "ns per value", Better: "less is better", Log: true, Figures: figures(8, "sluice.Bounded, slots:")},
		"bars":        {Title: "One value", Unit: "ns per value", Figures: figures(2, "native")},
		"close, log":  {Title: "t", Unit: "ns", Log: true, Figures: figures(1, "alone")},
		"long names":  {Title: strings.Repeat("title ", 20), Unit: "million values per second and more words", Figures: figures(6, "a name that is longer than one line, and then longer")},
		"unknown too": {Title: "t", Unit: "ns", Note: "not known here: sluice lab -count 20", Log: true, Figures: append(figures(3, "a"), vague)},
		"all unknown": {Title: "t", Unit: "ns", Log: true, Figures: []Figure{vague}},
		"nothing":     {Title: "t", Unit: "ns"},
		"failed":      {Title: "memory <peak>", Unit: "B", Figures: []Figure{{Label: "native & co", Text: "FAILED"}}},
		"three marks": {Unit: "ns", Log: true, Figures: []Figure{{Label: "then and now", Marks: []Mark{{Shape: Diamond, Value: exact(12)}, {Value: exact(10)}, {Shape: Square, Value: exact(99)}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			svg := chart.SVG()
			wellFormed(t, svg)
			var drawing struct {
				Label string `xml:"aria-label,attr"`
			}
			if err := xml.Unmarshal([]byte(svg), &drawing); err != nil {
				t.Fatal(err)
			}
			for _, f := range chart.Figures {
				if !strings.Contains(drawing.Label, f.Label+" "+f.Text) {
					t.Errorf("the accessible label lacks %s %s: %q", f.Label, f.Text, drawing.Label)
				}
			}
		})
	}
}

// A logarithmic scale has marks, a linear scale bars from zero; the baseline is a
// line; a figure that is not known has neither mark nor influence on the scale.
func TestDotsMarks(t *testing.T) {
	all := append(figures(4, "a"), Figure{Label: "vague", Text: "not known", Marks: []Mark{{Value: Value{Mid: 1, Lo: 0.01, Hi: 1e6, Unknown: true}}}})
	logarithmic := Dots{Unit: "ns", Log: true, Figures: all}.SVG()
	if n := strings.Count(logarithmic, "<circle"); n != 4 || strings.Contains(logarithmic, `class="bar"`) {
		t.Errorf("%d marks of 4, or bars:\n%s", n, logarithmic)
	}
	if n := strings.Count(logarithmic, `class="baseline"`); n != 1 {
		t.Errorf("%d baselines, want 1", n)
	}
	if regexp.MustCompile(`class="tick">(1|1M)<`).MatchString(logarithmic) {
		t.Errorf("an unknown figure changes the scale:\n%s", logarithmic)
	}
	linear := Dots{Unit: "ns", Figures: figures(2, "a")}.SVG()
	widths := places(t, linear, `width="([0-9.]+)" height="9.0" class="bar"`)
	if len(widths) != 2 || widths[1] < 1.95*widths[0] || widths[1] > 2.05*widths[0] {
		t.Errorf("bars of 40 and 80 are %v wide", widths)
	}
}
