package workpool

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/internal/spin"
)

const short = 20_000 // lives of stores: results are lost at the edges

// TestUnordered: however Put, TakeRun and End overlap, each result is taken.
func TestUnordered(t *testing.T) {
	for life := range short {
		puts := 1 + life%4
		b, o := NewUnordered[int](2)
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
		for run := o.TakeRun(nil); len(run) > 0; run = o.TakeRun(run) {
			for _, u := range run {
				sum += u
			}
		}
		if sum != 2*puts {
			t.Fatalf("life %d: %d results of %d", life, sum, 2*puts)
		}
	}
}

// TestOrdered: the same in order.
func TestOrdered(t *testing.T) {
	for life := range short {
		puts := uint64(1 + life%4)
		w, o := NewOrdered[uint64](4)
		var putters sync.WaitGroup
		for worker := range uint64(2) {
			putters.Go(func() {
				for seq := worker; seq < puts; seq += 2 {
					w.Put(seq, seq+1, nil)
				}
			})
		}
		go func() {
			putters.Wait()
			w.End()
		}()
		next := uint64(0)
		for run := o.TakeRun(nil); len(run) > 0; run = o.TakeRun(run) {
			for _, r := range run {
				if r != next+1 {
					t.Fatalf("life %d: result %d has the value of job %d", life, next, r)
				}
				next++
			}
		}
		if next != puts || w.Room(puts) != 4 {
			t.Fatalf("life %d: %d results of %d, room for %d", life, next, puts, w.Room(puts))
		}
	}
}

// TestOneByOne: each result is put after the previous one was taken, at every moment of
// the receiver's way to park. A lost wake-up hangs.
func TestOneByOne(t *testing.T) {
	const results, moments = 30_000, 400
	b, fromB := NewUnordered[int](1)
	w, fromW := NewOrdered[int](4)
	for name, one := range map[string]struct {
		put  func(i int)
		take func() int
	}{
		"unordered": {func(i int) { b.Put(0, i) }, func() int { return len(fromB.TakeRun(nil)) }},
		"ordered":   {func(i int) { w.Put(uint64(i), 0, nil) }, func() int { return len(fromW.TakeRun(nil)) }},
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

// TestManyReceivers: several receivers, of which some give up, receive each result once,
// whatever moment a receiver gives up at. A lost wake-up hangs.
func TestManyReceivers(t *testing.T) {
	const results = 6000
	u, fromU := NewUnordered[int](2)
	w, fromW := NewOrdered[int](8)
	for name, one := range map[string]struct {
		put    func(i int)
		outlet *Outlet[int]
		end    func()
	}{
		"unordered": {func(i int) { u.Put(i%2, i) }, fromU, u.End},
		"ordered":   {func(i int) { w.Put(uint64(i), i, nil) }, fromW, w.End},
	} {
		t.Run(name, func(t *testing.T) {
			fates := make([]atomic.Int32, results)
			var received atomic.Int64
			var receivers sync.WaitGroup
			for r := range 4 {
				receivers.Go(func() {
					buf := make([]int, 1+r%2)
					for turn := 0; ; turn++ {
						done := make(chan struct{})
						if r == 0 && turn < 2*results { // gives up; on one CPU very often
							go func() {
								_ = spin.Delay(turn % 3000)
								close(done)
							}()
						}
						n, ended := one.outlet.Recv(done, buf)
						for _, i := range buf[:n] {
							fates[i].Add(1)
						}
						received.Add(int64(n))
						if n == 0 && ended {
							return
						}
					}
				})
			}
			for i := range results {
				for received.Load() < int64(i)-3 { // most of the receivers wait
					runtime.Gosched()
				}
				one.put(i)
			}
			for received.Load() < results {
				runtime.Gosched()
			}
			one.end()
			receivers.Wait()
			for i := range fates {
				if n := fates[i].Load(); n != 1 {
					t.Fatalf("result %d was received %d times", i, n)
				}
			}
		})
	}
}
