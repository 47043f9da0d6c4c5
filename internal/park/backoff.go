package park

import "runtime"

// A Backoff paces a goroutine that waits for another one to leave a critical
// section of a few nanoseconds. Its zero value is ready to use.
type Backoff struct{ tries int }

// spins is how often to look again before yielding: the holder is a few
// instructions from letting go, unless it does not run at all.
const spins = 16

// Paused reports whether Pause was called.
func (b *Backoff) Paused() bool { return b.tries > 0 }

// Pause returns after a while.
func (b *Backoff) Pause() {
	if b.tries++; b.tries > spins {
		runtime.Gosched()
	}
}
