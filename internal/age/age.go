package age

import (
	"math"
	"time"
)

// An Age is what is known of how long a value has been queued: at least AtLeast, at most
// AtMost, and Estimate if more than these bounds is known, or else 0. The zero Age is that of
// an empty queue. An exact age needs no bounds.
type Age struct{ Estimate, AtLeast, AtMost time.Duration }

// Unbounded is AtMost without an upper bound.
const Unbounded time.Duration = math.MaxInt64

// Unknown reports whether there are only bounds.
func (a Age) Unknown() bool { return a.Estimate == 0 && a.AtMost > 0 }

// Figure returns the estimate, or the lower bound if there is none.
func (a Age) Figure() time.Duration { return max(a.Estimate, a.AtLeast) }

// Older returns the age of the older one of two values. Without an estimate for one of them,
// the result has one only if that value is the younger one.
func (a Age) Older(b Age) Age {
	a, b = a.Bounded(), b.Bounded()
	if a.Estimate < b.Estimate {
		a, b = b, a
	}
	if b.Unknown() && b.AtMost > a.Estimate {
		a.Estimate = 0
	}
	a.AtLeast, a.AtMost = max(a.AtLeast, b.AtLeast), max(a.AtMost, b.AtMost)
	return a
}

// Bounded returns a with its bounds.
func (a Age) Bounded() Age {
	if a.AtMost == 0 {
		a.AtLeast, a.AtMost = a.Estimate, a.Estimate
	}
	return a
}

// Words writes the age for people, with format for the figure and a sign before it: "≈" for an
// estimate that may be off by more than a fifth, "≥" for a lower bound, "<" for an upper
// bound. It is "" for an empty queue, or for a value that was sent just now.
func (a Age) Words(format func(time.Duration) string) string {
	switch a = a.Bounded(); {
	case a.AtMost == 0:
		return ""
	case a.Estimate > 0 && a.Estimate <= a.AtLeast*6/5 && a.AtMost <= a.Estimate*6/5:
		return format(a.Estimate)
	case a.Estimate > 0:
		return "≈" + format(a.Estimate)
	case a.AtLeast > 0:
		return "≥" + format(a.AtLeast)
	case a.AtMost < Unbounded:
		return "<" + format(a.AtMost)
	default:
		return "unknown"
	}
}
