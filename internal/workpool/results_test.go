package workpool

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/internal/spin"
)

const short = 20_000 // lives of boxes and windows: it is at the edges where results are lost

// TestBoxes: however putting, taking and the end fall together, each result is taken.
func TestBoxes(t *testing.T) {
	for life := range short {
		b, puts := NewBoxes[int](2), 1+life%4
		var putters sync.WaitGroup
		for worker := range 2 {
			putters.Go(func() {
				for range puts {
					b.Put(worker, 1)
				}
			})
		}
		go func() {
			putters.Wait()
			b.End()
		}()
		sum := 0
		for run := b.Take(); len(run) > 0; run = b.Take() {
			for _, u := range run {
				sum += u
			}
		}
		if sum != 2*puts {
			t.Fatalf("life %d: %d results of %d", life, sum, 2*puts)
		}
	}
}

// TestWindow: the same of a window, whose results come in order.
func TestWindow(t *testing.T) {
	for life := range short {
		w, puts := NewWindow[uint64](4), uint64(1+life%4)
		var putters sync.WaitGroup
		for worker := range uint64(2) {
			putters.Go(func() {
				for seq := worker; seq < puts; seq += 2 {
					w.Put(seq, Result[uint64]{Value: seq + 1})
				}
			})
		}
		go func() {
			putters.Wait()
			w.End()
		}()
		next := uint64(0)
		for run := w.Take(); len(run) > 0; run = w.Take() {
			for _, r := range run {
				if r.Value != next+1 {
					t.Fatalf("life %d: result %d is that of job %d", life, next, r.Value)
				}
				next++
			}
		}
		if next != puts || w.Room(puts) != 4 {
			t.Fatalf("life %d: %d results of %d, room for %d", life, next, puts, w.Room(puts))
		}
	}
}

// TestOneByOne: each result is put when the one before it was taken, at every moment of
// the consumer's way to sleep. One that is not seen then hangs.
func TestOneByOne(t *testing.T) {
	const results, moments = 30_000, 400
	b, w := NewBoxes[int](1), NewWindow[int](4)
	for name, one := range map[string]struct {
		put  func(i int)
		take func() int
	}{
		"boxes":  {func(i int) { b.Put(0, i) }, func() int { return len(b.Take()) }},
		"window": {func(i int) { w.Put(uint64(i), Result[int]{}) }, func() int { return len(w.Take()) }},
	} {
		t.Run(name, func(t *testing.T) {
			var taken atomic.Int64
			go func() {
				for i := range results {
					for taken.Load() < int64(i) {
						runtime.Gosched()
					}
					_ = spin.Delay(i % moments)
					one.put(i)
				}
			}()
			for range results {
				if n := one.take(); n != 1 {
					t.Fatalf("%d results at once", n)
				}
				taken.Add(1)
			}
		})
	}
}
