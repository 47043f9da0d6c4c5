package spin

import "runtime"

// A Backoff paces a goroutine that retries until another goroutine leaves a
// critical section of a few nanoseconds. Its zero value is ready to use.
type Backoff struct{ tries int }

// maxSpins is how often to retry before yielding. A holder that is running
// releases the lock within a few instructions.
const maxSpins = 16

// Paused reports whether Pause was called.
func (b *Backoff) Paused() bool { return b.tries > 0 }

// Pause returns at once for the first calls, and yields the processor from then on.
func (b *Backoff) Pause() {
	if b.tries++; b.tries > maxSpins {
		runtime.Gosched()
	}
}
