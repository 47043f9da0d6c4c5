package contender

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// lines are the built-in channels of a Remedy. E is their element type: values,
// or slices of them.
type lines[E any] struct {
	Remedy
	channels []chan E

	// used is the number of channels in use. It only grows.
	used atomic.Int64
	// senders and receivers count the loops that have begun: each gets the next
	// channel.
	senders, receivers atomic.Int64
}

func newLines[E any](r Remedy, slots int) *lines[E] {
	l := &lines[E]{Remedy: r, channels: make([]chan E, r.Channels)}
	for i := range l.channels {
		l.channels[i] = make(chan E, slots)
	}
	l.used.Store(int64(r.Channels))
	if r.Scaled {
		l.used.Store(1)
	}
	return l
}

// begin locks the calling goroutine to its thread if Locked is set, and returns
// a function that unlocks it.
func (l *lines[E]) begin() (end func()) {
	if !l.Locked {
		return func() {}
	}
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// incoming returns the channel of the next receiver.
func (l *lines[E]) incoming() <-chan E {
	return l.channels[int(l.receivers.Add(1)-1)%len(l.channels)]
}

func (l *lines[E]) closeAll() {
	for _, c := range l.channels {
		close(c)
	}
}

// An outlet is one sender's access to the lines. It belongs to one goroutine.
type outlet[E any] struct {
	*lines[E]
	own   int         // its channel
	timer *time.Timer // of a ReusedTimer, stopped between sends
}

func (l *lines[E]) outlet() *outlet[E] {
	o := &outlet[E]{lines: l, own: int(l.senders.Add(1) - 1)}
	if l.Timeout == ReusedTimer {
		o.timer = time.NewTimer(SendTimeout)
		o.timer.Stop()
	}
	return o
}

// pick returns the index of the channel for the next value.
func (o *outlet[E]) pick() int {
	if o.ByClock {
		return int(time.Now().UnixNano() % o.used.Load())
	}
	return o.own % int(o.used.Load())
}

// put sends v on the i-th channel, or on another one if that is full and the
// remedy has a fallback.
func (o *outlet[E]) put(i int, v E) {
	if o.Scaled {
		select {
		case o.channels[i] <- v:
			return
		default:
			o.grow()
			i = o.pick()
		}
	}
	if o.Timeout == NoTimeout {
		o.channels[i] <- v
		return
	}
	for {
		select {
		case o.channels[i] <- v:
			if o.timer != nil {
				o.timer.Stop()
			}
			return
		case <-o.expiry():
			i = (i + 1) % int(o.used.Load())
		}
	}
}

// expiry returns the channel of the timer of one attempt.
func (o *outlet[E]) expiry() <-chan time.Time {
	if o.timer == nil {
		return time.After(SendTimeout)
	}
	o.timer.Reset(SendTimeout)
	return o.timer.C
}

// grow adds one more channel, if there is another.
func (o *outlet[E]) grow() {
	if used := o.used.Load(); used < int64(len(o.channels)) {
		o.used.CompareAndSwap(used, used+1) // fails if another sender was faster
	}
}

// byValue sends each value separately. A receiver with a channel of its own
// receives all of it.
type byValue struct{ *lines[uint64] }

func newByValue(r Remedy, capacity int) Channel { return byValue{newLines[uint64](r, capacity)} }

func (b byValue) Send(lo, hi uint64) bool {
	defer b.begin()()
	o := b.outlet()
	if !b.ByClock && !b.Scaled && b.Timeout == NoTimeout {
		c := b.channels[o.pick()] // the loop that a user would write
		for v := lo; v < hi; v++ {
			c <- v
		}
		return true
	}
	for v := lo; v < hi; v++ {
		o.put(o.pick(), v)
	}
	return true
}

func (b byValue) Recv(most uint64) Tally {
	defer b.begin()()
	return ends{r: b.incoming()}.Recv(most)
}

func (b byValue) Close() { b.closeAll() }

// bySlice collects the values of all senders of a channel and sends them in
// slices.
type bySlice struct {
	*lines[[]uint64]
	buffers []*buffer // one per channel
}

// A buffer collects values until they are sent as one slice. It has its own
// cache lines to avoid false sharing of the mutexes.
type buffer struct {
	_      [64]byte
	mu     sync.Mutex
	values []uint64
	_      [64]byte
}

func newBySlice(r Remedy, capacity int) Channel {
	b := bySlice{newLines[[]uint64](r, (capacity+r.Slice-1)/r.Slice), make([]*buffer, r.Channels)}
	for i := range b.buffers {
		b.buffers[i] = &buffer{values: make([]uint64, 0, r.Slice)}
	}
	return b
}

func (b bySlice) Send(lo, hi uint64) bool {
	defer b.begin()()
	o := b.outlet()
	for v := lo; v < hi; v++ {
		i := o.pick()
		b.buffers[i].add(o, i, v)
	}
	return true
}

// add appends v, and sends the collected values once the slice is full.
func (f *buffer) add(o *outlet[[]uint64], i int, v uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.values = append(f.values, v)
	if len(f.values) == o.Slice {
		o.put(i, f.values)
		f.values = make([]uint64, 0, o.Slice) // the receiver owns the sent slice
	}
}

func (b bySlice) Recv(uint64) (t Tally) {
	defer b.begin()()
	for values := range b.incoming() {
		t.AddAll(values)
	}
	return t
}

// Close sends the values left in the buffers. No sender is active anymore.
func (b bySlice) Close() {
	for i, buffer := range b.buffers {
		if len(buffer.values) > 0 {
			b.channels[i] <- buffer.values
		}
	}
	b.closeAll()
}
