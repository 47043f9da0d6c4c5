package sluice_test

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// choices are those options that exist for every element type.
type choices struct {
	overflow    sluice.Overflow
	shrink      sluice.ShrinkMode
	oneSender   bool
	oneReceiver bool
	noHandOff   bool
}

func options[T any](o choices) *sluice.Options[T] {
	return &sluice.Options[T]{
		Overflow:       o.overflow,
		Shrink:         o.shrink,
		SingleSender:   o.oneSender,
		SingleReceiver: o.oneReceiver,
		NoHandOff:      o.noHandOff,
	}
}

// describe fills in a Kind from makers for one type each.
func describe(capacity int, o choices) sluicetest.Kind {
	return sluicetest.Kind{
		Capacity:    capacity,
		Overflow:    o.overflow,
		OneSender:   o.oneSender,
		OneReceiver: o.oneReceiver,
	}
}

func rendezvous(o choices) sluicetest.Kind {
	k := describe(0, o)
	k.Numbers = func(onDrop func(uint64)) sluicetest.Channel[uint64] {
		with := options[uint64](o)
		with.OnDrop = onDrop
		return sluice.NewRendezvous(with)
	}
	k.Pointers = func() sluicetest.Channel[*sluicetest.Parcel] {
		return sluice.NewRendezvous(options[*sluicetest.Parcel](o))
	}
	k.Strings = func() sluicetest.Channel[string] { return sluice.NewRendezvous(options[string](o)) }
	k.Empties = func() sluicetest.Channel[struct{}] { return sluice.NewRendezvous(options[struct{}](o)) }
	k.Giants = func() sluicetest.Channel[sluicetest.Giant] {
		return sluice.NewRendezvous(options[sluicetest.Giant](o))
	}
	return k
}

func bounded(capacity int, o choices) sluicetest.Kind {
	k := describe(capacity, o)
	k.Numbers = func(onDrop func(uint64)) sluicetest.Channel[uint64] {
		with := options[uint64](o)
		with.OnDrop = onDrop
		return sluice.NewBounded(capacity, with)
	}
	k.Pointers = func() sluicetest.Channel[*sluicetest.Parcel] {
		return sluice.NewBounded(capacity, options[*sluicetest.Parcel](o))
	}
	k.Strings = func() sluicetest.Channel[string] { return sluice.NewBounded(capacity, options[string](o)) }
	k.Empties = func() sluicetest.Channel[struct{}] { return sluice.NewBounded(capacity, options[struct{}](o)) }
	k.Giants = func() sluicetest.Channel[sluicetest.Giant] {
		return sluice.NewBounded(capacity, options[sluicetest.Giant](o))
	}
	return k
}

func elastic(limit int, o choices) sluicetest.Kind {
	k := describe(limit, o)
	k.Numbers = func(onDrop func(uint64)) sluicetest.Channel[uint64] {
		with := options[uint64](o)
		with.OnDrop = onDrop
		return sluice.NewElastic(limit, with)
	}
	k.Pointers = func() sluicetest.Channel[*sluicetest.Parcel] {
		return sluice.NewElastic(limit, options[*sluicetest.Parcel](o))
	}
	k.Strings = func() sluicetest.Channel[string] { return sluice.NewElastic(limit, options[string](o)) }
	k.Empties = func() sluicetest.Channel[struct{}] { return sluice.NewElastic(limit, options[struct{}](o)) }
	k.Giants = func() sluicetest.Channel[sluicetest.Giant] {
		return sluice.NewElastic(limit, options[sluicetest.Giant](o))
	}
	return k
}

// variants runs the suite with each combination of SingleSender and
// SingleReceiver.
func variants(t *testing.T, kind func(o choices) sluicetest.Kind, o choices) {
	for _, single := range []struct {
		name             string
		sender, receiver bool
	}{{"many to many", false, false}, {"one to many", true, false}, {"many to one", false, true}, {"one to one", true, true}} {
		o.oneSender, o.oneReceiver = single.sender, single.receiver
		t.Run(single.name, func(t *testing.T) { sluicetest.Run(t, kind(o)) })
	}
}

func TestRendezvous(t *testing.T) {
	variants(t, rendezvous, choices{})
}

func TestBounded(t *testing.T) {
	for _, capacity := range []int{1, 2, 3, 8, 128, 1024} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			variants(t, func(o choices) sluicetest.Kind { return bounded(capacity, o) }, choices{})
		})
	}
}

func TestElastic(t *testing.T) {
	for _, limit := range []int{1, 5, 1000, 1 << 30, sluice.Unlimited} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			for _, shrink := range []sluice.ShrinkMode{sluice.ShrinkHalf, sluice.ShrinkEmpty, sluice.NoShrink} {
				t.Run(shrink.String(), func(t *testing.T) {
					sluicetest.Run(t, elastic(limit, choices{shrink: shrink}))
				})
			}
		})
	}
}
