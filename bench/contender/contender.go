// Package contender puts every kind of channel under comparison behind one
// small interface: the built-in chan, the elastic channel of the first study as
// published, and the kinds of this library. The Go peers, which require
// dependencies, are in package peers.
//
// A method of the interface is a loop rather than an operation on one value.
// The benchmarks therefore measure what a user of that channel would write,
// without an interface call per value: [SendEach] and [RecvEach] are inlined
// with the operation that is their argument. A Farm is two channels with
// workers between them.
package contender

import (
	"fmt"
	"math"
	"sync"
)

// A Channel carries uint64 values between goroutines. Its methods may be called
// from as many goroutines as the Contender allows.
type Channel interface {
	// Send sends lo, lo+1, …, hi-1, one by one, in a loop. It reports false if
	// the channel was closed meanwhile.
	Send(lo, hi uint64) bool
	// Recv receives one by one, until it has received most values or the channel
	// is closed and drained.
	Recv(most uint64) Tally
	// Close is called once, after the last send returned. It may be called
	// earlier if the channel itself permits that.
	Close()
}

// All is the most that a Recv receives that lasts until the end.
const All = math.MaxUint64

// SendEach is the loop of a Channel's Send: send sends one value, and reports
// false if the channel was closed. The compiler inlines the loop, and a function
// literal in it, so that it is the loop that a user would write.
func SendEach(lo, hi uint64, send func(v uint64) bool) bool {
	for ; lo < hi && send(lo); lo++ {
	}
	return lo >= hi
}

// RecvEach is the loop of a Channel's Recv, inlined like SendEach. recv receives
// one value, and reports false at the end.
func RecvEach(most uint64, recv func() (v uint64, ok bool)) (t Tally) {
	for t.Count < most {
		v, ok := recv()
		if !ok {
			break
		}
		t.Add(v)
	}
	return t
}

// A Batcher is a channel that can also move many values in one call.
type Batcher interface {
	// InBatches returns the channel for users who send batches of the given
	// size, and receive all with a buffer of that size.
	InBatches(size int) Channel
}

// A Pool is a channel whose values are jobs for workers.
type Pool interface {
	Channel
	// Serve calls job with each value, in the given number of goroutines, until
	// the channel is closed and drained and all jobs are done.
	Serve(workers int, job func(v uint64))
}

// A Tally summarizes what one receiver got: proof that the work was done. Every
// receive loop keeps one in a local variable, so that it costs all of them the
// same.
type Tally struct {
	Count     uint64
	Sum       uint64
	Unordered uint64 // values not larger than their predecessor

	next uint64 // the smallest value that would be in order
}

// Add counts v. It is small enough to be inlined into the receive loops.
func (t *Tally) Add(v uint64) {
	if v < t.next {
		t.Unordered++
	}
	t.next = v + 1
	t.Count++
	t.Sum += v
}

// AddAll counts the values of vs in order.
func (t *Tally) AddAll(vs []uint64) {
	for _, v := range vs {
		t.Add(v)
	}
}

// Merge adds the tally of another receiver.
func (t *Tally) Merge(o Tally) {
	t.Count += o.Count
	t.Sum += o.Sum
	t.Unordered += o.Unordered
}

// Check returns an error if other values were received than sent.
func (t Tally) Check(sent Tally) error {
	switch {
	case t.Count != sent.Count:
		return fmt.Errorf("received %d values of %d", t.Count, sent.Count)
	case t.Sum != sent.Sum:
		return fmt.Errorf("received values with the sum %d, want %d", t.Sum, sent.Sum)
	}
	return nil
}

// Last returns the value that was added last.
func (t Tally) Last() uint64 { return t.next - 1 }

// Bound describes the capacities that a Contender supports.
type Bound uint8

const (
	AnyCapacity    Bound = iota // 0 and up
	Buffered                    // 1 and up
	UnboundedOnly               // the capacity is ignored
	UnbufferedOnly              // 0
)

// A Contender makes channels of one kind.
type Contender struct {
	Name string // as printed in tables: "native", "elastic published flushing", "sluice.Bounded"
	Note string // what a reader must know, such as a corrected defect
	Bound
	OneSender, OneReceiver bool // at most one goroutine may send, or receive
	LeastReceivers         int  // the minimum number of receivers; 0 means 1
	AnyOrder               bool // it does not preserve the order
	LoopsOnly              bool // Recv receives all: it cannot wait for a single value
	Make                   func(capacity int) Channel
}

// Can reports whether the contender can do a job with that capacity and that
// many goroutines on either side.
func (c Contender) Can(capacity, senders, receivers int) bool {
	switch c.Bound {
	case Buffered:
		if capacity < 1 {
			return false
		}
	case UnbufferedOnly:
		if capacity != 0 {
			return false
		}
	}
	return (!c.OneSender || senders <= 1) && (!c.OneReceiver || receivers <= 1) && receivers >= c.LeastReceivers
}

// InBatches returns the contender for users who move batches. Its channels must be
// a Batcher.
func (c Contender) InBatches(size int) Contender {
	single := c.Make
	c.Name += fmt.Sprintf(", batches of %d", size)
	c.LoopsOnly = true
	c.Make = func(capacity int) Channel { return single(capacity).(Batcher).InBatches(size) }
	return c
}

// each runs n goroutines and waits for them.
func each(workers int, work func()) {
	var all sync.WaitGroup
	for range workers {
		all.Go(work)
	}
	all.Wait()
}

// fill writes lo, lo+1, … to batch and returns the value after the last.
func fill(batch []uint64, lo uint64) uint64 {
	for i := range batch {
		batch[i] = lo + uint64(i)
	}
	return lo + uint64(len(batch))
}
