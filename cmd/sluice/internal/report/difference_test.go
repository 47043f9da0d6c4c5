package report

import (
	"strings"
	"testing"

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
		{stat.Summary{N: 9, Median: 2.26, Lo: 2.25, Hi: 2.29, Confidence: 0.96}, "126 ± 3.00"},
		{stat.Summary{N: 9, Median: 0.9998, Lo: 0.9948, Hi: 1.0002, Confidence: 0.96}, "-0.02 ± 0.50"},
		{stat.Summary{N: 2, Median: 0.87, Lo: 0.85, Hi: 0.89}, "-13.0 ~ 2.00"},
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
	v := plotted("a", overIdeal, s)
	if v.Mid != 0.1 || v.Lo != 0.1 || v.Hi != 0.6 {
		t.Errorf("drawn at %v (%v to %v), want 0.1 (0.1 to 0.6)", v.Mid, v.Lo, v.Hi)
	}
	if !strings.Contains(v.Tip, "-0.02% overhead, interval -0.50 to 0.60") {
		t.Errorf("the tooltip is %q", v.Tip)
	}
	if got, want := chartUnit(overIdeal), "% overhead, lower values drawn at 0.1"; got != want {
		t.Errorf("the axis has %q, want %q", got, want)
	}
	plain := lab.PerValue
	if v := plotted("a", plain, s); v.Mid != s.Median || v.Lo != s.Lo || chartUnit(plain) != plain.Axis {
		t.Errorf("without a floor: %+v on %q", v, chartUnit(plain))
	}
}
