package sluice_test

import (
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// FuzzAgainstSlice plays a tape to a channel and to a slice that models it: one
// goroutine performs every operation without blocking.
func FuzzAgainstSlice(f *testing.F) {
	for capacity := range byte(len(capacities)) {
		for _, overflow := range []byte{0, 1, 2, 3} {
			for _, elastic := range []byte{0, 1} {
				f.Add([]byte{capacity, overflow, elastic, 0, 0, 1, 0, 3, 59, 3, 59, 4, 7, 20, 0, 2, 3, 59, 6, 59, 5, 3, 50, 3, 50, 8, 7, 0, 6, 59, 7, 59, 7, 59})
				f.Add([]byte{capacity, overflow, elastic, 0, 1, 1, 0, 8, 6, 0, 8, 6, 3, 59, 4, 8, 6, 8, 6, 5, 8, 6, 6, 1, 8, 6, 0, 2, 8, 6, 3, 30, 6, 7, 8, 6, 0, 8, 7, 8, 6, 8, 6})
				f.Add([]byte{capacity, overflow, elastic, 1, 1, 2, capacity, 0, 4, 0, 4, 0, 0, 4, 4, 1, 1, 5, 2, 5, 5, 5, 3, 30, 6, 10, 3, 30, 6, 10, 3, 30, 6, 40})
			}
		}
	}
	// Large batches in and out, twice: through many rings, and into spare ones.
	deep := slices.Repeat([]byte{3, 59}, 9)
	deep = append(deep, slices.Repeat([]byte{6, 59}, 8)...)
	deep = append(slices.Repeat(deep, 2), 4, 6, 59, 6, 59, 4, 0, 4)
	for capacity := range byte(len(capacities)) {
		for single := range byte(4) {
			for shrink := range byte(3) {
				f.Add(append([]byte{capacity, 0, 1, single & 1, single >> 1, shrink, 0}, deep...))
			}
			f.Add(append([]byte{capacity, 0, 0, single & 1, single >> 1}, deep...))
		}
	}
	// Full in bytes; then the receivers return room in parts.
	full := slices.Concat(slices.Repeat([]byte{3, 59}, 8), slices.Repeat([]byte{4, 0, 5, 3, 2, 6, 1, 0, 6, 7, 3, 9}, 30))
	for capacity := range byte(len(capacities)) {
		for _, overflow := range []byte{1, 3} {
			for _, sizes := range []byte{1, 2} {
				f.Add(slices.Concat([]byte{capacity, overflow, 1, 0, 0, 0, sizes}, full, full))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := tape(data)
		drawn := s.shape()
		if err := newReference(drawn).play(s); err != nil {
			t.Fatalf("%v: %v", drawn, err)
		}
	})
}

// TestReferenceDetectsShape: the reference detects a channel of another shape.
func TestReferenceDetectsShape(t *testing.T) {
	shapes := []shape{
		{capacity: 3},
		{capacity: 4},
		{capacity: 3, overflow: sluice.Reject},
		{capacity: 3, overflow: sluice.DropNewest},
		{capacity: 3, overflow: sluice.DropOldest},
		{capacity: 3, kind: "Elastic", sizes: true},
		{capacity: 3, kind: "Elastic", sizes: true, overflow: sluice.Reject},
	}
	const sends = "\x00\x00\x00\x00\x02\x02\x03\x03"
	for _, claimed := range shapes {
		if err := newReference(claimed).play(tape(sends)); err != nil {
			t.Errorf("%v: %v", claimed, err)
		}
		for _, actual := range shapes {
			r := newReference(actual)
			if r.shape = claimed; claimed != actual && r.play(tape(sends)) == nil {
				t.Errorf("%v is accepted as %v", actual, claimed)
			}
		}
	}
}

// withReady is a channel with another Ready.
type withReady struct {
	sluicetest.Channel[uint64]
	ready <-chan struct{}
}

func (c withReady) Ready() <-chan struct{} { return c.ready }

// TestReferenceDetectsReady: the reference detects a Ready that misses a notification
// or is closed too early.
func TestReferenceDetectsReady(t *testing.T) {
	const sendAndAwait, closeAndAwait = "\x00\x08\x06", "\x08\x07\x08\x06"
	ended := make(chan struct{})
	close(ended)
	for _, test := range []struct {
		name, steps string
		ready       <-chan struct{}
	}{
		{"silent with a value", sendAndAwait, nil},
		{"silent when closed", closeAndAwait, nil},
		{"closed with a value", sendAndAwait, ended},
	} {
		tape := tape("\x02\x00\x00\x00\x00" + test.steps)
		r := newReference(tape.shape())
		if err := r.play(tape); err != nil {
			t.Errorf("%s: with the channel's own Ready: %v", test.name, err)
		}
		r = newReference(r.shape)
		if r.c = (withReady{r.c, test.ready}); r.play(tape) == nil {
			t.Errorf("%s: no error", test.name)
		}
	}
}
