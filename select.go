package sluice

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// A Case is what a [Select] may choose: a [RecvCase], a [SendCase], or [Default].
type Case interface {
	// try does the operation if that is possible without waiting.
	try() (done bool, err error)
	// entry is how the case waits. Default does not, and returns nil.
	entry() *caseEntry
}

// Default is the case that [Select] chooses when no other case can proceed immediately.
var Default Case = otherwise{}

type otherwise struct{}

func (otherwise) try() (bool, error) { return false, nil }
func (otherwise) entry() *caseEntry  { return nil }

// Select waits until one of the cases can proceed, performs its operation, and returns
// it: compare the result with the cases. No other case sends or receives anything, even
// if its channel is closed, or the context canceled, at the same time. If several cases
// can proceed, Select chooses one uniformly at random.
//
// err is the result of the operation: nil; [ErrClosed], for a receive once the channel
// is closed and drained; [ErrFull] under the [Reject] policy, but see [OnSend] for a
// [Lane]; [ErrTooLarge]; or what a channel of another package fails with. A case whose
// channel is closed can proceed: Select chooses it again and again until you leave it
// out. Under [DropNewest] and [DropOldest] a send can always proceed. If no case can
// proceed and ctx is done, chosen is nil and err is the context's error; Select looks
// at ctx only when it would wait. With [Default] among the cases it never waits.
// Without cases it waits for ctx.
//
// Cases may mix kinds and types, and a channel may appear in several cases, for sending
// and for receiving: a Select never pairs its own send with its own receive, but two
// Selects on opposite sides of a channel do pair. A case must not be in two calls at the
// same time, nor twice in one; where such a call would wait, it panics. The promises
// SingleSender and SingleReceiver hold if no other goroutine sends, or receives, during
// the call.
//
// While it waits, a Select has an entry in the wait queue of each of its channels that
// belongs to this package, is served in turn like a Send or Recv, and counts among the
// waiters in Stats. In a channel of 16 slots or more, a goroutine that has not parked
// may overtake those that have.
//
// Select does not allocate, except when it waits for the first time, and with more than
// eight cases. It does not retain cases. A nil context and a nil case panic.
func Select(ctx context.Context, cases ...Case) (chosen Case, err error) {
	if ctx == nil {
		panic("sluice: Select: nil context")
	}
	for i, c := range cases {
		if c == nil {
			panic(fmt.Sprintf("sluice: Select: case %d is nil", i))
		}
	}
	if chosen, err = poll(cases); chosen != nil {
		return chosen, err
	}
	for _, c := range cases {
		if c.entry() == nil { // Default
			return c, nil
		}
	}
	return wait(ctx, cases)
}

// fewCases is the number of cases for which there is scratch space on the stack.
const fewCases = 8

// spaceOf returns scratch space for one number per case, which the first case keeps for
// the next call.
func spaceOf(cases []Case, ranks bool) []int {
	e := cases[0].entry()
	if e == nil {
		return make([]int, 0, len(cases))
	}
	space := &e.order
	if ranks {
		space = &e.ranks
	}
	if cap(*space) < len(cases) {
		*space = make([]int, 0, len(cases))
	}
	return (*space)[:0]
}

// poll tries the cases in random order until one proceeds. It returns nil if none does.
func poll(cases []Case) (Case, error) {
	if len(cases) == 0 {
		return nil, nil
	}
	var d dice
	first := d.below(len(cases))
	if done, err := cases[first].try(); done {
		return cases[first], err
	}
	var space [fewCases]int
	order := space[:0]
	if len(cases) > fewCases {
		order = spaceOf(cases, false)
	}
	for i := range cases {
		order = append(order, i)
	}
	order[first] = 0
	for i := 1; i < len(order); i++ {
		j := i + d.below(len(order)-i)
		order[i], order[j] = order[j], order[i]
		c := cases[order[i]]
		if done, err := c.try(); done {
			return c, err
		}
	}
	return nil, nil
}

// dice draws several small random numbers from one 64-bit number: the high word of a
// product is the small number, the low word is the randomness that remains.
type dice struct{ left, span uint64 } // span is the product of the ranges drawn so far

// below returns a random number from 0 to n-1.
func (d *dice) below(n int) int {
	// With a span of up to 2^32 the probabilities differ by at most 2^-32.
	if d.span *= uint64(n); d.span == 0 || d.span > 1<<32 {
		d.left, d.span = rand.Uint64(), uint64(n)
	}
	hi, lo := bits.Mul64(d.left, uint64(n))
	d.left = lo
	return int(hi)
}
