//go:build !linux

package paced

// newPolled returns a timer of the runtime: there is no timerfd on this system.
func newPolled(s *sender) (timer, error) { return sleeper{s}, nil }
