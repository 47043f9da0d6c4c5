package report

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// overIdeal is a measure that is a difference, as in lock-cost.
var overIdeal = lab.Measure{Unit: "x-ideal", Axis: "% overhead", Above: 1, Per: 0.01, Floor: 0.1}

// An overhead may be zero, so its margin cannot be a percentage.
func TestFigureOfADifference(t *testing.T) {
	for _, tt := range []struct {
		measured stat.Summary
		want     string
	}{
		{stat.Summary{N: 9, Median: 2.26, Lo: 2.25, Hi: 2.29, Confidence: 0.96}, "126 ± 3"},
		{stat.Summary{N: 9, Median: 0.9998, Lo: 0.9948, Hi: 1.0002, Confidence: 0.96}, "< 0.02"},
		{stat.Summary{N: 2, Median: 0.87, Lo: 0.85, Hi: 0.89}, "-13 ~ 2"},
		{stat.Summary{N: 9, Median: 1.112, Lo: 1.09, Hi: 2.02, Confidence: 0.96}, format.NotKnown},
		{stat.Summary{N: 9, Median: 0.995, Lo: 0.98, Hi: 1.04, Confidence: 0.96}, "< 4"},
	} {
		shown := overIdeal.Show(tt.measured)
		if got := figure(&shown, overIdeal); got != tt.want {
			t.Errorf("%+v is written %q, want %q", tt.measured, got, tt.want)
		}
	}
}

// Values below the floor are drawn at it, so that a scale can be logarithmic;
// the tooltip has the value.
func TestFloorOfAChart(t *testing.T) {
	s := stat.Summary{N: 9, Median: -0.02, Lo: -0.5, Hi: 0.6, Confidence: 0.96}
	if got := valueOf("a", stat.Summary{N: 9, Median: 126, Lo: 125, Hi: 129, Confidence: 0.96}, overIdeal).Tip; got != "a: 126% overhead, interval 125 to 129, 9 repetitions" {
		t.Errorf("the tooltip of a known figure is %q", got)
	}
	v := valueOf("a", s, overIdeal)
	if v.Mid != 0.1 || v.Lo != 0.1 || v.Hi != 0.6 {
		t.Errorf("drawn at %v (%v to %v), want 0.1 (0.1 to 0.6)", v.Mid, v.Lo, v.Hi)
	}
	if !strings.Contains(v.Tip, "a: < 0.6% overhead") {
		t.Errorf("the tooltip is %q", v.Tip)
	}
	if got, want := chartUnit(overIdeal), "% overhead, lower values drawn at 0.1"; got != want {
		t.Errorf("the axis has %q, want %q", got, want)
	}
	plain := lab.PerValue
	if v := valueOf("a", s, plain); v.Mid != s.Median || v.Lo != s.Lo || !v.Unknown || chartUnit(plain) != plain.Axis {
		t.Errorf("without a floor: %+v on %q", v, chartUnit(plain))
	}
}

// A table, a chart and its tooltip agree on what is not known: an interval over
// more than a decade, or further than 100% from the figure.
func TestNotKnown(t *testing.T) {
	for _, s := range []stat.Summary{
		{N: 9, Median: 32.8, Lo: 3, Hi: 100, Confidence: 0.96},
		{N: 9, Median: 0.07, Lo: 0.01, Hi: 1, Confidence: 0.96},
	} {
		v := valueOf("a", s, lab.PerValue)
		if got := figure(&s, lab.PerValue); got != format.NotKnown || !v.Unknown || v.Tip != "a: not known here: sluice lab -count 20" {
			t.Errorf("%+v is written %q, unknown in the chart: %v, with the tooltip %q", s, got, v.Unknown, v.Tip)
		}
	}
	s := stat.Summary{N: 9, Median: 47.2, Lo: 38.1, Hi: 52.7, Confidence: 0.96}
	if got := figure(&s, lab.PerValue); got != "47 ± 19%" || valueOf("a", s, lab.PerValue).Unknown {
		t.Errorf("%+v is written %q", s, got)
	}
}
