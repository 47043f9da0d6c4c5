package report

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// spread writes the interval of a summary relative to its median: "± 3%", or "~
// 3%" for a range of too few repetitions, or "" for a single figure. A
// difference may be close to zero, so its interval is in its own unit: "±
// 0.03".
func spread(s stat.Summary, m lab.Measure) string {
	sign := "±"
	switch {
	case s.N < 2:
		return ""
	case s.Confidence == 0:
		sign = "~"
	}
	if m.Above != 0 {
		return sign + " " + format.Figure(max(s.Hi-s.Median, s.Median-s.Lo))
	}
	return fmt.Sprintf("%s %.0f%%", sign, 100*s.Spread())
}
