package segqueue

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/suite"
)

func identity(v int) int { return v }

// metered returns an engine whose indices are about to wrap.
func metered(limit int, bytes int64) *Metered[int] {
	return newMeteredAt(engine.Config[int]{Limit: limit, Elastic: true, MaxBytes: bytes, Size: identity, Overflow: engine.Reject}, beforeWrap)
}

// heldBy returns the number of queued bytes according to Stats.
func heldBy(m *Metered[int]) int64 {
	m.Queue.Hold()
	defer m.Queue.Release()
	var in engine.Snapshot
	m.Queue.Held(0, &in)
	return in.Stats.Bytes - m.Queue.elastic.held() - m.meter.overhead()
}

// TestMeterAgainstSlice: a metered engine never exceeds its limit, accepts every
// value that is a grain below it, is exact if a grain is a byte, and is a FIFO.
func TestMeterAgainstSlice(t *testing.T) {
	const slots = 1000
	seeds := uint64(suite.Rounds(4, 20))
	for _, limit := range []int64{1, 10, 511, 5000, 1 << 20, math.MaxInt64} {
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, uint64(limit)))
			m := metered(slots, limit)
			early := max(limit/256, 1) - 1
			var model []int
			held := int64(0)
			check := func(v int, err error) {
				t.Helper()
				room := len(model) < slots
				switch {
				case err == nil && (!room || int64(v) > limit-held):
					t.Fatalf("limit %d: %d was accepted with %d in %d values", limit, v, held, len(model))
				case err == engine.ErrFull && room && held <= limit-early && int64(v) <= limit-early-held:
					t.Fatalf("limit %d: %d was rejected with %d in %d values", limit, v, held, len(model))
				case err != nil && err != engine.ErrFull:
					t.Fatal(err)
				}
			}
			for step := range 3000 {
				largest := int(min(max(limit/int64(1+rng.IntN(600)), 1), math.MaxInt))
				switch rng.IntN(4 + step/500%2) {
				case 0:
					v := rng.IntN(largest) + rng.IntN(2) // the limit itself as well
					err := m.TrySend(v)
					check(v, err)
					if err == nil {
						model, held = append(model, v), held+int64(v)
					}
				case 1:
					vs := make([]int, 1+rng.IntN(150))
					for i := range vs {
						vs[i] = rng.IntN(largest) + rng.IntN(2)
					}
					n, err := m.SendBatch(context.Background(), vs)
					if (err == nil) != (n == len(vs)) {
						t.Fatal(n, err)
					}
					for _, v := range vs[:n] {
						check(v, nil)
						model, held = append(model, v), held+int64(v)
					}
					if err != nil {
						check(vs[n], err)
					}
				default:
					buf := make([]int, 1+rng.IntN(100)*rng.IntN(2))
					n, _ := m.Queue.recvSlow(engine.NoWait{}, buf, false, new(call), nil)
					if n != min(len(buf), len(model)) {
						t.Fatalf("received %d of %d", n, len(model))
					}
					for i, v := range buf[:n] {
						if v != model[i] {
							t.Fatalf("received %d, sent %d", v, model[i])
						}
						held -= int64(v)
					}
					model = model[n:]
				}
				if marks := m.meter.marks.Len(); uint64(marks) > m.meter.limit/m.meter.grain+1 || m.meter.overhead() > 8<<10 {
					t.Fatalf("limit %d: %d marks in %d bytes", limit, marks, m.meter.overhead())
				}
				if reported := heldBy(m); reported < held || reported-held > early || len(model) == 0 && reported != 0 {
					t.Fatalf("limit %d: Stats reports %d of %d bytes", limit, reported, held)
				}
			}
		}
	}
}

// TestMeterErrors: values that are too large, and sizes below 0.
func TestMeterErrors(t *testing.T) {
	m := metered(9, 100)
	if n, err := m.SendBatch(context.Background(), []int{1, 2, 101, 3}); n != 2 || err != engine.ErrTooLarge {
		t.Errorf("a batch whose third value is too large: %d, %v", n, err)
	}
	if n, err := m.SendBatch(context.Background(), []int{60, 60, 101}); n != 1 || err != engine.ErrFull {
		t.Errorf("a batch without room for its second value, and a third that is too large: %d, %v", n, err)
	}
	few := metered(2, 100)
	ready := few.Ready()
	if n, err := few.SendBatch(context.Background(), []int{1, 2, 3}); n != 2 || err != engine.ErrFull {
		t.Errorf("a batch of three into two slots: %d, %v", n, err)
	}
	if <-ready; few.Len() != 2 {
		t.Errorf("%d queued", few.Len())
	}
	_, _ = few.TryRecv()
	_, _ = few.TryRecv()
	for len(ready) > 0 {
		<-ready
	}
	if err := few.TrySend(1); err != nil || len(ready) != 1 {
		t.Errorf("TrySend: %v; Ready has %d tokens", err, len(ready))
	}
	for _, c := range []struct {
		name string
		send func()
	}{
		{"Send", func() { _ = m.Send(context.Background(), -1) }},
		{"TrySend", func() { _ = m.TrySend(-1) }},
		{"SendBatch", func() { _, _ = m.SendBatch(context.Background(), []int{-1}) }},
	} {
		func() {
			defer func() {
				if got, want := recover(), "sluice: "+c.name+": Options.Size returned -1, below 0"; got != want {
					t.Errorf("%v, want %q", got, want)
				}
			}()
			c.send()
		}()
	}
	m.Close()
	if n, err := m.SendBatch(context.Background(), []int{101}); n != 0 || err != engine.ErrTooLarge || m.TrySend(101) != err {
		t.Errorf("a value that is too large, sent to a closed channel: %d, %v", n, err)
	}
	if err := m.TrySend(1); err != engine.ErrClosed {
		t.Error(err)
	}
	if n, err := m.SendBatch(context.Background(), []int{1}); n != 0 || err != engine.ErrClosed {
		t.Error(n, err)
	}
}

// TestMeterWakes: a sender wakes a waiting receiver, whether it records a mark or
// not.
func TestMeterWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metered(9, 1<<20)
		for _, marks := range []bool{true, false} {
			if marks != (m.meter.allowance < 5) {
				t.Fatalf("%d bytes may be sent without a mark", m.meter.allowance)
			}
			got := 0
			go func() { got, _ = m.Recv(context.Background()) }()
			synctest.Wait()
			if err := m.TrySend(5); err != nil {
				t.Fatal(err)
			}
			if synctest.Wait(); got != 5 {
				t.Errorf("with a mark to record: %v: no receiver was woken", marks)
				m.Close()
			}
		}
	})
}

// TestSizeIsCalledOnce: Size is called once for each value, even if the value is
// rejected. So the size that was checked is the size that counts.
func TestSizeIsCalledOnce(t *testing.T) {
	asked, size := 0, 0
	m := NewMetered(engine.Config[int]{Limit: 9, Elastic: true, MaxBytes: 100, Overflow: engine.Reject, Size: func(int) int {
		asked++
		size = 101 - size // alternates between too large and not
		return size
	}})
	for i, want := range []error{engine.ErrTooLarge, nil, engine.ErrTooLarge} {
		if err := m.TrySend(i); err != want || asked != i+1 || m.Len() != (i+1)/2 {
			t.Errorf("TrySend %d: %v, %d calls of Size, %d queued", i, err, asked, m.Len())
		}
	}
	if n, err := m.SendBatch(context.Background(), []int{1, 2, 3}); n != 1 || err != engine.ErrTooLarge || asked != 5 {
		t.Errorf("SendBatch: %d, %v, %d calls of Size", n, err, asked)
	}
}

// TestMeterSingleSender: a single sender has large segments like many senders,
// because it takes the lock under which receivers replace them.
func TestMeterSingleSender(t *testing.T) {
	m := NewMetered(engine.Config[int]{Limit: 1 << 20, Elastic: true, MaxBytes: 1 << 40, Size: identity, Overflow: engine.Reject, SingleSender: true})
	if n, err := m.SendBatch(context.Background(), make([]int, 100_000)); n != 100_000 || err != nil {
		t.Fatal(n, err)
	}
	if slots := len(m.Queue.send.buf); slots != largeBytes/engine.SizeOf[int]() {
		t.Errorf("a segment of %d slots", slots)
	}
}

// TestMeterAllocs: neither the fast path allocates nor the slow one, which all
// sends take once Ready was called.
func TestMeterAllocs(t *testing.T) {
	for _, readyInUse := range []bool{false, true} {
		m := metered(1000, 5000)
		if readyInUse {
			m.Ready()
		}
		vs, buf := make([]int, 100), make([]int, 1000)
		for i := range vs {
			vs[i] = 20
		}
		round := func() {
			for range 300 { // exceeds the room
				_ = m.TrySend(20)
			}
			for range 4 {
				_, _ = m.RecvBatch(context.Background(), buf[:60])
				_, _ = m.SendBatch(context.Background(), vs)
			}
			for range 250 {
				_, _ = m.TryRecv()
			}
		}
		round()
		if n := testing.AllocsPerRun(10, round); n != 0 {
			t.Errorf("Ready in use %v: %v allocations", readyInUse, n)
		}
	}
}

// TestMeterStorm: with many senders and receivers the queued bytes stay within the
// limit, no value is lost, and in the end all of the room is free.
func TestMeterStorm(t *testing.T) {
	const each, limit = 5000, 3000
	m := metered(math.MaxInt>>8, limit)
	var left, refused, received atomic.Int64
	var all sync.WaitGroup
	for s := range 4 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(s), 9))
			for range each {
				v := rng.IntN(100)
				for m.TrySend(v) != nil {
					refused.Add(1)
					if held := heldBy(m); held > limit || held < 0 {
						t.Errorf("%d bytes held", held)
					}
					runtime.Gosched()
				}
				left.Add(int64(v))
			}
		})
	}
	for range 3 {
		all.Go(func() {
			for v, err := m.Recv(context.Background()); err == nil; v, err = m.Recv(context.Background()) {
				if n := received.Add(1); n == 4*each {
					m.Close()
				}
				left.Add(-int64(v))
			}
		})
	}
	all.Wait()
	if left.Load() != 0 || heldBy(m) != 0 {
		t.Errorf("%d bytes were not received, %d are held, %d values were refused", left.Load(), heldBy(m), refused.Load())
	}
}
