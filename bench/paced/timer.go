package paced

import "time"

// A timer wakes one sender.
type timer interface {
	// arm makes the timer expire after the given time.
	arm(after time.Duration) error
	// wait returns once the timer has expired. It may return early, and does not wait
	// at all if the sender's due reports true.
	wait() error
	close()
}

// newTimer returns the timer of s.
func (l Load) newTimer(s *sender) (timer, error) {
	if l.sleep {
		return sleeper{s}, nil
	}
	return newPolled(s)
}

// A sleeper is a timer of the runtime.
type sleeper struct{ sender *sender }

func (t sleeper) arm(time.Duration) error { return nil }

func (t sleeper) wait() error {
	time.Sleep(t.sender.until - time.Since(t.sender.base))
	return nil
}

func (t sleeper) close() {}
