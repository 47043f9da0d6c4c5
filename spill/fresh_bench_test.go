//go:build unix

package spill

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// An outage is what receivers find in a round after it: how old new values are when they are
// received, and how fast the backlog drains.
type outage struct {
	ages  []time.Duration // ascending; of values that were sent in this round
	rate  float64         // of others, per second
	waste float64         // bytes on disk for each live one, at the end
}

// measureOutage lets new values come in for some seconds, 1000 per second from ten senders, while four
// receivers receive and acknowledge in batches of up to 100. The page cache is empty at first.
func measureOutage(dir string, fresh, length time.Duration) (o outage, err error) {
	syscall.Sync()
	_ = os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0) // only root may
	c, err := OpenDurable(dir, &DurableOptions[[]byte]{Fresh: fresh})
	if err != nil {
		return o, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var done sync.WaitGroup
	var failed atomic.Pointer[error]
	fail := func(err error) {
		if !errors.Is(err, context.DeadlineExceeded) {
			failed.CompareAndSwap(nil, &err)
		}
		cancel()
	}
	begin := time.Now()
	for s := range 10 {
		done.Go(func() {
			time.Sleep(time.Duration(s) * time.Millisecond)
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for v := make([]byte, 1024); ctx.Err() == nil; <-tick.C {
				binary.BigEndian.PutUint64(v, uint64(time.Since(begin))+1)
				if err := c.Send(ctx, v); err != nil {
					fail(err)
				}
			}
		})
	}
	var mu sync.Mutex
	drained := 0
	for range 4 {
		done.Go(func() {
			ds := make([]*Delivery[[]byte], 100)
			for ctx.Err() == nil {
				n, err := c.TryRecvBatch(ds)
				if err == sluice.ErrEmpty {
					err = errors.New("the backlog is too small for this machine")
				}
				now := time.Since(begin)
				mu.Lock()
				for _, d := range ds[:n] {
					if sent := time.Duration(binary.BigEndian.Uint64(d.Value)); sent > 0 {
						o.ages = append(o.ages, now-sent)
					} else {
						drained++
					}
				}
				mu.Unlock()
				if err == nil {
					err = c.Ack(ds[:n]...)
				}
				if err != nil {
					fail(err)
				}
			}
		})
	}
	done.Wait()
	o.rate = float64(drained) / time.Since(begin).Seconds()
	slices.Sort(o.ages)
	o.waste = float64(c.Stats().Disk.Bytes) / float64(max(1, c.Len())*(1024+32))
	if p := failed.Load(); p != nil {
		err = *p
	}
	return o, errors.Join(err, c.Shutdown())
}

// BenchmarkFresh measures rounds of five seconds after an outage, in turn with and without Fresh, on one
// queue with a backlog of -spill.behind bytes. It reports the medians of three: the drain rates of the
// backlog; with Fresh, how old new values are when they are received; and the disk space.
func BenchmarkFresh(b *testing.B) {
	dir := b.TempDir()
	for range b.N {
		l := newLaggardIn(b, dir, *behind)
		if err := l.c.Shutdown(); err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		var plain, fresh []outage
		for range 3 {
			for fresher, to := range map[time.Duration]*[]outage{0: &plain, time.Second: &fresh} {
				o, err := measureOutage(dir, fresher, 5*time.Second)
				if err != nil {
					b.Fatal(err)
				}
				b.Logf("Fresh %v: %.0f/s of the backlog, %d new values, disk %.2f", fresher, o.rate, len(o.ages), o.waste)
				*to = append(*to, o)
			}
		}
		median := func(os []outage, f func(outage) float64) float64 {
			var all []float64
			for _, o := range os {
				all = append(all, f(o))
			}
			slices.Sort(all)
			return all[len(all)/2]
		}
		rate, waste := func(o outage) float64 { return o.rate }, func(o outage) float64 { return o.waste }
		b.ReportMetric(median(plain, rate), "plain-drained/s")
		b.ReportMetric(median(fresh, rate), "fresh-drained/s")
		b.ReportMetric(median(fresh, waste), "disk/live")
		for name, per1000 := range map[string]int{"p50": 500, "p99": 990, "max": 1000} {
			b.ReportMetric(median(fresh, func(o outage) float64 {
				return float64(o.ages[min(len(o.ages)-1, len(o.ages)*per1000/1000)].Microseconds()) / 1000
			}), "ms-"+name)
		}
	}
}
