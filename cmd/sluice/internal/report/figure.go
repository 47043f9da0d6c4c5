package report

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// knowledge is what the interval of a summary says about its figure.
type knowledge uint8

const (
	unknown knowledge = iota // not even its size
	small                    // a difference that is close to zero: its upper limit is known
	known                    // its size
)

// knownOf classifies a summary in the shown unit.
func knownOf(s stat.Summary, m lab.Measure) knowledge {
	switch {
	case s.Known():
		return known
	case m.Limited(s):
		return small
	}
	return unknown
}

// figure writes a summary as precisely as it is known, with its interval: "47 ±
// 3%"; or "< 4" for a small difference; "not run" if it is nil.
func figure(s *stat.Summary, m lab.Measure) string {
	if s == nil {
		return "not run"
	}
	text := median(*s, m)
	if knownOf(*s, m) == known {
		text += " " + spread(*s, m)
	}
	return strings.TrimSpace(text)
}

// median is figure without the interval.
func median(s stat.Summary, m lab.Measure) string {
	if knownOf(s, m) == small {
		return format.Below(s.Hi)
	}
	return format.Rounded(s.Median, s.Lo, s.Hi)
}

// spread writes the interval of a known summary relative to its median: "± 3%",
// or "~ 3%" for a range of too few repetitions, or "" for a single figure. The
// interval of a difference is in its own unit: "± 0.03".
func spread(s stat.Summary, m lab.Measure) string {
	sign := "±"
	switch {
	case s.N < 2:
		return ""
	case s.Confidence == 0:
		sign = "~"
	}
	if m.Above != 0 {
		return sign + " " + format.Margin(max(s.Hi-s.Median, s.Median-s.Lo))
	}
	percent := 100 * s.Spread()
	if percent >= 1 && percent < 9.5 {
		return fmt.Sprintf("%s %.0f%%", sign, percent)
	}
	return sign + " " + format.Margin(percent) + "%"
}
