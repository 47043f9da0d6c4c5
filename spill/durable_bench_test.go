package spill

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// BenchmarkDurable sends b.N records of 1 KiB, from several senders or in batches,
// with a sync for each commit. A receiver receives and acknowledges them
// concurrently in batches of up to 100.
func BenchmarkDurable(b *testing.B) {
	for _, load := range []struct{ senders, batch int }{{1, 1}, {8, 1}, {64, 1}, {1, 100}, {8, 100}} {
		b.Run(fmt.Sprintf("%d-senders/batch-%d", load.senders, load.batch), func(b *testing.B) {
			c, err := OpenDurable[[]byte](b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			record := make([]byte, 1024)
			batch := make([][]byte, load.batch)
			for i := range batch {
				batch[i] = record
			}
			var senders sync.WaitGroup
			start := time.Now()
			for s := range load.senders {
				senders.Go(func() {
					for left := (b.N + s) / load.senders; left > 0; {
						n, err := c.SendBatch(context.Background(), batch[:min(left, load.batch)])
						if err != nil {
							b.Error(err)
							return
						}
						left -= n
					}
				})
			}
			var receiver sync.WaitGroup
			receiver.Go(func() {
				buf := make([]*Delivery[[]byte], 100)
				for {
					n, err := c.RecvBatch(context.Background(), buf)
					if err != nil {
						return
					}
					if err := c.Ack(buf[:n]...); err != nil {
						b.Error(err)
						return
					}
				}
			})
			senders.Wait()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "sent/s")
			c.Close()
			receiver.Wait()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "records/s")
			if err := c.Shutdown(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkBacklog appends 64 MiB of records of 1 KiB in batches of 100, with a sync
// for each, and then receives and deletes them.
func BenchmarkBacklog(b *testing.B) {
	const records, batch = 64 << 10, 100
	for range b.N {
		c, err := OpenDurable(b.TempDir(), &DurableOptions[[]byte]{MemoryLimit: 2 << 20}) // 1 MiB for values
		if err != nil {
			b.Fatal(err)
		}
		vs := make([][]byte, batch)
		for i := range vs {
			vs[i] = make([]byte, 1024)
		}
		for sent := 0; sent < records; sent += batch {
			if _, err := c.SendBatch(context.Background(), vs[:min(batch, records-sent)]); err != nil {
				b.Fatal(err)
			}
		}
		ds := make([]*Delivery[[]byte], batch)
		for c.Len() > 0 {
			n, err := c.RecvBatch(context.Background(), ds)
			if err == nil {
				err = c.Ack(ds[:n]...)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := c.Shutdown(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*records/b.Elapsed().Seconds(), "records/s")
}
