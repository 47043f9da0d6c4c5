package sluice

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/selection"
)

// A Case is what a [Select] may choose: a [RecvCase], a [SendCase], or [Default].
type Case interface {
	// try does the operation if that is possible without waiting.
	try() (done bool, err error)
	// entry is how the case waits. Default does not, and returns nil.
	entry() *entry
}

// A RecvCase is a receive that [Select] may choose. It is made once, by [OnRecv],
// and used as often as wanted, by one Select at a time.
type RecvCase[T any] struct {
	// Value is what was received when the case was chosen last; the zero
	// value if that failed with ErrClosed. It is kept until it is received
	// over or set to something else.
	Value T

	engine engine.Engine[T]
	idle   bool // the last try found nothing
	way    entry
}

// A SendCase is a send that [Select] may choose. It is made once, by [OnSend],
// and used as often as wanted, by one Select at a time.
type SendCase[T any] struct {
	// Value is what is sent if the case is chosen. It may be changed between
	// two calls of Select, and is kept when it was sent.
	Value T

	engine engine.Engine[T]
	blocks bool // the policy is Block
	idle   bool // the last try found no room
	way    entry
}

// OnRecv returns a case that receives from r. It allocates. r is a channel of
// this package: anything else, a type that embeds one included, panics, as Select
// does not call its methods.
func OnRecv[T any](r Receiver[T]) *RecvCase[T] { return newRecv("OnRecv", r) }

// newRecv is OnRecv in the name of function.
func newRecv[T any](function string, r Receiver[T]) *RecvCase[T] {
	c := &RecvCase[T]{engine: engineOf[T](function, r)}
	c.way.is(c.engine.NewEntry(&c.Value, false))
	return c
}

// OnSend returns a case that sends v on s. It allocates. s is a channel of this
// package, as for [OnRecv].
func OnSend[T any](s Sender[T], v T) *SendCase[T] { return newSend("OnSend", s, v) }

// newSend is OnSend in the name of function.
func newSend[T any](function string, s Sender[T], v T) *SendCase[T] {
	c := &SendCase[T]{Value: v, engine: engineOf[T](function, s)}
	c.blocks = c.engine.Blocks()
	c.way.is(c.engine.NewEntry(&c.Value, true))
	return c
}

// Default is the case that [Select] chooses when no other can proceed at once.
var Default Case = otherwise{}

type otherwise struct{}

func (otherwise) try() (bool, error) { return false, nil }
func (otherwise) entry() *entry      { return nil }

// Select waits until one of the cases can proceed, does what that one says, and
// returns it: compare it with the cases to learn which. No other case sends or
// receives anything, whatever is cancelled or closed meanwhile. Of several that
// can proceed at once it chooses one at random, each with the same probability.
//
// The error is that of the operation chosen: nil; [ErrClosed] if the channel is
// closed, for a receive closed and drained; [ErrFull] under the [Reject] policy;
// [ErrTooLarge]. A case that would fail so can proceed: leave it out of the next
// call, or it is chosen again. Under [DropNewest] and [DropOldest] a send always
// can. If no case can proceed and ctx is done, chosen is nil and the error is
// that of the context; ctx is asked only when Select would wait. With [Default]
// among the cases it never waits. Without any case it waits for ctx.
//
// Cases may be channels of any kinds and types, in any mix, and the same channel
// may stand in several, to send as well: a Select never meets itself, and two of
// them that face each other meet. The same case must not stand in two calls at
// once, nor twice in one; where that would make the call wait, it panics. A
// Select counts as TrySend or TryRecv of its channels, or as one whose turn it
// is: [Options.SingleSender] and [Options.SingleReceiver] are kept if no other
// goroutine sends, or receives, meanwhile.
//
// While it waits, a Select stands in the line of each of its channels like a Send
// or Recv would, is served in its turn, and counts among those waiting in Stats.
// In a channel of many slots it may be overtaken by goroutines that come by, and
// has no claim to be served after it was woken in vain some times.
//
// Select does not allocate, but for the first time that it waits, or that more
// than eight cases are used. cases is not kept. A nil context and a nil case panic.
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

// engineOf returns the engine of a channel that this package has made, and
// panics, in the name of function, if it is another one.
//
// It asks for types and not for a method, which a type that embeds a channel
// would have too: Select would go past what that does in its Send or Recv.
func engineOf[T any](function string, channel any) (e engine.Engine[T]) {
	switch c := channel.(type) {
	case *Rendezvous[T]:
		if c != nil {
			e = c.engine
		}
	case *Bounded[T]:
		if c != nil {
			e = c.engine
		}
	case *Elastic[T]:
		if c != nil {
			e = c.engine
		}
	case *Sharded[T]:
		if c != nil {
			e = c.engine
		}
	}
	if e == nil {
		panic(notMade(function, channel))
	}
	return e
}

// notMade is what function says of a channel that this package has not made.
func notMade(function string, channel any) string {
	return fmt.Sprintf("sluice: %s: %T is not a channel that this package made", function, channel)
}

// try looks without a lock first if the channel had nothing the last time. A
// channel that has values is not looked at twice: what Idle reads, the other side
// writes.
func (c *RecvCase[T]) try() (bool, error) {
	if c.engine == nil {
		panic("sluice: Select: a RecvCase that OnRecv has not made")
	}
	if c.idle && c.engine.WouldBlock(false) {
		return false, nil
	}
	v, err := c.engine.TryRecv()
	if c.idle = err == engine.ErrEmpty; c.idle {
		return false, nil
	}
	c.Value = v
	return true, err
}

func (c *SendCase[T]) try() (bool, error) {
	if c.engine == nil {
		panic("sluice: Select: a SendCase that OnSend has not made")
	}
	if c.idle && c.engine.WouldBlock(true) {
		return false, nil
	}
	err := c.engine.TrySend(c.Value)
	c.idle = err == engine.ErrFull && c.blocks
	return !c.idle, err
}

func (c *RecvCase[T]) entry() *entry { return &c.way }
func (c *SendCase[T]) entry() *entry { return &c.way }

// An entry is how a case waits. It belongs to the Select that took it.
type entry struct {
	taken   atomic.Bool
	place   engine.Entry
	counter engine.HandoffEntry // the place, if it is one
	choice  selection.State     // of the Select in which this is the first case
	// Space of that Select, if it has more than a few cases.
	order, ranks []int
}

func (e *entry) is(p engine.Entry) {
	e.place = p
	e.counter, _ = p.(engine.HandoffEntry)
}

// few is for how many cases there is room on the stack.
const few = 8

// spaceOf returns room for as many numbers as there are cases, kept by the first
// one of them for the next time.
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

// poll tries the cases in a random order until one of them proceeds. It returns
// nil if none does.
func poll(cases []Case) (Case, error) {
	if len(cases) == 0 {
		return nil, nil
	}
	var d dice
	first := d.below(len(cases))
	if done, err := cases[first].try(); done {
		return cases[first], err
	}
	var space [few]int
	order := space[:0]
	if len(cases) > few {
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

// dice makes several small random numbers of one large one, as long as that
// lasts: the product's high word is the number, the low word is what is left.
type dice struct{ left, span uint64 } // span: of the numbers made so far

// below returns a random number from 0 to n-1.
func (d *dice) below(n int) int {
	// With a span of up to 2^32, no number is more likely than another by more
	// than one in 2^32.
	if d.span *= uint64(n); d.span == 0 || d.span > 1<<32 {
		d.left, d.span = rand.Uint64(), uint64(n)
	}
	hi, lo := bits.Mul64(d.left, uint64(n))
	d.left = lo
	return int(hi)
}
