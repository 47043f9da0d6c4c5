package sluice

import (
	"context"
	"errors"
	"slices"
)

// A subscriber is a sender that Broadcast sends to.
type subscriber[T any] struct {
	sender Sender[T]
	out    *SendCase[T]
}

// Broadcast sends each value that it receives from r to every one of ss, in the
// order in which it received them, until r is closed and drained; then it returns
// a nil error. It does not close ss.
//
// What happens when a subscriber is slow is up to the policy of its channel. Under
// [Block] it is waited for, and then the others, which have got the value
// meanwhile, wait for their next one. Under the others it is not waited for: what
// [Reject] refuses, or is too large for [Options.LimitBytes], that subscriber
// misses. One that is closed leaves, and the rest goes on; when none is left,
// Broadcast fails with [ErrClosed]. It sees that when it has a value to send.
//
// After an error, missed are the subscribers that v, received last, did not
// reach: those it was waiting for when ctx ended it, or those that closed before
// they got v, when none is left. The others have v, or are closed, or their policy
// refused it. Without any missed there is no value in hand.
//
// r may be anything; it waits for ss by [Select], so these are channels of this
// package. It starts no goroutine, and allocates only at the start and at the end.
// A nil context, r, or channel panics.
func Broadcast[T any](ctx context.Context, r Receiver[T], ss ...Sender[T]) (v T, missed []Sender[T], err error) {
	if ctx == nil {
		panic("sluice: Broadcast: nil context")
	}
	if r == nil {
		panic("sluice: Broadcast: nil receiver")
	}
	var zero T
	subscribers := make([]subscriber[T], len(ss))
	for i, s := range ss {
		subscribers[i] = subscriber[T]{s, newSend("Broadcast", s, zero)}
	}
	slow := make([]Case, 0, len(ss))
	for len(subscribers) > 0 {
		v, err = r.Recv(ctx)
		if errors.Is(err, ErrClosed) {
			return zero, nil, nil
		}
		if err != nil {
			return zero, nil, err
		}
		if missed, err = sendAll(ctx, v, &subscribers, slow); err != nil {
			return v, missed, err
		}
	}
	return v, missed, ErrClosed
}

// sendAll sends v to all subscribers, and takes those out that are closed. slow is
// space for the cases that must be waited for. missed are those that closed, or if
// it fails, those it was waiting for.
func sendAll[T any](ctx context.Context, v T, subscribers *[]subscriber[T], slow []Case) (missed []Sender[T], err error) {
	var zero T
	var gone []Case
	for _, s := range *subscribers {
		s.out.Value = v
		done, err := s.out.try()
		if !done {
			slow = append(slow, s.out)
			continue
		}
		s.out.Value = zero
		if errors.Is(err, ErrClosed) {
			gone = append(gone, s.out)
		}
	}
	for len(slow) > 0 {
		chosen, err := Select(ctx, slow...)
		if chosen == nil {
			for _, s := range *subscribers {
				if slices.Contains(slow, Case(s.out)) {
					missed = append(missed, s.sender)
				}
			}
			return missed, err
		}
		chosen.(*SendCase[T]).Value = zero
		if errors.Is(err, ErrClosed) {
			gone = append(gone, chosen)
		}
		slow = slices.DeleteFunc(slow, func(c Case) bool { return c == chosen })
	}
	if len(gone) == 0 {
		return nil, nil
	}
	stay := (*subscribers)[:0]
	for _, s := range *subscribers {
		if slices.Contains(gone, Case(s.out)) {
			missed = append(missed, s.sender)
		} else {
			stay = append(stay, s)
		}
	}
	clear((*subscribers)[len(stay):])
	*subscribers = stay
	return missed, nil
}
