package sluice

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/foreign"
	"github.com/sluice-go/sluice/internal/selection"
)

// A Case is what a [Select] may choose: a [RecvCase], a [SendCase], or [Default].
type Case interface {
	// try does the operation if that is possible without waiting.
	try() (done bool, err error)
	// look reports whether the case could not proceed at a moment of the call, and whether
	// it was in the same state in the last call. It may return false if tried is false. If
	// tried is true, a case with a channel of another package returns true.
	look(tried bool) (same, blocked bool)
	// entry is how the case waits. Default does not, and returns nil.
	entry() *caseEntry
}

// Default is the case that [Select] chooses when there is a moment at which no other case can
// proceed. While one of them can at any moment, even if not always the same one, Select does
// not choose Default.
//
// That holds for channels of this package. A channel of any other type reports only what was
// possible when it was tried, so it is tried at a moment of its own, before or after that one.
const Default = otherwise(0)

type otherwise uint8

func (otherwise) try() (bool, error)             { return false, nil }
func (otherwise) look(bool) (same, blocked bool) { return true, true }
func (otherwise) entry() *caseEntry              { return nil }

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

// A RecvCase is a receive that [Select] may choose. Make it once, by [OnRecv], and use it
// as often as you like, in one Select at a time.
type RecvCase[T any] struct {
	// Value is the value received when the case was chosen last, or the zero value if the
	// receive failed. The case retains it until the next receive.
	Value T

	engine  recvEngine[T]  // of a kind, or of a subscription to a hub
	foreign TryReceiver[T] // of any other type
	mark    engine.Mark    // of the last look
	wait    caseEntry
}

// A SendCase is a send that [Select] may choose. Make it once, by [OnSend], and use it as
// often as you like, in one Select at a time.
type SendCase[T any] struct {
	// Value is the value to send if the case is chosen. It may be changed between two
	// calls of Select. The case retains it after it was sent.
	Value T

	engine  sendEngine[T] // of a kind, or of a hub
	foreign Sender[T]     // of any other type
	blocks  bool          // the policy is Block
	mark    engine.Mark   // of the last look
	wait    caseEntry
}

// A recvEngine is what a RecvCase needs of an engine.
type recvEngine[T any] interface {
	TryRecv() (T, error)
	WouldBlock(v *T) (engine.Mark, bool)
	NewEntry(value *T, sends bool) engine.Entry
}

// A sendEngine is what a SendCase needs of an engine.
type sendEngine[T any] interface {
	engine.Sender[T]
	WouldBlock(v *T) (engine.Mark, bool)
	Overflow() engine.Overflow
	NewEntry(value *T, sends bool) engine.Entry
}

// OnRecv returns a case that receives from r, and infers T: OnRecv(jobs). It allocates. A
// built-in channel has no Ready: bridge.FromChan moves its values into a channel that has.
//
// For the channels of this package and of package hub a waiting Select costs nothing extra. For
// any other type it starts a goroutine that reads Ready. Do not read Ready of such a channel elsewhere at
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
	c := new(RecvCase[T])
	if from, ok := engineOf("OnRecv", r).(recvEngine[T]); ok {
		c.engine = from
		c.wait.use(from.NewEntry(&c.Value, false))
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
// For the channels of this package and of package hub a waiting Select costs nothing extra.
// A channel of any other type, a [Lane] included, cannot announce room: a waiting Select tries it
// again after 1 ms, 2 ms, 4 ms, up to 100 ms. It takes every [ErrFull] of such a
// channel for a lack of room, so it waits for room in a Lane under the [Reject] policy
// too, where Send would fail. TrySend of such a type must not return an error that is
// [ErrFull], by [errors.Is], unless there may be room later.
//
// OnSend panics if s is nil, or if s is a kind that no constructor has made.
func OnSend[T any](s Sender[T], v T) *SendCase[T] {
	c := &SendCase[T]{Value: v}
	if to, ok := engineOf("OnSend", s).(sendEngine[T]); ok {
		c.blocks = to.Overflow() == engine.Block
		c.engine = to
		c.wait.use(to.NewEntry(&c.Value, true))
		c.wait.holds = c.wait.holds && c.blocks
		return c
	}
	c.foreign = s
	c.wait.use(new(foreign.SendEntry))
	return c
}

// engineOf returns the engine of a channel of this module, and nil for any other type. It
// panics on behalf of function if the channel is nil or was not made by a constructor.
func engineOf(function string, channel any) any {
	if channel == nil {
		panic("sluice: " + function + ": nil channel")
	}
	e, ok := engine.Of(channel)
	if ok && e == nil {
		panic(fmt.Sprintf("sluice: %s: %T is nil or was not made by its constructor", function, channel))
	}
	return e
}

// try skips the attempt if the channel had nothing the last time and a look without a
// lock shows that it still has nothing. A channel that has values is not looked at twice:
// the look reads a word that the other side writes. In a locked engine a look takes the
// lock.
func (c *RecvCase[T]) try() (bool, error) {
	if c.engine == nil {
		return c.tryForeign()
	}
	if c.wait.idle && c.wait.handoff == nil {
		if _, blocked := c.engine.WouldBlock(nil); blocked {
			return false, nil
		}
	}
	v, err := c.engine.TryRecv()
	if c.wait.idle = err == engine.ErrEmpty; c.wait.idle {
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
	if c.wait.idle && c.wait.handoff == nil {
		if _, blocked := c.engine.WouldBlock(&c.Value); blocked {
			return false, nil
		}
	}
	var err error
	if c.blocks {
		err = c.engine.Send(engine.Poll{}, c.Value)
	} else {
		err = c.engine.TrySend(c.Value)
	}
	c.wait.idle = err == engine.ErrFull && c.blocks
	return !c.wait.idle, err
}

func (c *SendCase[T]) tryForeign() (bool, error) {
	if c.foreign == nil {
		panic("sluice: Select: a SendCase that is a zero value; make it with OnSend")
	}
	err := c.foreign.TrySend(c.Value)
	return !errors.Is(err, ErrFull), err
}

func (c *RecvCase[T]) look(tried bool) (same, blocked bool) {
	if c.engine == nil {
		return tried, tried
	}
	if !tried && !c.wait.idle {
		return false, false
	}
	last := c.mark
	c.mark, blocked = c.engine.WouldBlock(nil)
	return c.mark == last, blocked
}

func (c *SendCase[T]) look(tried bool) (same, blocked bool) {
	if c.engine == nil {
		return tried, tried
	}
	if !tried && !c.wait.idle {
		return false, false
	}
	if !c.blocks {
		return false, false
	}
	last := c.mark
	c.mark, blocked = c.engine.WouldBlock(&c.Value)
	return c.mark == last, blocked
}

func (c *RecvCase[T]) entry() *caseEntry { return &c.wait }
func (c *SendCase[T]) entry() *caseEntry { return &c.wait }

// A caseEntry is how a case waits. It belongs to the Select that took it.
type caseEntry struct {
	taken   atomic.Bool
	idle    bool // the last attempt found nothing, or no room
	holds   bool // noneHeld can ask it
	entry   engine.Entry
	handoff engine.HandoffEntry // the same entry, if it is one
	rank    uint64              // of handoff
	state   selection.State     // of the Select in which this is the first case
	// Scratch space of that Select, if it has more than fewCases.
	order, ranks []int
}

func (e *caseEntry) use(p engine.Entry) {
	e.entry = p
	if handoff, ok := p.(engine.HandoffEntry); ok {
		e.handoff, e.rank = handoff, handoff.Rank()
		e.holds = !handoff.Sized()
	}
}
