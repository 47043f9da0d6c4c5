package contender

import (
	"reflect"
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

// receive receives from any channel that has a value, for receivers without a
// channel of their own; ok is false once all are closed and drained.
func (l *lines[E]) receive() (v E, ok bool) {
	if len(l.channels) == 1 {
		v, ok = <-l.channels[0]
		return v, ok
	}
	cases := make([]reflect.SelectCase, len(l.channels))
	for i, c := range l.channels {
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	for range l.channels {
		chosen, got, ok := reflect.Select(cases)
		if ok {
			return got.Interface().(E), true
		}
		cases[chosen].Chan = reflect.Value{} // disables this case
	}
	return v, false
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
	switch o.Timeout {
	case NoTimeout:
		o.channels[i] <- v
	case TimeAfter:
		o.putAfter(i, v)
	case ReusedTimer:
		o.putTimed(i, v)
	}
}

func (o *outlet[E]) putAfter(i int, v E) {
	for {
		select {
		case o.channels[i] <- v:
			return
		case <-time.After(SendTimeout):
			i = o.after(i)
		}
	}
}

func (o *outlet[E]) putTimed(i int, v E) {
	for {
		o.timer.Reset(SendTimeout)
		select {
		case o.channels[i] <- v:
			o.timer.Stop()
			return
		case <-o.timer.C:
			i = o.after(i)
		}
	}
}

// after returns the channel in use that comes after the i-th.
func (o *outlet[E]) after(i int) int { return (i + 1) % int(o.used.Load()) }

// grow adds one more channel, if there is another.
func (o *outlet[E]) grow() {
	if used := o.used.Load(); used < int64(len(o.channels)) {
		o.used.CompareAndSwap(used, used+1) // fails if another sender was faster
	}
}

// byValue sends each value separately.
type byValue struct{ *lines[uint64] }

func newByValue(r Remedy, capacity int) Channel { return byValue{newLines[uint64](r, capacity)} }

func (b byValue) SendRange(lo, hi uint64) {
	defer b.begin()()
	o := b.outlet()
	if !b.ByClock && !b.Scaled && b.Timeout == NoTimeout {
		c := b.channels[o.pick()] // the loop that a user would write
		for v := lo; v < hi; v++ {
			c <- v
		}
		return
	}
	for v := lo; v < hi; v++ {
		o.put(o.pick(), v)
	}
}

func (b byValue) Drain() Tally {
	defer b.begin()()
	var t Tally
	for v := range b.incoming() {
		t.Add(v)
	}
	return t
}

func (b byValue) Send(v uint64) bool {
	o := b.outlet()
	o.put(o.pick(), v)
	return true
}

func (b byValue) Recv() (uint64, bool) { return b.receive() }

func (b byValue) Close() { b.closeAll() }

// bySlice collects the values of all senders of a channel and sends them in
// slices.
type bySlice struct {
	*lines[[]uint64]
	buffers []*buffer // one per channel
	opened  *buffer   // the rest of a slice whose front Recv has returned
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
	b := bySlice{newLines[[]uint64](r, (capacity+r.Slice-1)/r.Slice), make([]*buffer, r.Channels), new(buffer)}
	for i := range b.buffers {
		b.buffers[i] = &buffer{values: make([]uint64, 0, r.Slice)}
	}
	return b
}

func (b bySlice) SendRange(lo, hi uint64) {
	defer b.begin()()
	o := b.outlet()
	for v := lo; v < hi; v++ {
		i := o.pick()
		b.buffers[i].add(o, i, v)
	}
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

func (b bySlice) Drain() Tally {
	defer b.begin()()
	var t Tally
	for values := range b.incoming() {
		t.AddAll(values)
	}
	return t
}

// Send bypasses the buffer: a caller that waits for the answer to a single
// value would otherwise wait forever.
func (b bySlice) Send(v uint64) bool {
	o := b.outlet()
	o.put(o.pick(), []uint64{v})
	return true
}

func (b bySlice) Recv() (uint64, bool) {
	b.opened.mu.Lock()
	defer b.opened.mu.Unlock()
	if len(b.opened.values) == 0 {
		values, ok := b.receive()
		if !ok {
			return 0, false
		}
		b.opened.values = values
	}
	v := b.opened.values[0]
	b.opened.values = b.opened.values[1:]
	return v, true
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
