package sluice_test

import (
	"context"
	"time"

	"github.com/sluice-go/sluice"
)

// kinds contains a constructor of each kind, by name.
var kinds = map[string]func() sluice.Channel[int]{
	"Rendezvous": func() sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
	"Bounded 1":  func() sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
	"Bounded 64": func() sluice.Channel[int] { return sluice.NewBounded[int](64, nil) },
	"Priority":   func() sluice.Channel[int] { return sluice.NewPriority[int](3, 64, nil) },
	"Delay":      func() sluice.Channel[int] { return sluice.NewDelay[int](64, nil) },
	"Aged": func() sluice.Channel[int] {
		return sluice.NewAged(64, &sluice.AgedOptions[int]{MaxAge: time.Hour})
	},
	"Elastic": func() sluice.Channel[int] { return sluice.NewElastic[int](sluice.Unlimited, nil) },
}

// eachKind returns one channel of each kind, by name.
func eachKind() map[string]sluice.Channel[int] {
	made := make(map[string]sluice.Channel[int], len(kinds))
	for name, make := range kinds {
		made[name] = make()
	}
	return made
}

// dropped returns an OnUndelivered that calls onDrop with the values that the channel drops, but
// not with those that Discard removes. It returns nil if onDrop is nil.
func dropped[T any](onDrop func(T)) func(T, sluice.Reason) {
	if onDrop == nil {
		return nil
	}
	return func(v T, why sluice.Reason) {
		if why != sluice.Discarded {
			onDrop(v)
		}
	}
}

// canceledContext returns a context that is done.
func canceledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// fill sends to c until it is full, and returns it.
func fill(c sluice.Channel[int]) sluice.Channel[int] {
	for range c.Cap() {
		_ = c.TrySend(9)
	}
	return c
}
