package sluicetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// testElements: every element type arrives unchanged.
func testElements(t *testing.T, k Kind) {
	t.Run("string", func(t *testing.T) {
		testElement(t, k, k.Strings, func(i int) string { return fmt.Sprint("value ", i) })
	})
	t.Run("pointer", func(t *testing.T) {
		parcels := make(map[int]*Parcel)
		testElement(t, k, k.Pointers, func(i int) *Parcel {
			if parcels[i] == nil {
				parcels[i] = &Parcel{ID: uint64(i)}
			}
			return parcels[i]
		})
	})
	t.Run("nil pointer", func(t *testing.T) {
		testElement(t, k, k.Pointers, func(int) *Parcel { return nil })
	})
	t.Run("empty", func(t *testing.T) {
		testElement(t, k, k.Empties, func(int) struct{} { return struct{}{} })
	})
	t.Run("giant", func(t *testing.T) {
		testElement(t, k, k.Giants, func(i int) (g Giant) {
			g[0], g[len(g)/2], g[len(g)-1] = byte(i), byte(i>>8), byte(i>>16)
			return g
		})
	})
}

func testElement[T comparable](t *testing.T, k Kind, make func() Channel[T], value func(i int) T) {
	if k.Remote {
		passElements(t, k, make(), value)
		return
	}
	synctest.Test(t, func(t *testing.T) { passElements(t, k, make(), value) })
}

// passElements passes values through c in one goroutine, up to its capacity,
// and between two goroutines.
func passElements[T comparable](t *testing.T, k Kind, c Channel[T], value func(i int) T) {
	ordered := k.Order != AnyOrder
	room := min(k.Capacity, 10+k.rounds(30))
	for range 3 {
		for i := range room {
			mustSend(t, c, value(i))
		}
		if !k.has(c, room) {
			t.Fatalf("Len is %d with %d queued", c.Len(), room)
		}
		for i := range room {
			if v, err := tryRecv(k, c); err != nil || ordered && !same(k, v, value(i)) {
				t.Fatalf("TryRecv: %v, or not the value that was sent", err)
			}
		}
		mustBeEmpty(t, c)
		if !k.has(c, 0) {
			t.Fatalf("Len is %d of an empty channel", c.Len())
		}
	}
	if k.drops() {
		return
	}
	n := 10 + k.rounds(40)
	ctx := context.Background()
	vs := sliceOf(n, value)
	var sender sync.WaitGroup
	sender.Go(func() {
		defer c.Close()
		for rest := vs; len(rest) > 0; {
			sent, err := c.SendBatch(ctx, rest[:min(len(rest), 7)])
			if err != nil && err != sluice.ErrFull {
				t.Errorf("SendBatch: %v", err)
				return
			}
			rest = rest[sent:]
			yield()
		}
	})
	i := 0
	for v := range allOf(ctx, c) {
		if i < n && ordered && !same(k, v, vs[i]) {
			t.Errorf("value %d is not what was sent", i)
		}
		i++
	}
	sender.Wait()
	if i != n {
		t.Fatalf("received %d of %d", i, n)
	}
	if v, err := c.TryRecv(); err != sluice.ErrClosed || v != *new(T) {
		t.Fatalf("TryRecv from a drained channel: %v, or the value is not zero", err)
	}
}

// same reports whether a equals b; for a remote kind, whether a points to a
// copy of b's element.
func same[T comparable](k Kind, a, b T) bool {
	p, ok := any(a).(*Parcel)
	q, _ := any(b).(*Parcel)
	if !ok || !k.Remote || p == nil || q == nil {
		return a == b
	}
	return p.ID == q.ID
}

func sliceOf[T any](n int, value func(i int) T) []T {
	vs := make([]T, n)
	for i := range vs {
		vs[i] = value(i)
	}
	return vs
}
