package report

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// overIdeal is a measure that is a difference, as lock-cost has.
var overIdeal = lab.Measure{Unit: "x-ideal", Axis: "% overhead", Above: 1, Per: 0.01, Floor: 0.1}

// An overhead may be nothing: a margin in per cent of it would say nothing.
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

// What is less than the floor is drawn there, so that a scale can be logarithmic; the
// tip says what it is.
func TestFloorOfAChart(t *testing.T) {
	s := stat.Summary{N: 9, Median: -0.02, Lo: -0.5, Hi: 0.6, Confidence: 0.96}
	v := plotted("a", overIdeal, s)
	if v.Mid != 0.1 || v.Lo != 0.1 || v.Hi != 0.6 {
		t.Errorf("drawn at %v (%v to %v), want 0.1 (0.1 to 0.6)", v.Mid, v.Lo, v.Hi)
	}
	if !strings.Contains(v.Tip, "-0.02 % overhead, interval -0.50 to 0.60") {
		t.Errorf("the tip says %q", v.Tip)
	}
	if got, want := chartUnit(overIdeal), "% overhead, 0.1 or less drawn as that"; got != want {
		t.Errorf("the axis says %q, want %q", got, want)
	}
	plain := lab.PerValue
	if v := plotted("a", plain, s); v.Mid != s.Median || v.Lo != s.Lo || chartUnit(plain) != plain.Axis {
		t.Errorf("without a floor: %+v on %q", v, chartUnit(plain))
	}
}
