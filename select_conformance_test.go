package sluice_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// selecting is a channel whose Send and Recv are Selects over the channel itself and
// over channels that stay idle.
type selecting[T any] struct {
	sluicetest.Channel[T]
	rendezvous *sluice.Rendezvous[T]
	elastic    *sluice.Elastic[T]
}

func (c selecting[T]) withIdle(own sluice.Case) []sluice.Case {
	return []sluice.Case{sluice.OnRecv(c.rendezvous), own, sluice.OnRecv(c.elastic), sluice.OnRecv(c.rendezvous)}
}

func (c selecting[T]) Send(ctx context.Context, v T) error {
	_, err := sluice.Select(ctx, c.withIdle(sluice.OnSend(c.Channel, v))...)
	return err
}

func (c selecting[T]) Recv(ctx context.Context) (T, error) {
	in := sluice.OnRecv(c.Channel)
	_, err := sluice.Select(ctx, c.withIdle(in)...)
	return in.Value, err
}

func newSelecting[T any](c sluicetest.Channel[T]) sluicetest.Channel[T] {
	return selecting[T]{c, sluice.NewRendezvous[T](nil), sluice.NewElastic[T](1, nil)}
}

// TestSelectConforms: a Select keeps every guarantee of Send and Recv except for the
// bound on barging.
func TestSelectConforms(t *testing.T) {
	shapes := []shape{
		{}, {capacity: 16, oneSender: true, oneReceiver: true}, {elastic: true, capacity: 5, bytes: true}, // one per way to wait
		{capacity: 1}, {capacity: 3, oneSender: true, oneReceiver: true},
		{capacity: 3, overflow: sluice.DropOldest}, {capacity: 128}, {elastic: true, capacity: sluice.Unlimited},
	}
	if !suite.All() {
		shapes = shapes[:3]
	}
	kinds := map[string]sluicetest.Kind{
		"Sharded": sharded{limit: 2, lanes: 2}.kind(), "aged": agedShape{limit: 3, maxAge: 10_000 * time.Hour}.kind(),
	}
	for _, s := range shapes {
		kinds[s.String()] = s.kind()
	}
	inFull := []string{shapes[0].String(), shapes[1].String(), shapes[2].String()}
	for name, k := range kinds {
		k.Variant = !suite.All() || !slices.Contains(inFull, name)
		if k.MaxBypass != 0 {
			k.MaxBypass = sluicetest.NoBound
		}
		k.Allocates, k.Memory = true, nil // each call makes its cases
		plain := k
		k.Numbers = func(onDrop func(uint64)) sluicetest.Channel[uint64] { return newSelecting(plain.Numbers(onDrop)) }
		k.Pointers = func() sluicetest.Channel[*sluicetest.Parcel] { return newSelecting(plain.Pointers()) }
		k.Strings = func() sluicetest.Channel[string] { return newSelecting(plain.Strings()) }
		k.Empties = func() sluicetest.Channel[struct{}] { return newSelecting(plain.Empties()) }
		k.Giants = func() sluicetest.Channel[sluicetest.Giant] { return newSelecting(plain.Giants()) }
		t.Run(name, func(t *testing.T) { sluicetest.Run(t, k) })
	}
}
