package sluice

import (
	"context"
	"fmt"
)

// Select waits until one of the cases can proceed, performs its operation, and returns
// it: compare the result with the cases. No other case sends or receives anything, even
// if its channel is closed, or the context canceled, at the same time. If several cases
// can proceed, Select chooses one uniformly at random: to prefer a channel, call its TryRecv
// before. A timeout is a context with a deadline.
//
// err is the result of the operation: nil; [ErrClosed], for a receive once the channel
// is closed and drained; [ErrFull] under the [Reject] policy, but see [OnSend] for a
// [Lane]; [ErrTooLarge]; or what a channel of another package fails with. A case whose
// channel is closed can proceed: Select chooses it again and again until you leave it
// out. Under [DropNewest] and [DropOldest] a send can always proceed. If no case can
// proceed and ctx is done, chosen is nil and err is the context's error; Select looks
// at ctx only when it would wait. With [Default] among the cases it never waits, and
// chooses Default only if no case can proceed at one moment, for all channels of this
// package. Without cases it waits for ctx.
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
	mayWait := true
	for i, c := range cases {
		if c == nil {
			panic(fmt.Sprintf("sluice: Select: case %d is nil", i))
		}
		if c == Default {
			mayWait = false
		}
	}
	if !mayWait && noneCould(cases, false) {
		return Default, nil
	}
	if chosen, err = poll(cases); chosen != nil {
		return chosen, err
	}
	for _, c := range cases {
		if c.entry() == nil { // Default
			return pollOr(c, cases)
		}
	}
	return wait(ctx, cases)
}

// pollOr polls until a case proceeds or it has found a moment at which none could: then
// it returns otherwise. One poll has found nothing already.
func pollOr(otherwise Case, cases []Case) (Case, error) {
	for len(cases) > 2 && !noneCould(cases, true) {
		if chosen, err := poll(cases); chosen != nil {
			return chosen, err
		}
	}
	return otherwise, nil
}

// noneCould reports whether at one moment of the call none of the cases could proceed,
// except for channels of other packages. If tried is false, it may return false because a
// case may be able to proceed, as the last attempt did.
//
// If all channels are in locked engines, noneHeld finds that moment. Otherwise it
// is a snapshot by double collect (Afek et al., Atomic Snapshots of Shared Memory, 1993).
// It looks at all cases, and then at all of them again:
//
//   - A case that could not proceed in either look, with equal marks, could not proceed at
//     any moment between its two looks (see engine.Engine.WouldBlock). Marks never fall, so
//     equal marks cannot hide a value that came and went.
//   - The moment after the last first look and before the first second look lies between the
//     two looks of every case.
//
// If the marks differ, a value has moved meanwhile and Select polls again: some goroutine has
// made progress. With one case the look itself is the moment.
func noneCould(cases []Case, tried bool) bool {
	if e := cases[0].entry(); len(cases) > 2 && (e == nil || e.holds) {
		if none, ok := noneHeld(cases, tried); ok {
			return none
		}
	}
	for _, c := range cases {
		if _, blocked := c.look(tried); !blocked {
			return false
		}
	}
	if len(cases) <= 2 { // one case and Default
		return true
	}
	for _, c := range cases {
		if same, blocked := c.look(tried); !same || !blocked {
			return false
		}
	}
	return true
}

// noneHeld is noneCould if the channels of all cases are in locked engines: that is the
// moment at which it holds all their locks, which it takes in the order of the ranks. An
// engine of that kind takes its lock for each look anyway, so it is cheaper to look once.
// Otherwise ok is false.
func noneHeld(cases []Case, tried bool) (none, ok bool) {
	var held [fewCases]*caseEntry // in ascending order of ranks
	n := 0
	for _, c := range cases {
		e := c.entry()
		switch {
		case e == nil: // Default
			continue
		case !e.holds || n == fewCases:
			return false, false
		case !tried && !e.idle:
			return false, true
		}
		at := n
		for ; at > 0 && held[at-1].rank > e.rank; at-- {
			held[at] = held[at-1]
		}
		held[at] = e
		n++
	}
	none = true
	locked := 0
	for ; locked < n && none; locked++ {
		e := held[locked]
		if locked == 0 || held[locked-1].rank != e.rank {
			e.handoff.Lock()
		}
		none = !e.handoff.CanProceed()
	}
	for i := range locked {
		if i == 0 || held[i-1].rank != held[i].rank {
			held[i].handoff.Unlock()
		}
	}
	return none, true
}
