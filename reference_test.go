package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// A tape is a sequence of bytes that are read as decisions. At its end all are 0.
type tape []byte

// next reads a number below n.
func (s *tape) next(n int) int {
	if len(*s) == 0 {
		return 0
	}
	v := int((*s)[0]) % n
	*s = (*s)[1:]
	return v
}

// capacities are the capacities that a tape can choose: a few slots, values around the
// limit between the two engines, and one, two and more rings.
var capacities = []int{1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 40, 100, 1024, 5000, 131_073}

// shape reads which channel to make. It is never a Rendezvous, which is always full
// and always empty for a single goroutine.
func (s *tape) shape() shape {
	drawn := shape{
		capacity:    capacities[s.next(len(capacities))],
		overflow:    sluice.Overflow(s.next(4)),
		kind:        []string{"", "Elastic"}[s.next(2)],
		oneSender:   s.next(2) == 1,
		oneReceiver: s.next(2) == 1,
	}
	if drawn.kind != "" {
		drawn.shrink = sluice.ShrinkMode(s.next(3))
		limit := s.next(4)
		drawn.bytes, drawn.sizes = limit == 1, limit == 2 && drawn.capacity > 2
	}
	return drawn
}

// A reference is a channel together with a slice that models it.
type reference struct {
	shape
	c        sluicetest.Channel[uint64]
	queue    []uint64
	size     int      // bytes in queue
	dropped  []uint64 // by the model
	seen     []uint64 // passed to OnUndelivered
	closed   bool
	sent     int
	received int
	high     int
	next     uint64 // the next value to send
}

func newReference(s shape) *reference {
	r := &reference{shape: s}
	var onDrop func(uint64)
	if s.overflow == sluice.DropNewest || s.overflow == sluice.DropOldest {
		onDrop = func(v uint64) { r.seen = append(r.seen, v) }
	}
	r.c = open(s, onDrop)
	return r
}

// fits reports whether there is room for v.
func (r *reference) fits(v uint64) bool {
	return len(r.queue) < r.capacity && (!r.sizes || r.size+sizeOf(v) <= r.capacity+1)
}

// mayReject reports whether an Elastic with the policy Reject may return ErrFull
// although there is room for v: see ElasticOptions.MaxBytes.
func (r *reference) mayReject(v uint64) bool {
	if r.kind == "" || r.overflow != sluice.Reject || !r.bytes && !r.sizes {
		return false
	}
	limit, queued, size := r.capacity, len(r.queue), 1
	if r.sizes {
		limit, queued, size = r.capacity+1, r.size, sizeOf(v)
	}
	return limit-queued-size < limit/256-1
}

// shift removes the oldest value.
func (r *reference) shift() (v uint64) {
	v, r.queue = r.queue[0], r.queue[1:]
	r.size -= sizeOf(v)
	return v
}

// accept sends v to the model. full is the error if there is no room.
func (r *reference) accept(v uint64, full error) error {
	switch {
	case r.closed:
		return sluice.ErrClosed
	case r.fits(v):
	case r.overflow == sluice.Reject:
		return sluice.ErrFull
	case r.overflow == sluice.DropNewest:
		r.dropped = append(r.dropped, v)
		return nil
	case r.overflow == sluice.DropOldest:
		for !r.fits(v) {
			r.dropped = append(r.dropped, r.shift())
		}
	default:
		return full
	}
	r.queue = append(r.queue, v)
	r.size += sizeOf(v)
	r.sent++
	r.high = max(r.high, len(r.queue))
	return nil
}

// yield receives from the model. empty is the error if no value is queued.
func (r *reference) yield(empty error) (v uint64, err error) {
	switch {
	case len(r.queue) > 0:
		r.received++
		return r.shift(), nil
	case r.closed:
		return 0, sluice.ErrClosed
	}
	return 0, empty
}

// send sends one value, or a batch of n, to the channel and to the model, and compares
// the results.
func (r *reference) send(method string, n int) error {
	var wantN, gotN int
	var want, got error
	vs := make([]uint64, n)
	for i := range vs {
		vs[i] = r.next
		r.next++
	}
	full := context.Canceled
	switch method {
	case "TrySend":
		full = sluice.ErrFull
		got = r.c.TrySend(vs[0])
	case "Send":
		got = r.c.Send(canceledContext(), vs[0])
	default:
		gotN, got = r.c.SendBatch(canceledContext(), vs)
	}
	for wantN < n && want == nil {
		if got == sluice.ErrFull && wantN == gotN && r.mayReject(vs[wantN]) {
			want = got
		} else if want = r.accept(vs[wantN], full); want == nil {
			wantN++
		}
	}
	if method == "SendBatch" && gotN != wantN {
		return fmt.Errorf("%s(%d): %d, %v, want %d, %v", method, n, gotN, got, wantN, want)
	}
	if got != want {
		return fmt.Errorf("%s(%d): %v, want %v", method, n, got, want)
	}
	return nil
}

// recv receives one value, or a batch of up to n, from the channel and from the model,
// and compares the results.
func (r *reference) recv(method string, n int) error {
	var want, got []uint64
	empty := context.Canceled
	if method == "TryRecv" {
		empty = sluice.ErrEmpty
	}
	var wantErr, gotErr error
	for len(want) < n {
		v, err := r.yield(empty)
		if err != nil {
			if len(want) == 0 {
				wantErr = err
			}
			break
		}
		want = append(want, v)
	}
	var v uint64
	switch method {
	case "TryRecv":
		if v, gotErr = r.c.TryRecv(); gotErr == nil {
			got = append(got, v)
		}
	case "Recv":
		if v, gotErr = r.c.Recv(canceledContext()); gotErr == nil {
			got = append(got, v)
		}
	case "RecvBatch":
		buf := make([]uint64, n)
		var count int
		count, gotErr = r.c.RecvBatch(canceledContext(), buf)
		got = buf[:count]
	case "All":
		wantErr = nil
		for v := range sluice.NewValues(canceledContext(), r.c).All() {
			if got = append(got, v); len(got) == n {
				break
			}
		}
	}
	if gotErr != wantErr || !slices.Equal(got, want) {
		return fmt.Errorf("%s(%d): %v, %v, want %v, %v", method, n, got, gotErr, want, wantErr)
	}
	return nil
}

// batch reads the size of a batch. A large channel gets larger ones.
func (r *reference) batch(s *tape) int {
	n := 1 + s.next(60)
	if r.capacity > 1000 {
		n *= 17
	}
	return n
}

// step performs the next operation of the tape.
func (r *reference) step(s *tape) error {
	switch s.next(9) {
	case 0, 1:
		return r.send("TrySend", 1)
	case 2:
		return r.send("Send", 1)
	case 3:
		return r.send("SendBatch", r.batch(s))
	case 4:
		return r.recv("TryRecv", 1)
	case 5:
		return r.recv("Recv", 1)
	case 6:
		return r.recv("RecvBatch", r.batch(s))
	case 7:
		return r.recv("All", r.batch(s))
	default:
		switch s.next(8) {
		case 6:
			return r.awaitReady()
		case 7:
			r.c.Close()
			r.closed = true
		}
		return nil
	}
}

// awaitReady does what one of several readers of Ready does: it reads Ready and
// receives one value. Ready must be readable while values are queued. A spurious
// notification is allowed, a missing one is not.
func (r *reference) awaitReady() error {
	select {
	case _, open := <-r.c.Ready():
		if !open && !r.closed {
			return errors.New("Ready is closed but the channel is open")
		}
	default:
		if len(r.queue) > 0 || r.closed {
			return fmt.Errorf("Ready is not readable with %d values queued, closed %v", len(r.queue), r.closed)
		}
		return nil
	}
	return r.recv("TryRecv", 1)
}

// compare compares the visible state of the channel with the model.
func (r *reference) compare() error {
	if !slices.Equal(r.seen, r.dropped) {
		return fmt.Errorf("OnUndelivered got %v, want %v", r.seen, r.dropped)
	}
	s := r.c.Stats()
	want := s
	want.Len, want.Cap, want.Closed = len(r.queue), r.capacity, r.closed
	want.Sent, want.Received, want.Dropped = uint64(r.sent), uint64(r.received), uint64(len(r.dropped))
	want.HighWater = r.high
	if s != want || r.c.Len() != len(r.queue) || r.c.Cap() != r.capacity {
		return fmt.Errorf("Len %d, Cap %d, Stats %+v, want %+v", r.c.Len(), r.c.Cap(), s, want)
	}
	return nil
}

// play performs the operations of the tape.
func (r *reference) play(s tape) error {
	for step := 0; len(s) > 0; step++ {
		err := r.step(&s)
		if err == nil {
			err = r.compare()
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return nil
}
