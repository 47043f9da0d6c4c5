package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// digits writes a figure with three significant digits, but never fewer than
// its integer part has.
func digits(v float64) string {
	switch size := math.Abs(v); {
	case size >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// spread writes the interval of a summary relative to its median: "± 3 %", or
// "~ 3 %" for a range of too few repetitions. One figure alone has neither. What is
// a difference may be next to nothing: its interval is in its own unit, "± 0.03".
func spread(s stat.Summary, m lab.Measure) string {
	sign := "±"
	switch {
	case s.N < 2:
		return ""
	case s.Confidence == 0:
		sign = "~"
	}
	if m.Above != 0 {
		return sign + " " + digits(max(s.Hi-s.Median, s.Median-s.Lo))
	}
	return fmt.Sprintf("%s %.0f %%", sign, 100*s.Spread())
}
