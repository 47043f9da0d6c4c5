package format

import (
	"fmt"
	"strconv"
	"time"
)

// Duration writes a duration with up to three digits in a unit of its size:
// "100 ns", "1.5 µs", "2 s".
func Duration(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{" s", time.Second}, {" ms", time.Millisecond}, {" µs", time.Microsecond}} {
		if d >= unit.size {
			return In(d, unit.size) + unit.name
		}
	}
	return In(d, time.Nanosecond) + " ns"
}

// In writes a duration as a number of units: In(100*time.Nanosecond,
// time.Microsecond) is "0.1".
func In(d, unit time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(unit), 'g', 3, 64)
}

// Ago writes how far apart two events are, in the largest unit of which there
// are at least two: "3 days", "5 h", "2 min", "90 s".
func Ago(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// Estimate writes an estimated duration: to the second, and to ten seconds from
// two minutes on. It is never less than "1s".
func Estimate(d time.Duration) string {
	if d > 2*time.Minute {
		return d.Round(10 * time.Second).String()
	}
	return max(d.Round(time.Second), time.Second).String()
}
