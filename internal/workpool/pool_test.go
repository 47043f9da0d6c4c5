package workpool

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

// TestBitmap: each visits the workers whose bit is set, once, starting at first.
func TestBitmap(t *testing.T) {
	for _, parts := range []int{1, 2, 63, 64, 65, 200} {
		b := newBitmap(parts)
		up := []int{}
		for part := 0; part < parts; part += 1 + part%5 {
			b.set(part)
			b.set(part)
			up = append(up, part)
		}
		for first := range parts {
			var seen []int
			b.each(first, func(part int) bool { seen = append(seen, part); return false })
			if i, _ := slices.BinarySearch(up, first); !slices.Equal(seen, append(slices.Clone(up[i:]), up[:i]...)) {
				t.Fatalf("%d workers, from %d on: %v, want %v", parts, first, seen, up)
			}
		}
		for _, part := range up {
			b.clear(part)
		}
		if b.each(0, func(int) bool { return true }) {
			t.Fatalf("%d workers: a bit is set after all were cleared", parts)
		}
	}
}

// TestQueue: an owner and two thieves claim each job once, over many refills, and leave
// empty slots.
func TestQueue(t *testing.T) {
	const rounds, size = 3000, 40
	var q localQueue[int]
	fates := make([]atomic.Int32, rounds*size)
	var all sync.WaitGroup
	var over atomic.Bool
	for range 2 {
		all.Go(func() {
			into := make([]int, size)
			for !over.Load() {
				n, base := q.steal(into)
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
		slots := q.slots(n)
		for i, left := range slots {
			if left != 0 {
				t.Fatalf("slot %d still holds job %d", i, left)
			}
			slots[i] = round*size + i + 1
		}
		q.base = uint64(round*size + 1)
		q.publish(n, 0)
		for slot, span, ok := 0, q.span.Load(), true; ok; slot, span, ok = q.claim(span) {
			fates[q.take(slot)-1].Add(1)
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

// TestQueueAfterTheft: a stolen job leaves an empty slot, and a refill waits for a thief
// that is still copying.
func TestQueueAfterTheft(t *testing.T) {
	var q localQueue[int]
	slots := q.slots(10)
	for i := range slots {
		slots[i] = 100 + i
	}
	q.base = 100
	q.publish(10, 0)
	into := make([]int, 10)
	if n, base := q.steal(into); n != 5 || base != 105 || !slices.Equal(into[:n], []int{105, 106, 107, 108, 109}) {
		t.Errorf("stole %v, from number %d on", into[:n], base)
	}
	if n, base := q.steal(into[:1]); n != 1 || base != 104 || into[0] != 104 {
		t.Errorf("stole %v, from number %d on", into[:n], base)
	}
	if !slices.Equal(slots[4:], make([]int, 6)) {
		t.Errorf("stolen jobs are still in the slots: %v", slots)
	}
	for _, span, ok := q.claim(q.span.Load()); ok; {
		_, span, ok = q.claim(span)
	}
	q.lock.Lock() // as a thief does
	var refilling atomic.Bool
	go func() {
		q.slots(10)
		refilling.Store(true)
	}()
	for range 1000 {
		if runtime.Gosched(); refilling.Load() {
			t.Fatal("refilled while a thief was copying")
		}
	}
	q.lock.Unlock()
	for !refilling.Load() {
		runtime.Gosched()
	}
}

func TestSizer(t *testing.T) {
	s := newSizer(0.01, time.Millisecond, 256)
	expect := func(want int, when string) {
		t.Helper()
		if got := s.size(); got != want {
			t.Errorf("%s the size is %d, want %d", when, got, want)
		}
	}
	settle := func(each int64, transfer int64) {
		for range 200 {
			n := s.size()
			s.recordBatch(each*int64(n), n)
			s.recordTransfer(transfer)
		}
	}
	expect(1, "at first")
	s.recordBatch(100, 1)
	expect(2, "after one quick job")
	s.recordBatch(200, 2)
	expect(4, "after two batches")
	settle(100, 150)
	expect(150, "with jobs of 100 ns")
	settle(1000, 150)
	expect(15, "with jobs of 1 µs")
	s.recordBatch(16_000_000, 15) // one of them took 16 ms
	expect(1, "after a slow one")
	settle(1000, 0)
	expect(5, "with the cheapest transfer")
	settle(10, 150)
	expect(256, "with the shortest jobs")
	s.recordTransfer(1_000_000_000) // the worker was descheduled
	if s.transfer > 200 {
		t.Errorf("one transfer of a second makes the cost %v ns", s.transfer)
	}
	settle(1000, 100_000)
	s.recordBatch(256*32_000, 256)
	expect(31, "after a slow batch, although large ones would pay")
	settle(400_000, 20_000)
	expect(2, "with jobs of 0.4 ms, an expensive transfer and a maximum delay of 1 ms")
	settle(2_000_000, 150)
	expect(1, "with jobs of 2 ms")
}

// TestLeaderIsInterrupted: surplus interrupts the leader if no worker follows.
func TestLeaderIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leadership{Context: t.Context(), ended: make(chan struct{})}
		p := started(New(Config[int]{Workers: 2}))
		p.leader.Store(l)
		w := &p.workers[0]
		w.queue.slots(3)
		w.got(1, 0)
		if p.wakeIfUseful(); l.Err() != nil {
			t.Error("interrupted though there is no surplus")
		}
		w.got(3, 0)
		p.wakeIfUseful()
		p.wakeIfUseful()
		if <-l.Done(); l.Err() != context.Canceled {
			t.Error("not interrupted")
		}
		p.leader.Store(&p.brief)
		p.wakeIfUseful() // the leader does not wait
		p.leader.Store(nil)
		p.wakeIfUseful()
	})
}

// TestShareWakesOneFollower: surplus wakes a follower, not the leader, and the follower
// wakes the next one.
func TestShareWakesOneFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := started(New(Config[int]{Workers: 4}))
		l := &leadership{Context: t.Context(), ended: make(chan struct{})}
		p.leader.Store(l)
		var back atomic.Int32
		for i := 1; i < 4; i++ {
			go func() {
				p.workers[i].follow()
				back.Add(1)
			}()
		}
		synctest.Wait()
		if p.wakeIfUseful(); !p.followers.Waiting() {
			t.Fatal("a follower is woken without surplus")
		}
		w := &p.workers[0]
		w.queue.slots(10)
		w.got(10, 0)
		for want := int32(1); want < 4; want++ {
			// One call: before a second one, the follower may be back, and then that one
			// wakes the next. That a wake-up on its way is the only one is for waitq to test.
			p.wakeIfUseful()
			if synctest.Wait(); back.Load() != want || l.Err() != nil {
				t.Fatalf("%d followers are back, want %d; leader: %v", back.Load(), want, l.Err())
			}
		}
		p.wakeIfUseful()
		if l.Err() == nil {
			t.Error("without followers the leader is not interrupted")
		}
	})
}

// hook is a source that calls f.
type hook func(ctx context.Context) (int, error)

func (f hook) RecvBatch(ctx context.Context, _ []int) (int, error) { return f(ctx) }

// TestLeaderLooksAgain: a worker that is about to lead checks for surplus once more,
// since surplus may have been published while no leader could be interrupted.
func TestLeaderLooksAgain(t *testing.T) {
	p := New(Config[int]{Workers: 2, Context: t.Context(), Source: hook(func(context.Context) (int, error) {
		t.Error("waits in the source despite surplus")
		return 0, context.Canceled
	})})
	published := false
	p.Room = func(uint64) int { // asked before it leads
		if !published {
			published = true
			other := &p.workers[1]
			other.queue.slots(2)
			other.got(2, 0)
			p.wakeIfUseful()
		}
		return 1
	}
	if found, led := p.workers[0].leads(); found || !led || p.leader.Load() != nil {
		t.Errorf("found %v, led %v", found, led)
	}
}

// TestHiddenSurplus: surplus whose bit is clear is hidden from the worker that publishes
// it, as it looks for a worker to wake, and from a worker that becomes idle. The worker
// that cleared the bit sets it again and wakes a follower, or the leader.
func TestHiddenSurplus(t *testing.T) {
	for _, followers := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			p := started(New(Config[int]{Workers: 3}))
			l := &leadership{Context: t.Context(), ended: make(chan struct{})}
			p.leader.Store(l)
			back := 0
			follow := func() {
				for i := range followers {
					go func() {
						p.workers[1+i].follow()
						back++
					}()
				}
				synctest.Wait()
			}
			defer func() { p.followers.WakeAll(); synctest.Wait() }()
			owner := &p.workers[0]
			p.stealable.set(0) // by an earlier batch
			if owner.queue.surplus() > 0 {
				t.Fatal("surplus at first")
			}
			// Another worker has seen that, and is about to clear the bit.
			owner.queue.slots(3)
			owner.got(3, 0) // finds the bit set
			p.stealable.clear(0)
			owner.pool.wakeIfUseful()
			follow()
			if back != 0 || l.Err() != nil {
				t.Fatal("hidden surplus was seen: the test is void")
			}
			if !p.refilled(0) || !p.hasSurplus() {
				t.Error("the queue was refilled, and its surplus is still hidden")
			}
			synctest.Wait()
			if back != followers || (l.Err() != nil) != (followers == 0) {
				t.Errorf("%d of %d followers are back; leader: %v", back, followers, l.Err())
			}
		})
	}
}

// TestNoSurplusToHide: a queue that stays empty wakes no worker, and its bit stays clear.
func TestNoSurplusToHide(t *testing.T) {
	p := started(New(Config[int]{Workers: 2}))
	l := &leadership{Context: t.Context(), ended: make(chan struct{})}
	p.leader.Store(l)
	p.stealable.set(0)
	if p.surplus(0) || p.stealable.each(0, func(int) bool { return true }) || l.Err() != nil {
		t.Errorf("an empty queue: leader %v", l.Err())
	}
}

// TestBitmapMissesNoQueue: however publishing and checking overlap, the bit of a queue
// with surplus is set after both.
func TestBitmapMissesNoQueue(t *testing.T) {
	p := New(Config[int]{Workers: 1})
	w := &p.workers[0]
	w.queue.slots(2)
	var round, looked atomic.Int64
	const rounds = 20_000
	go func() {
		for i := int64(1); i <= rounds; i++ {
			for round.Load() < i {
				runtime.Gosched()
			}
			p.surplus(0)
			looked.Store(i)
		}
	}()
	for i := int64(1); i <= rounds; i++ {
		round.Store(i)
		for range i % 64 {
			_ = p.closed.Load() // some nanoseconds
		}
		w.got(2, 0)
		for looked.Load() < i {
			runtime.Gosched()
		}
		if !p.hasSurplus() {
			t.Fatalf("round %d: surplus is hidden", i)
		}
		w.queue.claim(w.queue.span.Load())
	}
}
