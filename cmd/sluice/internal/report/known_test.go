package report

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A table, a chart and its tooltip agree on what is not known: an interval over
// more than a decade, or further than 100% from the figure.
func TestNotKnown(t *testing.T) {
	for _, s := range []stat.Summary{
		{N: 9, Median: 32.8, Lo: 3, Hi: 100, Confidence: 0.96},
		{N: 9, Median: 0.07, Lo: 0.01, Hi: 1, Confidence: 0.96},
	} {
		v := valueOf("a", s, lab.PerValue)
		if got := figure(&s); got != format.NotKnown || !v.Unknown || v.Tip != "a: not known here: sluice lab -count 20" {
			t.Errorf("%+v is written %q, unknown in the chart: %v, with the tooltip %q", s, got, v.Unknown, v.Tip)
		}
	}
	s := stat.Summary{N: 9, Median: 47.2, Lo: 38.1, Hi: 52.7, Confidence: 0.96}
	if got := figure(&s); got != "47 ± 19%" || valueOf("a", s, lab.PerValue).Unknown {
		t.Errorf("%+v is written %q", s, got)
	}
}
