package sluice_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// noContext is the nil context that a test passes to see a panic.
var noContext context.Context

// mustPanic fails t unless f panics with a string that begins with "sluice: ", the
// name of the function, and a colon, and contains all words.
func mustPanic(t *testing.T, function string, words []string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		message, ok := recover().(string)
		if !ok {
			t.Errorf("no panic with a string")
			return
		}
		if !strings.HasPrefix(message, "sluice: "+function+": ") {
			t.Errorf("panic %q does not name the function %s", message, function)
		}
		for _, word := range words {
			if !strings.Contains(message, word) {
				t.Errorf("panic %q does not contain %q", message, word)
			}
		}
	}()
	f()
}

func TestBadCapacity(t *testing.T) {
	for _, n := range []int{-1, math.MinInt} {
		mustPanic(t, "NewBounded", []string{"capacity", fmt.Sprint(n)}, func() { sluice.NewBounded[int](n, nil) })
	}
	for _, n := range []int{0, -1, math.MinInt} {
		value := fmt.Sprint(n)
		mustPanic(t, "NewElastic", []string{"capacity", value}, func() { sluice.NewElastic[int](n, nil) })
		mustPanic(t, "NewSharded", []string{"capacity", value}, func() { sluice.NewSharded[int](n, nil) })
		mustPanic(t, "NewPriority", []string{"capacity", value}, func() { sluice.NewPriority[int](1, n, nil) })
		mustPanic(t, "NewAged", []string{"capacity", value}, func() { sluice.NewAged(n, &sluice.AgedOptions[int]{MaxAge: 1}) })
		mustPanic(t, "NewDelay", []string{"capacity", value}, func() { sluice.NewDelay[int](n, nil) })
		mustPanic(t, "NewPriority", []string{"levels", value}, func() { sluice.NewPriority[int](n, 1, nil) })
	}
	mustPanic(t, "NewPriority", []string{"levels", "65"}, func() { sluice.NewPriority[int](65, 1, nil) })
}

// TestBadOptions: the constructors panic on invalid options that the types allow.
func TestBadOptions(t *testing.T) {
	type (
		rendezvous = sluice.RendezvousOptions[int]
		bounded    = sluice.BoundedOptions[int]
		elastic    = sluice.ElasticOptions[int]
		aged       = sluice.AgedOptions[int]
		sharded    = sluice.ShardedOptions[int]
		ranked     = sluice.PriorityOptions[int]
		delay      = sluice.DelayOptions[int]
	)
	size := func(int) int { return 1 }
	for _, test := range []struct {
		options any
		words   []string
	}{
		{rendezvous{Overflow: 6}, []string{"Overflow(6)"}},
		{bounded{Overflow: sluice.Evict}, []string{"Evict", "DropOldest"}},
		{ranked{Overflow: sluice.Evict}, []string{"Evict", "DropLeastUrgent"}},
		{bounded{Overflow: sluice.DropLeastUrgent}, []string{"DropLeastUrgent", "DropOldest"}},
		{ranked{Overflow: sluice.DropOldest}, []string{"DropOldest", "DropLeastUrgent"}},
		{ranked{Overflow: 9}, []string{"Overflow(9)", "DropLeastUrgent"}},
		{delay{Overflow: sluice.DropOldest}, []string{"DropOldest", "Reject"}},
		{delay{Overflow: sluice.DropLeastUrgent}, []string{"DropLeastUrgent"}},
		{ranked{MaxPassed: -1}, []string{"MaxPassed", "-1"}},
		{bounded{Overflow: 255}, []string{"Overflow(255)"}},
		{elastic{Shrink: 3}, []string{"ShrinkMode(3)"}},
		{sharded{Shrink: 3}, []string{"ShrinkMode(3)"}},
		{rendezvous{Overflow: sluice.DropOldest}, []string{"DropOldest"}},
		{elastic{MaxBytes: -7, Size: size}, []string{"MaxBytes", "-7"}},
		{elastic{MaxBytes: 1}, []string{"MaxBytes", "at least", "got 1"}},
		{elastic{Size: size}, []string{"Size", "MaxBytes"}},
		{aged{MaxAge: -1}, []string{"MaxAge", "-1ns"}},
		{aged{StaleAfter: -time.Second}, []string{"StaleAfter", "-1s"}},
		{aged{StaleAfter: 2, MaxAge: 2}, []string{"StaleAfter", "MaxAge", "2ns"}},
		{aged{}, []string{"MaxAge", "StaleAfter", "NewElastic"}},
		{aged{MaxAge: 1, Shrink: 3}, []string{"ShrinkMode(3)"}},
		{aged{MaxAge: 1, Overflow: sluice.DropLeastUrgent}, []string{"DropLeastUrgent"}},
		{sharded{Lanes: -1}, []string{"Lanes", "-1"}},
		{sharded{Lanes: 1<<15 + 1}, []string{"Lanes", "32769"}},
	} {
		function, build := "", func() {}
		switch o := test.options.(type) {
		case rendezvous:
			function, build = "NewRendezvous", func() { sluice.NewRendezvous(&o) }
		case bounded:
			function, build = "NewBounded", func() { sluice.NewBounded(3, &o) }
		case elastic:
			function, build = "NewElastic", func() { sluice.NewElastic(3, &o) }
		case aged:
			function, build = "NewAged", func() { sluice.NewAged(3, &o) }
		case sharded:
			function, build = "NewSharded", func() { sluice.NewSharded(3, &o) }
		case delay:
			function, build = "NewDelay", func() { sluice.NewDelay(3, &o) }
		case ranked:
			function, build = "NewPriority", func() { sluice.NewPriority(3, 3, &o) }
		}
		t.Run(fmt.Sprint(function, " ", strings.Join(test.words, " ")), func(t *testing.T) {
			mustPanic(t, function, test.words, build)
		})
	}
	mustPanic(t, "NewElastic", []string{"MaxBytes", "Size", "*sluicetest.Parcel", "pointers"}, func() {
		sluice.NewElastic(3, &sluice.ElasticOptions[*sluicetest.Parcel]{MaxBytes: 10})
	})
	mustPanic(t, "NewAged", []string{"MaxAge"}, func() { sluice.NewAged[int](3, nil) })
	mustPanic(t, "NewBounded", []string{"DropOldest"}, func() {
		sluice.NewBounded(0, &bounded{Overflow: sluice.DropOldest})
	})
}

// TestOptionsAreCopied: changing the options after the construction does not change
// the channel.
func TestOptionsAreCopied(t *testing.T) {
	o := &sluice.BoundedOptions[int]{Name: "before", Overflow: sluice.Reject}
	c := sluice.NewBounded(1, o)
	*o = sluice.BoundedOptions[int]{Name: "after", Overflow: sluice.DropNewest}
	if err := c.TrySend(1); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(context.Background(), 2); err != sluice.ErrFull {
		t.Errorf("Send to a full channel made with Reject: %v", err)
	}
	if name := c.Stats().Name; name != "before" {
		t.Errorf("the channel's name became %q", name)
	}
}

func TestNilContext(t *testing.T) {
	for kind, c := range eachKind() {
		var none context.Context
		for method, call := range map[string]func(){
			"Send":      func() { _ = c.Send(none, 1) },
			"SendBatch": func() { _, _ = c.SendBatch(none, []int{1}) },
			"Recv":      func() { _, _ = c.Recv(none) },
			"RecvBatch": func() { _, _ = c.RecvBatch(none, make([]int, 1)) },
		} {
			t.Run(kind+" "+method, func(t *testing.T) {
				mustPanic(t, method, []string{"nil context"}, call)
				if c.Len() != 0 {
					t.Errorf("Len is %d after a call that panicked", c.Len())
				}
			})
		}
	}
	mustPanic(t, "Values", []string{"nil context"}, func() { sluice.NewElastic[int](1, nil).Values(noContext) })
}
