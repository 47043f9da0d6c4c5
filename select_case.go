package sluice

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/foreign"
	"github.com/sluice-go/sluice/internal/selection"
)

// A TryReceiver is a channel that [OnRecv] can wait for: every kind of this package, the
// channels of packages spill and jetstream, the results of package workers, and a type of
// your own. Ready must deliver a token after each send, and after each receive that left
// a value, and be closed after Close; see [Bounded.Ready]. It must always return the same
// channel.
//
// An error of TryRecv that is [ErrEmpty], by [errors.Is], means that a value may come
// later. TryRecv must not return such an error for another reason: a Select would wait.
type TryReceiver[T any] interface {
	TryRecv() (T, error)
	Ready() <-chan struct{}
}

// A TrySender is a channel that [OnSend] can wait for. An error of TrySend that is
// [ErrFull], by [errors.Is], means that there may be room later. TrySend must not
// return such an error for another reason: a Select would wait.
type TrySender[T any] interface {
	TrySend(v T) error
}

// A RecvCase is a receive that [Select] may choose. Make it once, by [OnRecv], and use it
// as often as you like, in one Select at a time.
type RecvCase[T any] struct {
	// Value is the value received when the case was chosen last, or the zero value if the
	// receive failed. The case retains it until the next receive.
	Value T

	engine  engine.Engine[T] // of a kind
	foreign TryReceiver[T]   // of any other type
	idle    bool             // the last attempt found nothing
	wait    caseEntry
}

// A SendCase is a send that [Select] may choose. Make it once, by [OnSend], and use it as
// often as you like, in one Select at a time.
type SendCase[T any] struct {
	// Value is the value to send if the case is chosen. It may be changed between two
	// calls of Select. The case retains it after it was sent.
	Value T

	engine  engine.Engine[T] // of a kind
	foreign TrySender[T]     // of any other type
	blocks  bool             // the policy is Block
	idle    bool             // the last attempt found no room
	wait    caseEntry
}

// OnRecv returns a case that receives from r, and infers T: OnRecv(jobs). It allocates.
//
// For the channels of this package a waiting Select costs nothing extra. For any other type
// it starts a goroutine that reads Ready. Do not read Ready of such a channel elsewhere at
// the same time. The goroutine may take a token that the Select does not use, and it may do
// so after the Select has returned. So once such a channel is a case, call TryRecv until it
// fails with [ErrEmpty] before you wait for Ready elsewhere.
//
// A type that embeds a kind counts as another type: its own TryRecv and Ready are called.
// While a slow TryRecv runs, goroutines that wait for the other channels of the Select may
// wait with it.
//
// OnRecv panics if r is nil, if r is a kind that no constructor has made, or if its Ready
// returns nil.
func OnRecv[T any](r TryReceiver[T]) *RecvCase[T] {
	c := &RecvCase[T]{engine: engineOf[T]("OnRecv", r)}
	if c.engine != nil {
		c.wait.use(c.engine.NewEntry(&c.Value, false))
		return c
	}
	c.foreign = r
	ready := r.Ready()
	if ready == nil { // a Select would never learn of a value
		panic(fmt.Sprintf("sluice: OnRecv: Ready of %T returned nil", r))
	}
	c.wait.use(foreign.NewRecvEntry(ready))
	return c
}

// OnSend returns a case that sends v to s, and infers T: OnSend(jobs, v). It allocates.
//
// For the channels of this package a waiting Select costs nothing extra. A channel of
// any other type, a [Lane] included, cannot announce room: a waiting Select tries it
// again after 1 ms, 2 ms, 4 ms, up to 100 ms. It takes every [ErrFull] of such a
// channel for a lack of room, so it waits for room in a Lane under the [Reject] policy
// too, where Send would fail.
//
// OnSend panics if s is nil, or if s is a kind that no constructor has made.
func OnSend[T any](s TrySender[T], v T) *SendCase[T] {
	c := &SendCase[T]{Value: v, engine: engineOf[T]("OnSend", s)}
	if c.engine != nil {
		c.blocks = c.engine.Blocks()
		c.wait.use(c.engine.NewEntry(&c.Value, true))
		return c
	}
	c.foreign = s
	c.wait.use(new(foreign.SendEntry))
	return c
}

// engineOf returns the engine of a kind of this package, and nil for any other type. It
// panics on behalf of function if the channel is nil or was not made by a constructor.
//
// It looks at types, not at a method, because a type that embeds a kind would have the
// method too: Select would bypass what that type does in its own methods.
func engineOf[T any](function string, c any) (e engine.Engine[T]) {
	switch c := c.(type) {
	case nil:
		panic("sluice: " + function + ": nil channel")
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
	default:
		return nil
	}
	if e == nil {
		panic(fmt.Sprintf("sluice: %s: %T is nil or was not made by its constructor", function, c))
	}
	return e
}

// try skips the attempt if the channel had nothing the last time and a look without a
// lock shows that it still has nothing. A channel that has values is not looked at twice:
// the look reads a word that the other side writes.
func (c *RecvCase[T]) try() (bool, error) {
	if c.engine == nil {
		return c.tryForeign()
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

func (c *RecvCase[T]) tryForeign() (bool, error) {
	if c.foreign == nil {
		panic("sluice: Select: a RecvCase that is a zero value; make it with OnRecv")
	}
	v, err := c.foreign.TryRecv()
	// Not ==: the type may add words to the error, such as its name, and other callers of
	// TryRecv use errors.Is too.
	if errors.Is(err, ErrEmpty) {
		return false, nil
	}
	c.Value = v
	return true, err
}

func (c *SendCase[T]) try() (bool, error) {
	if c.engine == nil {
		return c.tryForeign()
	}
	if c.idle && c.engine.WouldBlock(true) {
		return false, nil
	}
	err := c.engine.TrySend(c.Value)
	c.idle = err == engine.ErrFull && c.blocks
	return !c.idle, err
}

func (c *SendCase[T]) tryForeign() (bool, error) {
	if c.foreign == nil {
		panic("sluice: Select: a SendCase that is a zero value; make it with OnSend")
	}
	err := c.foreign.TrySend(c.Value)
	return !errors.Is(err, ErrFull), err
}

func (c *RecvCase[T]) entry() *caseEntry { return &c.wait }
func (c *SendCase[T]) entry() *caseEntry { return &c.wait }

// A caseEntry is how a case waits. It belongs to the Select that took it.
type caseEntry struct {
	taken   atomic.Bool
	entry   engine.Entry
	handoff engine.HandoffEntry // the same entry, if it is one
	state   selection.State     // of the Select in which this is the first case
	// Scratch space of that Select, if it has more than fewCases.
	order, ranks []int
}

func (e *caseEntry) use(p engine.Entry) {
	e.entry = p
	e.handoff, _ = p.(engine.HandoffEntry)
}
