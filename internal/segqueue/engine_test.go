package segqueue

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/suite"
)

// beforeWrap is an index a few values before the indices wrap.
const beforeWrap = 1<<(64-shift) - 37

// TestAgainstSlice compares an engine with a slice after the same random steps,
// with single values and batches, across the wrap of the indices.
func TestAgainstSlice(t *testing.T) {
	configs := map[string]engine.Config[int]{
		"bounded 5":    {Limit: 5},
		"bounded 64":   {Limit: 64},
		"one to one":   {Limit: 64, SingleSender: true, SingleReceiver: true},
		"elastic":      {Limit: 5000, Elastic: true},
		"elastic 1to1": {Limit: 5000, Elastic: true, SingleSender: true, SingleReceiver: true},
		"no shrink":    {Limit: 5000, Elastic: true, Shrink: engine.NoShrink},
		"shrink empty": {Limit: 5000, Elastic: true, Shrink: engine.ShrinkEmpty},
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			e := newAt(config, beforeWrap)
			var model []int
			next := 0
			buf := make([]int, 700)
			for step := range 3000 {
				n := 1 + rng.IntN(len(buf))
				switch rng.IntN(4) {
				case 0:
					err := e.TrySend(next)
					if full := len(model) == config.Limit; full != errors.Is(err, engine.ErrFull) || !full && err != nil {
						t.Fatalf("step %d: TrySend with %d queued: %v", step, len(model), err)
					}
					if err == nil {
						model = append(model, next)
						next++
					}
				case 1:
					v, err := e.TryRecv()
					switch {
					case len(model) == 0 && !errors.Is(err, engine.ErrEmpty):
						t.Fatalf("step %d: TryRecv of an empty channel: %d, %v", step, v, err)
					case len(model) > 0 && (err != nil || v != model[0]):
						t.Fatalf("step %d: TryRecv = %d, %v, want %d", step, v, err, model[0])
					case len(model) > 0:
						model = model[1:]
					}
				case 2:
					n = min(n, config.Limit-len(model))
					if n == 0 {
						continue
					}
					for i := range n {
						buf[i] = next
						model = append(model, next)
						next++
					}
					if sent, err := e.SendBatch(context.Background(), buf[:n]); sent != n || err != nil {
						t.Fatalf("step %d: SendBatch of %d = %d, %v", step, n, sent, err)
					}
				default:
					if len(model) == 0 {
						continue
					}
					got, err := e.RecvBatch(context.Background(), buf[:n])
					if err != nil || got != min(n, len(model)) {
						t.Fatalf("step %d: RecvBatch of %d with %d queued = %d, %v", step, n, len(model), got, err)
					}
					for i, v := range buf[:got] {
						if v != model[i] {
							t.Fatalf("step %d: value %d of the batch is %d, want %d", step, i, v, model[i])
						}
					}
					model = model[got:]
				}
				if e.Len() != len(model) {
					t.Fatalf("step %d: Len = %d, want %d", step, e.Len(), len(model))
				}
				e.check(t)
			}
			if uint64(next) < 1<<(64-shift)-beforeWrap {
				t.Fatalf("only %d values: the indices never wrapped", next)
			}
		})
	}
}

// check asserts the invariants of the package comment, while no operation is in
// progress.
func (e *Engine[T]) check(t *testing.T) {
	t.Helper()
	tail, head := e.send.word.Load()&^flags, e.recv.word.Load()&^flags
	queued := (tail - head) >> shift
	if queued > e.limit {
		t.Fatalf("%d values queued, above the limit of %d", queued, e.limit)
	}
	if room := (e.send.bound - tail) >> shift; room > e.limit-queued {
		t.Fatalf("senders may fill %d slots, with %d of %d values queued", room, queued, e.limit)
	}
	if run := (e.recv.bound - head) >> shift; run > queued {
		t.Fatalf("receivers may empty %d slots of %d values", run, queued)
	}
	if free := uint64(len(e.send.seg.buf)) - min(queued, (tail-e.send.seg.base)>>shift); (e.send.bound-tail)>>shift > free {
		t.Fatalf("senders may fill %d slots of a segment with %d free", (e.send.bound-tail)>>shift, free)
	}
	total, slots := uint64(0), int64(0)
	for seg := e.recv.seg; seg != nil; seg = seg.next.Load() {
		from, to := seg.base, seg.end
		if seg.next.Load() == nil {
			to = tail
			if seg != e.send.seg {
				t.Fatal("the senders are not in the last segment")
			}
		}
		if seg == e.recv.seg && (to-head) < (to-from) {
			from = head
		}
		total += (to - from) >> shift
		slots += seg.bytes()
	}
	if total != queued {
		t.Fatalf("the segments hold %d values, %d are queued", total, queued)
	}
	if e.elastic == nil {
		return
	}
	for _, s := range []*spares[T]{&e.elastic.small, &e.elastic.large} {
		n := int32(0)
		for seg := s.first; seg != nil; seg = seg.next.Load() {
			slots += seg.bytes()
			n++
		}
		if n != s.n.Load() {
			t.Fatalf("%d spare segments, counted as %d", n, s.n.Load())
		}
	}
	if slots != e.elastic.held() {
		t.Fatalf("the segments have %d bytes, counted as %d", slots, e.elastic.held())
	}
}

// TestMemory: a queue whose length oscillates does not allocate, whatever its
// length, and the memory of a burst is freed.
func TestMemory(t *testing.T) {
	e := New(engine.Config[int]{Limit: math.MaxInt, Elastic: true})
	ctx := context.Background()
	fill := func(n int) {
		for range n {
			_ = e.Send(ctx, 1)
		}
	}
	drain := func(n int) {
		for range n {
			_, _ = e.Recv(ctx)
		}
	}
	for _, level := range []int{1, 16, 128, 144, 1024, 1168, 5000, 100_000} {
		fill(level - e.Len())
		oscillate := func() { fill(100); drain(200); fill(100) }
		if level < 100 {
			oscillate = func() { fill(100); drain(100) }
		}
		oscillate()
		if n := testing.AllocsPerRun(50, oscillate); n != 0 {
			t.Errorf("an oscillation of 100 around %d allocates %v times", level, n)
		}
	}
	if perItem := float64(e.Stats().Bytes) / float64(e.Len()); perItem > 0.5+float64(engine.SizeOf[int]()) {
		t.Errorf("%.2f bytes held for each queued int", perItem)
	}
	drain(e.Len())
	if held := e.Stats().Bytes; held > 4096 {
		t.Errorf("%d bytes held after the drain", held)
	}
	e.check(t)
}

// TestDrained: at most 4 KiB remain, in whatever way the last value is received.
func TestDrained(t *testing.T) {
	step := suite.Rounds(488, 61)
	for _, shrink := range []engine.Shrink{engine.ShrinkHalf, engine.ShrinkEmpty} {
		for single := range 4 {
			for n := 1; n < 4000; n += step {
				e := New(engine.Config[int]{
					Limit: math.MaxInt, Elastic: true, Shrink: shrink,
					SingleSender: single&1 != 0, SingleReceiver: single&2 != 0,
				})
				for range 3 {
					for range n {
						_ = e.TrySend(1)
					}
					for range n {
						_, _ = e.TryRecv()
					}
				}
				if held := e.Stats().Bytes; held > 4096 {
					t.Fatalf("shrink mode %d, single %d: %d bytes held after %d values", shrink, single, held, n)
				}
				e.check(t)
			}
		}
	}
}

func TestShrinkModes(t *testing.T) {
	const first = 200 // the first segment is dropped in every mode
	for shrink, check := range map[engine.Shrink]func(deep, half, empty int64) bool{
		engine.ShrinkHalf:  func(deep, half, empty int64) bool { return half < deep && empty <= 4096 },
		engine.ShrinkEmpty: func(deep, half, empty int64) bool { return half > deep-first && empty <= 4096 },
		engine.NoShrink:    func(deep, half, empty int64) bool { return half > deep-first && empty == half },
	} {
		e := New(engine.Config[int]{Limit: math.MaxInt, Elastic: true, Shrink: shrink})
		buf := make([]int, 50_000)
		_, _ = e.SendBatch(context.Background(), buf)
		deep := e.Stats().Bytes
		_, _ = e.RecvBatch(context.Background(), buf[:40_000])
		half := e.Stats().Bytes
		_, _ = e.RecvBatch(context.Background(), buf)
		_, _ = e.TryRecv()
		if empty := e.Stats().Bytes; !check(deep, half, empty) {
			t.Errorf("shrink mode %d: %d bytes when full, %d with a fifth left, %d when empty", shrink, deep, half, empty)
		}
	}
}

func TestHighWater(t *testing.T) {
	for _, elastic := range []bool{false, true} {
		e := New(engine.Config[int]{Limit: 5000, Elastic: elastic})
		for _, n := range []int{1, 10, 100, 99, 5000, 3} {
			want := max(n, e.Stats().HighWater)
			for range n {
				_ = e.TrySend(1)
			}
			for range n {
				_, _ = e.TryRecv()
			}
			if got := e.Stats().HighWater; got != want {
				t.Errorf("elastic %v: HighWater = %d after %d were queued, want %d", elastic, got, n, want)
			}
		}
	}
}

// TestDropOldest has many senders share two slots: every value is received or
// dropped once, and Len never exceeds the capacity.
func TestDropOldest(t *testing.T) {
	const senders, each = 4, 5000
	var mu sync.Mutex
	seen := make([]int, senders*each)
	count := func(v int) {
		mu.Lock()
		seen[v]++
		mu.Unlock()
	}
	e := New(engine.Config[int]{Limit: 2, Overflow: engine.DropOldest, OnDrop: count})
	_ = e.TrySend(0)
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				if v := s*each + i; v > 0 {
					_ = e.Send(context.Background(), v)
				}
				if n := e.Len(); n < 0 || n > 2 {
					t.Errorf("Len = %d", n)
				}
			}
		})
	}
	wg.Go(func() {
		for range each {
			if v, err := e.TryRecv(); err == nil {
				count(v)
			}
		}
	})
	wg.Wait()
	e.Close()
	for v, err := e.Recv(context.Background()); err == nil; v, err = e.Recv(context.Background()) {
		count(v)
	}
	for v, n := range seen {
		if n != 1 {
			t.Fatalf("value %d was received or dropped %d times", v, n)
		}
	}
	if s := e.Stats(); s.Sent != senders*each || s.Received+s.Dropped != s.Sent {
		t.Errorf("sent %d, received %d, dropped %d", s.Sent, s.Received, s.Dropped)
	}
}

// TestDropOldestRescues: a send that would drop the oldest value gives it to a
// starving receiver.
func TestDropOldestRescues(t *testing.T) {
	e := New(engine.Config[int]{Limit: 1, Overflow: engine.DropOldest, OnDrop: func(v int) {
		t.Errorf("%d was dropped although a receiver starves", v)
	}})
	starved := aboutToStarve()
	r := &e.recv
	r.unlock(r.recordLoss(&starved, r.lock(), nil))
	for v := range 2 {
		if err := e.Send(context.Background(), v); err != nil {
			t.Fatal(err)
		}
	}
	if !r.takeRescued(&starved) || *r.rescue != 0 || e.Len() != 1 {
		t.Errorf("a starving receiver did not get 0; %d queued", e.Len())
	}
}
