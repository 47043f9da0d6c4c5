package crew

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A board finds each part whose bit is up, once, and begins where it is told to.
func TestBoard(t *testing.T) {
	for _, parts := range []int{1, 2, 63, 64, 65, 200} {
		b := newBoard(parts)
		up := []int{}
		for part := 0; part < parts; part += 1 + part%5 {
			b.raise(part)
			b.raise(part)
			up = append(up, part)
		}
		for first := range parts {
			var seen []int
			b.each(first, func(part int) bool { seen = append(seen, part); return false })
			if i, _ := slices.BinarySearch(up, first); !slices.Equal(seen, append(slices.Clone(up[i:]), up[:i]...)) {
				t.Fatalf("%d parts, from %d on: %v, but %v are up", parts, first, seen, up)
			}
		}
		for _, part := range up {
			b.lower(part)
		}
		if b.each(0, func(int) bool { return true }) {
			t.Fatalf("%d parts: something is up after all were lowered", parts)
		}
	}
}

// One owner and two thieves get each job once, over many refills, and leave
// nothing in the slots.
func TestHand(t *testing.T) {
	const rounds, size = 3000, 40
	var h hand[int]
	fates := make([]atomic.Int32, rounds*size)
	var all sync.WaitGroup
	var over atomic.Bool
	for range 2 {
		all.Go(func() {
			into := make([]int, size)
			for !over.Load() {
				n, base := h.steal(into)
				for i, job := range into[:n] {
					if job != int(base)+i {
						t.Errorf("job %d was stolen as number %d", job, int(base)+i)
					}
					fates[job-1].Add(1)
				}
				runtime.Gosched()
			}
		})
	}
	for round := range rounds {
		n := 1 + round%size
		slots := h.room(n)
		for i, left := range slots {
			if left != 0 {
				t.Fatalf("slot %d still holds job %d", i, left)
			}
			slots[i] = round*size + i + 1
		}
		h.base = uint64(round*size + 1)
		h.publish(n, 0)
		for slot, ok := 0, true; ok; slot, ok = h.claim() {
			fates[h.take(slot)-1].Add(1)
		}
	}
	over.Store(true)
	all.Wait()
	for round := range rounds {
		for i := range 1 + round%size {
			if n := fates[round*size+i].Load(); n != 1 {
				t.Fatalf("job %d of round %d was run %d times", i, round, n)
			}
		}
	}
}

func TestGauge(t *testing.T) {
	g := newGauge(0.01, time.Millisecond, 256)
	expect := func(want int, when string) {
		t.Helper()
		if got := g.size(); got != want {
			t.Errorf("%s it takes %d jobs, not %d", when, got, want)
		}
	}
	settle := func(each int64, handOver int64) {
		for range 200 {
			n := g.size()
			g.ran(each*int64(n), n)
			g.took(handOver)
		}
	}
	expect(1, "at first")
	g.ran(100, 1)
	expect(2, "after one quick job")
	g.ran(200, 2)
	expect(4, "after two batches")
	settle(100, 150)
	expect(150, "with jobs of 100 ns")
	settle(1000, 150)
	expect(16, "with jobs of 1 µs")
	g.ran(16_000_000, 16) // one of them took 16 ms
	expect(1, "after a slow one")
	settle(1000, 0)
	expect(5, "with the cheapest hand-over")
	settle(10, 150)
	expect(256, "with the shortest jobs")
	g.took(1_000_000_000) // off its processor
	if g.handOver > 200 {
		t.Errorf("one hand-over that took a second makes it %v ns", g.handOver)
	}
	settle(400_000, 20_000)
	expect(2, "with jobs of 0.4 ms that cost much to hand over, and must not be held for more than 1 ms")
	settle(2_000_000, 150)
	expect(1, "with jobs of 2 ms")
}

// The leader is interrupted when a worker that came by has taken what it waits for.
func TestLeaderIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leadership{Context: t.Context(), ended: make(chan struct{})}
		c := New(Config[int]{Workers: 2})
		c.leader.Store(l)
		w := &c.workers[0]
		w.hand.room(3)
		w.got(1, 0)
		if c.share(); l.Err() != nil {
			t.Error("interrupted though there is no surplus")
		}
		w.got(3, 0)
		c.share()
		c.share()
		if <-l.Done(); l.Err() != context.Canceled {
			t.Error("not interrupted")
		}
		c.leader.Store(&c.brief)
		c.share() // of a leader that does not wait
		c.leader.Store(nil)
		c.share()
	})
}

// A follower is woken rather than the leader, and whoever was woken wakes the next.
func TestShareWakesOneFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config[int]{Workers: 4})
		l := &leadership{Context: t.Context(), ended: make(chan struct{})}
		c.leader.Store(l)
		back := 0
		for i := 1; i < 4; i++ {
			go func() {
				c.workers[i].follow()
				back++
			}()
		}
		synctest.Wait()
		if c.share(); !c.line.Waiting() {
			t.Fatal("a follower is woken without surplus")
		}
		w := &c.workers[0]
		w.hand.room(10)
		w.got(10, 0)
		for want := 1; want < 4; want++ {
			c.share()
			c.share()
			if synctest.Wait(); back != want || l.Err() != nil {
				t.Fatalf("%d followers are back, not %d; leader: %v", back, want, l.Err())
			}
		}
		c.share()
		if l.Err() == nil {
			t.Error("without followers the leader is not interrupted")
		}
	})
}
