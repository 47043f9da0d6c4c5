package spill

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
)

// onDisk returns an Elastic with room for 3 values in memory and 2 on disk, and a
// Durable with room for 4 values.
func onDisk(t *testing.T) (*Elastic[uint64], *Durable[uint64]) {
	t.Helper()
	e := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 3 * 8, DiskLimit: 2 * (8 + header), Codec: fixed{}})
	d := durableOn(newMemoryStore(), &DurableOptions[uint64]{DiskLimit: 4 * (8 + recordCost), Codec: fixed{}})
	return e, d
}

// TestSelectRecv: a Select over an Elastic, a Durable and a Bounded receives from the
// channel that gets a value, whether the value is there before the Select or comes while
// it waits.
func TestSelectRecv(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			e, d := onDisk(t)
			b := sluice.NewBounded[uint64](4, nil)
			fromE, fromD, fromB := sluice.OnRecv(e), sluice.OnRecv(d), sluice.OnRecv(b)
			for i := range uint64(30) {
				s, want := []sluice.Sender[uint64]{e, d, b}[i%3], []sluice.Case{fromE, fromD, fromB}[i%3]
				send := func() {
					if err := s.TrySend(i); err != nil {
						t.Error(err)
					}
				}
				if waits {
					go func() {
						synctest.Wait()
						send()
					}()
				} else {
					send()
				}
				chosen, err := sluice.Select(ctx, fromE, fromD, fromB)
				if chosen != want || err != nil {
					t.Fatalf("value %d: %T, %v", i, chosen, err)
				}
				var v uint64
				switch chosen {
				case fromE:
					v = fromE.Value
				case fromB:
					v = fromB.Value
				case fromD:
					v = fromD.Value.Value
					if err := fromD.Value.Ack(); err != nil {
						t.Error(err)
					}
				}
				if v != i {
					t.Fatalf("received %d, want %d", v, i)
				}
			}
			e.Close()
			if chosen, err := sluice.Select(ctx, fromE); chosen != fromE || err != sluice.ErrClosed {
				t.Error("a closed Elastic:", err)
			}
			d.Close()
			if chosen, err := sluice.Select(ctx, fromD); chosen != fromD || err != sluice.ErrClosed {
				t.Error("a closed Durable:", err)
			}
		})
	}
}

// TestSelectSend: a Select that finds no room anywhere waits until one of the channels
// has room, and sends its value there alone.
func TestSelectSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		e, d := onDisk(t)
		b := sluice.NewBounded[uint64](4, nil)
		for _, s := range []sluice.Sender[uint64]{e, d, b} {
			for s.TrySend(0) == nil {
			}
		}
		toE, toD, toB := sluice.OnSend(e, 1), sluice.OnSend(d, 1), sluice.OnSend(b, 1)
		timeout, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if chosen, err := sluice.Select(timeout, toE, toD, toB); chosen != nil || err != context.DeadlineExceeded {
			t.Fatal("full channels:", chosen, err)
		}
		acked := d.AutoAck()
		for i := range 30 {
			r, want := []sluice.Receiver[uint64]{e, acked, b}[i%3], []sluice.Case{toE, toD, toB}[i%3]
			go func() {
				synctest.Wait()
				if _, err := r.TryRecv(); err != nil {
					t.Error(err)
				}
			}()
			if chosen, err := sluice.Select(ctx, toE, toD, toB); chosen != want || err != nil {
				t.Fatalf("send %d: %T, %v", i, chosen, err)
			}
			if e.Len() != 5 || d.Len() != 4 || b.Len() != 4 {
				t.Fatalf("%d, %d and %d values queued", e.Len(), d.Len(), b.Len())
			}
		}
	})
}

// TestSelectFlow: goroutines that send and receive by Select alone, on all channels at
// once, pass on every value exactly once.
func TestSelectFlow(t *testing.T) {
	const senders, each = 4, 300
	ctx := context.Background()
	e, d := onDisk(t)
	b := sluice.NewBounded[uint64](4, nil)
	var sending, receiving sync.WaitGroup
	for s := range uint64(senders) {
		sending.Go(func() {
			toE, toD, toB := sluice.OnSend(e, 0), sluice.OnSend(d, 0), sluice.OnSend(b, 0)
			for i := range uint64(each) {
				v := s*each + i
				toE.Value, toD.Value, toB.Value = v, v, v
				if _, err := sluice.Select(ctx, toE, toD, toB); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var mu sync.Mutex
	seen := map[uint64]int{}
	for range 4 {
		receiving.Go(func() {
			fromE, fromD, fromB := sluice.OnRecv(e), sluice.OnRecv(d), sluice.OnRecv(b)
			open := map[sluice.Case]bool{fromE: true, fromD: true, fromB: true}
			for len(open) > 0 {
				var cases []sluice.Case
				for c := range open {
					cases = append(cases, c)
				}
				chosen, err := sluice.Select(ctx, cases...)
				if err != nil {
					if err != sluice.ErrClosed {
						t.Error(err)
					}
					delete(open, chosen)
					continue
				}
				var v uint64
				switch chosen {
				case fromE:
					v = fromE.Value
				case fromB:
					v = fromB.Value
				case fromD:
					v = fromD.Value.Value
					if err := fromD.Value.Ack(); err != nil {
						t.Error(err)
					}
				}
				mu.Lock()
				seen[v]++
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	e.Close()
	d.Close()
	b.Close()
	receiving.Wait()
	if len(seen) != senders*each {
		t.Errorf("%d of %d values were received", len(seen), senders*each)
	}
	for v, n := range seen {
		if n != 1 {
			t.Errorf("value %d was received %d times", v, n)
		}
	}
}

// TestFan: fan.In takes channels on disk, on both sides.
func TestFan(t *testing.T) {
	const n = 200
	ctx := context.Background()
	e, d := onDisk(t)
	all := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 5 * 8, Codec: fixed{}})
	var stages sync.WaitGroup
	for i, s := range []sluice.Sender[uint64]{e, d} {
		stages.Go(func() {
			defer s.Close()
			for v := range uint64(n) {
				if err := s.Send(ctx, uint64(i)*n+v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stages.Go(func() {
		defer all.Close()
		if unsent, err := fan.In(ctx, all, e, d.AutoAck()); len(unsent) > 0 || err != nil {
			t.Error("In:", unsent, err)
		}
	})
	seen, last := 0, [2]uint64{}
	values := all.Values(ctx)
	for v := range values.All() {
		if from := v / n; last[from] > v%n {
			t.Errorf("%d came after %d", v, last[from])
		} else {
			last[from] = v % n
		}
		seen++
	}
	if err := values.Err(); err != nil || seen != 2*n {
		t.Errorf("%d values, %v", seen, err)
	}
	stages.Wait()
}
