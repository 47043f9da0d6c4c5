package spill

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var behind = flag.Int64("spill.behind", 64<<20, "how many bytes the reader of BenchmarkLag is behind in its largest backlog")

// A laggard is a queue whose reader is behind, and reads at the rate of the senders. With a backlog
// of 0 there is no reader.
type laggard struct {
	backlog int64
	c       *Durable[[]byte]
	sent    atomic.Int64               // in this round
	took    map[int][][3]time.Duration // by senders: p50, p99 and p99.9 of each round
}

// newLaggard makes a queue with a backlog of records of 1 KiB.
func newLaggard(b *testing.B, backlog int64) *laggard {
	l := newLaggardIn(b, b.TempDir(), backlog)
	b.Cleanup(func() {
		if err := l.c.Shutdown(); err != nil {
			b.Error(err)
		}
	})
	return l
}

func newLaggardIn(b *testing.B, dir string, backlog int64) *laggard {
	c, err := OpenDurable[[]byte](dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	batch := make([][]byte, 4096)
	for i := range batch {
		batch[i] = make([]byte, 1024)
	}
	for left := backlog; left > 0; left -= 4 << 20 {
		if _, err := c.SendBatch(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
	return &laggard{backlog: backlog, c: c, took: map[int][][3]time.Duration{}}
}

// read receives and acknowledges as many records as were sent, in batches, until more is
// closed.
func (l *laggard) read(more chan struct{}) error {
	ds := make([]*Delivery[[]byte], 100)
	for read := int64(0); ; {
		if read == l.sent.Load() {
			if _, ok := <-more; !ok && read == l.sent.Load() {
				return nil
			}
			continue
		}
		n, err := l.c.RecvBatch(context.Background(), ds[:min(100, l.sent.Load()-read)])
		if err == nil {
			err = l.c.Ack(ds[:n]...)
		}
		if err != nil {
			return err
		}
		read += int64(n)
	}
}

// round measures n sends.
func (l *laggard) round(b *testing.B, senders, n int) {
	l.sent.Store(0)
	more, took := make(chan struct{}, 1), make([][]time.Duration, senders)
	var reader, sending sync.WaitGroup
	if l.backlog > 0 {
		reader.Go(func() {
			if err := l.read(more); err != nil {
				b.Error(err)
			}
		})
	}
	v := make([]byte, 1024)
	for s := range senders {
		sending.Go(func() {
			for range n / senders {
				start := time.Now()
				if err := l.c.Send(context.Background(), v); err != nil {
					b.Error(err)
					return
				}
				took[s] = append(took[s], time.Since(start))
				l.sent.Add(1)
				select {
				case more <- struct{}{}:
				default:
				}
			}
		})
	}
	sending.Wait()
	close(more)
	reader.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	at := func(per1000 int) time.Duration { return all[len(all)*per1000/1000] }
	l.took[senders] = append(l.took[senders], [3]time.Duration{at(500), at(990), at(999)})
}

// BenchmarkLag measures synced sends of 1 KiB, by one sender and by 64, without a reader and
// beside one that is far behind and reads at the same rate. The rounds of the queues
// alternate. It reports the medians of five rounds, in microseconds, by the size of the backlog.
func BenchmarkLag(b *testing.B) {
	for _, senders := range []int{1, 64} {
		b.Run(fmt.Sprintf("%d-senders", senders), func(b *testing.B) {
			queues := []*laggard{newLaggard(b, 0), newLaggard(b, 64<<20)}
			if *behind > 64<<20 {
				queues = append(queues, newLaggard(b, *behind))
			}
			b.ResetTimer()
			for range 5 * b.N {
				for _, l := range queues {
					l.round(b, senders, 2000*senders/min(senders, 8))
				}
			}
			for _, l := range queues {
				for i, name := range []string{"p50", "p99", "p99.9"} {
					var each []time.Duration
					for _, took := range l.took[senders] {
						each = append(each, took[i])
					}
					slices.Sort(each)
					b.ReportMetric(float64(each[len(each)/2].Microseconds()), fmt.Sprintf("µs-%s-%dMiB", name, l.backlog>>20))
				}
			}
		})
	}
}
