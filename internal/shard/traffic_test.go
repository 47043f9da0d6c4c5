package shard

import (
	"fmt"
	"maps"
	"runtime"
	"testing"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
)

// A channel becomes slower with more CPUs if several of them write the same cache
// line for each value. These tests count such lines on each path: they compare the
// shared state before and after some values are sent or received, and count the
// lines that two goroutines on different Ps would both have written.
//
// Slots are not counted: a slot's line moves from its sender to its receiver, with
// all of its values, and no other goroutine writes it.

// lines maps addresses of cache lines to their contents.
type lines map[uintptr][cacheLine]byte

// snap adds the cache lines of v.
func snap[V any](l lines, v *V) {
	start := uintptr(unsafe.Pointer(v)) &^ (cacheLine - 1)
	end := uintptr(unsafe.Pointer(v)) + unsafe.Sizeof(*v)
	for at := start; at < end; at += cacheLine {
		// Bytes outside of v are skipped.
		var line [cacheLine]byte
		for i := range line {
			if p := at + uintptr(i); p >= uintptr(unsafe.Pointer(v)) && p < end {
				line[i] = *(*byte)(unsafe.Add(unsafe.Pointer(v), p-uintptr(unsafe.Pointer(v))))
			}
		}
		merged := l[at]
		for i, b := range line {
			merged[i] |= b
		}
		l[at] = merged
	}
}

// state returns the state that goroutines share, without the slots.
func state(e *Engine[int]) lines {
	l := lines{}
	snap(l, e)
	s := e.set.Load()
	snap(l, s)
	for _, lane := range s.all {
		snap(l, lane)
		snap(l, lane.queue)
	}
	return l
}

// written returns the lines that f changes.
func written(e *Engine[int], f func()) map[uintptr]bool {
	before := state(e)
	f()
	changed := map[uintptr]bool{}
	for at, line := range state(e) {
		if line != before[at] {
			changed[at] = true
		}
	}
	return changed
}

func both(a, b map[uintptr]bool) int {
	c := maps.Clone(a)
	maps.DeleteFunc(c, func(at uintptr, _ bool) bool { return !b[at] })
	return len(c)
}

// few values are sent at a time, so that no hint is checked meanwhile.
const few = checkEvery / 4

func TestContendedWrites(t *testing.T) {
	e := New(engine.Config[int]{Lanes: 2, Limit: 1 << 20})
	handles := [2]*Handle[int]{e.Lane(), e.Lane()}
	defer runtime.KeepAlive(&handles)
	senders := [2]engine.Sender[int]{handles[0].Sender(), handles[1].Sender()}
	keys := [2]uint64{}
	for laneOf(keys[1], 2) == laneOf(keys[0], 2) {
		keys[1]++
	}
	// on makes the next sends without a lane use the given lane, as on a P with
	// that hint; from makes receives begin at it.
	on := func(lane uint32) {
		for i := range e.sending {
			e.sending[i].Store(lane)
		}
	}
	from := func(lane uint32) {
		for i := range e.receiving {
			e.receiving[i].Store(lane)
		}
	}
	send := func(send func() error) func() {
		return func() {
			for range few {
				must(t, send())
			}
		}
	}
	recv := func() {
		for range few {
			_, err := e.TryRecv()
			must(t, err)
		}
	}
	plain := send(func() error { return e.TrySend(1) })
	byLane := func(i int) func() { return send(func() error { return senders[i].TrySend(1) }) }
	byKey := func(i int) func() { return send(func() error { return e.SendKey(background, keys[i], 1) }) }
	run := func() {
		buf := make([]int, few)
		n, err := e.RecvBatch(background, buf)
		if must(t, err); n != few {
			t.Fatalf("a run of %d", n)
		}
	}
	// Steady state: segments are allocated, and neither side is at its bound.
	for i := range 2 {
		for range 8 {
			on(uint32(i))
			plain()
			byLane(i)()
			byKey(i)()
		}
	}
	for lane := range uint32(4) {
		from(lane)
		recv()
	}

	side := 1 // number of lines that a side writes for each value
	if unsafe.Sizeof(uintptr(0)) < 8 {
		side = 2 // the layout is for 64 bits
	}
	for _, path := range []struct {
		name         string
		setup        func(uint32) // called before one and two
		one, two     func()
		lane1, lane2 uint32
		want         int // contended lines
	}{
		{"senders with a lane each", nil, byLane(0), byLane(1), 0, 0, 0},
		{"senders on Ps with a lane each", on, plain, plain, 0, 1, 0},
		{"senders with keys of different lanes", nil, byKey(0), byKey(1), 0, 0, 0},
		{"receivers at different lanes", from, recv, recv, 0, 1, 0},
		{"receivers of runs, at different lanes", from, run, run, 2, 3, 0},
		// The lines of one side, as in a channel with one lane.
		{"senders in one lane", on, plain, plain, 0, 0, side},
		{"senders with one key", nil, byKey(0), byKey(0), 0, 0, side},
		{"receivers at one lane", from, recv, recv, 0, 0, side},
	} {
		t.Run(path.name, func(t *testing.T) {
			sides := [2]map[uintptr]bool{}
			for i, f := range []func(){path.one, path.two} {
				if path.setup != nil {
					path.setup([]uint32{path.lane1, path.lane2}[i])
				}
				sides[i] = written(e, f)
				if len(sides[i]) == 0 {
					t.Fatal("no line has changed: the test measures nothing")
				}
			}
			if got := both(sides[0], sides[1]); got > path.want || got == 0 && path.want > 0 {
				t.Errorf("%d lines are written by both, want %d", got, path.want)
			}
			t.Logf("%d contended lines of %d and %d written, for %d values", both(sides[0], sides[1]), len(sides[0]), len(sides[1]), few)
		})
	}

	// A sender and a receiver of one lane do not write the same line.
	on(0)
	from(0)
	if n := both(written(e, plain), written(e, recv)); n != 0 {
		t.Errorf("%d lines are written by the sender and the receiver of a lane", n)
	}
	from(2)
	if n := both(written(e, byLane(0)), written(e, run)); n != 0 {
		t.Errorf("%d lines are written by the handle and the receiver of a lane", n)
	}
}

// BenchmarkLines shows the effect: one goroutine per P sends, in its own lane or
// all in one.
func BenchmarkLines(b *testing.B) {
	for _, shared := range []bool{false, true} {
		b.Run(fmt.Sprintf("shared=%v", shared), func(b *testing.B) {
			e := New(engine.Config[int]{Lanes: 1, Limit: 1 << 30})
			done := make(chan struct{})
			go func() {
				defer close(done)
				buf := make([]int, 1024)
				for {
					if _, err := e.RecvBatch(background, buf); err != nil {
						return
					}
				}
			}()
			b.RunParallel(func(pb *testing.PB) {
				send := e.TrySend
				if !shared {
					h := e.Lane()
					defer h.Close()
					send = h.Sender().TrySend
				}
				for pb.Next() {
					if send(1) != nil {
						b.Error("no room")
					}
				}
			})
			e.Close()
			<-done
		})
	}
}
