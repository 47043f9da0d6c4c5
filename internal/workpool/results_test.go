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
		o := NewOutlet[int](2, 0)
		var putters sync.WaitGroup
		for worker := range 2 {
			putters.Go(func() {
				for range puts {
					o.Put(worker, 0, 1)
				}
			})
		}
		go func() {
			putters.Wait()
			o.End()
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
		o := NewOutlet[uint64](2, 4)
		var putters sync.WaitGroup
		for worker := range uint64(2) {
			putters.Go(func() {
				for seq := worker; seq < puts; seq += 2 {
					o.Put(0, seq, seq+1)
				}
			})
		}
		go func() {
			putters.Wait()
			o.End()
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
		if next != puts || o.window.room(puts) != 4 {
			t.Fatalf("life %d: %d results of %d, room for %d", life, next, puts, o.window.room(puts))
		}
	}
}

// TestOneByOne: each result is put after the previous one was taken, at every moment of
// the receiver's way to park. A lost wake-up hangs.
func TestOneByOne(t *testing.T) {
	const results, moments = 30_000, 400
	b, w := NewOutlet[int](1, 0), NewOutlet[int](1, 4)
	for name, one := range map[string]struct {
		put  func(i int)
		take func() int
	}{
		"unordered": {func(i int) { b.Put(0, 0, i) }, func() int { return len(b.TakeRun(nil)) }},
		"ordered":   {func(i int) { w.Put(0, uint64(i), 0) }, func() int { return len(w.TakeRun(nil)) }},
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
	u, w := NewOutlet[int](2, 0), NewOutlet[int](1, 8)
	for name, one := range map[string]struct {
		put    func(i int)
		outlet *Outlet[int]
		end    func()
	}{
		"unordered": {func(i int) { u.Put(i%2, 0, i) }, u, u.End},
		"ordered":   {func(i int) { w.Put(0, uint64(i), i) }, w, w.End},
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

// TestOrderedGrows: a store of the greatest width takes memory for the results that wait, and no more,
// however many there were before.
func TestOrderedGrows(t *testing.T) {
	const width = 1 << 30
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o := NewOutlet[int](1, width)
	w := o.window
	blocks := 4
	var run []int
	for seq := uint64(0); seq < uint64(blocks)*w.size; {
		for range maxRun {
			o.Put(0, seq, int(seq))
			seq++
		}
		if run = o.TakeRun(run); len(run) != maxRun || uint64(run[0]) != seq-maxRun {
			t.Fatalf("before %d: %d results from %d", seq, len(run), run[0])
		}
	}
	runtime.ReadMemStats(&after)
	if used, most := after.TotalAlloc-before.TotalAlloc, uint64(6<<20); used > most { // two blocks of 1.25 MiB, and 0.5 MiB for their places
		t.Errorf("allocated %d bytes in all, want at most %d", used, most)
	}
	if room := w.room(uint64(blocks) * w.size); room != width {
		t.Errorf("room for %d jobs, want %d", room, width)
	}
}

// TestOrderedBlocks: widths beside a power of two and beside a number of blocks, with the first job the
// last to be done: no two results share a slot.
func TestOrderedBlocks(t *testing.T) {
	for _, width := range []int{1, 1023, 1024, 1025, 2047, 2048, 2049, 5000} {
		o := NewOutlet[uint64](1, width)
		w := o.window
		next, put := uint64(0), uint64(0)
		for round := range 4 {
			first := put
			for put++; w.room(put) > 0; put++ {
				o.Put(0, put, put)
			}
			if n, _ := o.TryRecv(make([]uint64, 1)); n != 0 {
				t.Fatalf("width %d: received before job %d was done", width, first)
			}
			o.Put(0, first, first)
			for left := width - round*width/7; left > 0; left-- { // then base is anywhere in a block
				run := make([]uint64, 1)
				if n, _ := o.TryRecv(run); n != 1 || run[0] != next {
					t.Fatalf("width %d: received %d, %d, want %d", width, n, run[0], next)
				}
				next++
			}
			for { // so that the next round begins with a job that is not done
				run := make([]uint64, 1)
				if n, _ := o.TryRecv(run); n == 0 {
					break
				} else if run[0] != next {
					t.Fatalf("width %d: received %d, want %d", width, run[0], next)
				}
				next++
			}
			if next != put {
				t.Fatalf("width %d: received %d of %d", width, next, put)
			}
		}
	}
}
