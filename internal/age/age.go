package age

import (
	"math"
	"time"
)

// An Age is what is known of how long a value has been queued: at least AtLeast, at most
// AtMost, and Estimate if more than these bounds is known, or else 0. An exact age needs no bounds.
// An empty queue has the zero Age.
type Age struct{ Estimate, AtLeast, AtMost time.Duration }

// Unbounded is AtMost without an upper bound.
const Unbounded time.Duration = math.MaxInt64

// Unknown reports whether there are only bounds.
func (a Age) Unknown() bool { return a.Estimate == 0 && a.AtMost > 0 }

// Older returns the age of the older one of two values, with bounds. Without an estimate for one of
// them, the result has one only if that value is the younger one.
func (a Age) Older(b Age) Age {
	for _, p := range []*Age{&a, &b} {
		if p.AtMost == 0 {
			p.AtLeast, p.AtMost = p.Estimate, p.Estimate
		}
	}
	if a.Estimate < b.Estimate {
		a, b = b, a
	}
	if b.Unknown() && b.AtMost > a.Estimate {
		a.Estimate = 0
	}
	return Age{a.Estimate, max(a.AtLeast, b.AtLeast), max(a.AtMost, b.AtMost)}
}

// Shown returns what to show: a figure, and the sign before it, which is empty if the figure is right to
// a fifth, or 0 for an empty queue.
func (a Age) Shown() (sign string, figure time.Duration) {
	switch {
	case a.Estimate > a.AtLeast*6/5 && a.AtMost > 0, a.AtMost > a.Estimate*6/5 && a.Estimate > 0:
		return "≈", a.Estimate
	case !a.Unknown():
		return "", a.Estimate
	case a.AtLeast > 0:
		return "≥", a.AtLeast
	case a.AtMost < Unbounded:
		return "<", a.AtMost
	default:
		return "unknown", 0
	}
}
