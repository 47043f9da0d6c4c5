package sluice_test

import (
	"context"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// selected is a channel whose Send and Recv are Selects, over the channel itself
// and over others on which nothing ever happens.
type selected[T any] struct {
	sluicetest.Channel[T]
	rendezvous *sluice.Rendezvous[T]
	elastic    *sluice.Elastic[T]
}

func (c selected[T]) among(own sluice.Case) []sluice.Case {
	return []sluice.Case{sluice.OnRecv(c.rendezvous), own, sluice.OnRecv(c.elastic), sluice.OnRecv(c.rendezvous)}
}

func (c selected[T]) Send(ctx context.Context, v T) error {
	_, err := sluice.Select(ctx, c.among(sluice.OnSend(c.Channel, v))...)
	return err
}

func (c selected[T]) Recv(ctx context.Context) (T, error) {
	in := sluice.OnRecv(c.Channel)
	_, err := sluice.Select(ctx, c.among(in)...)
	return in.Value, err
}

func selecting[T any](c sluicetest.Channel[T]) sluicetest.Channel[T] {
	return selected[T]{c, sluice.NewRendezvous[T](nil), sluice.NewElastic[T](1, nil)}
}

// TestSelectConforms: a Select keeps all that Send and Recv promise, but that it
// may be overtaken where those are served first in the end.
func TestSelectConforms(t *testing.T) {
	shapes := []shape{
		{}, {capacity: 16, oneSender: true, oneReceiver: true}, {elastic: true, capacity: 5, bytes: true}, // one of each way to wait
		{withoutHandOff: true}, {capacity: 1}, {capacity: 3, oneSender: true, oneReceiver: true}, {capacity: 2, withoutHandOff: true},
		{capacity: 3, overflow: sluice.DropOldest}, {capacity: 128}, {elastic: true, capacity: sluice.Unlimited},
	}
	if testing.Short() {
		shapes = shapes[:3]
	}
	kinds := map[string]sluicetest.Kind{"Sharded": sharded{limit: 2, lanes: 2}.kind()}
	for _, s := range shapes {
		kinds[s.String()] = s.kind()
	}
	for name, k := range kinds {
		if k.MaxBypass != 0 {
			k.MaxBypass = sluicetest.NoBound
		}
		k.Allocates, k.Memory = true, nil // the cases are made for each call
		plain := k
		k.Numbers = func(onDrop func(uint64)) sluicetest.Channel[uint64] { return selecting(plain.Numbers(onDrop)) }
		k.Pointers = func() sluicetest.Channel[*sluicetest.Parcel] { return selecting(plain.Pointers()) }
		k.Strings = func() sluicetest.Channel[string] { return selecting(plain.Strings()) }
		k.Empties = func() sluicetest.Channel[struct{}] { return selecting(plain.Empties()) }
		k.Giants = func() sluicetest.Channel[sluicetest.Giant] { return selecting(plain.Giants()) }
		t.Run(name, func(t *testing.T) { sluicetest.Run(t, k) })
	}
}
