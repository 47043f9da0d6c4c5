// Package stage contains the rules that all stages of a pipeline share. A stage that ends
// early closes the channel it receives from, so that no sender waits forever. A stage
// whose goroutines are locked to threads does not receive from an iterator.
package stage

// An opener is a receiver that the user asked stages to leave open.
type opener interface{ LeftOpen() any }

// End closes r on behalf of a stage that ends early. Senders to r then fail with
// ErrClosed; the values still queued in r can still be received.
//
// End does nothing if r has no Close method, if r was wrapped by sluice.LeaveOpen, or if
// r has a method Shared that returns true: such a channel also belongs to other
// processes.
func End(r any) {
	if _, open := r.(opener); open {
		return
	}
	if s, ok := r.(interface{ Shared() bool }); ok && s.Shared() {
		return
	}
	if c, ok := r.(interface{ Close() }); ok {
		c.Close()
	}
}

// Unwrap returns the receiver that sluice.LeaveOpen was given, or r itself if r was not
// wrapped. Stages use it to find the kind of channel below, never to close it.
func Unwrap(r any) any {
	for {
		o, ok := r.(opener)
		if !ok {
			return r
		}
		r = o.LeftOpen()
	}
}

// NeedsUnlockedThread reports whether r runs an iterator, which goroutines that are locked
// to threads cannot share: the runtime ends the program.
func NeedsUnlockedThread(r any) bool {
	i, ok := Unwrap(r).(interface{ NeedsUnlockedThread() bool })
	return ok && i.NeedsUnlockedThread()
}
