package spill

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// move sends n values from several goroutines and receives them in one.
func move[T any](b *testing.B, c sluice.Channel[T], senders int, v T) {
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			for range (b.N + s) / senders {
				if err := c.Send(context.Background(), v); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	for range b.N {
		if _, err := c.Recv(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	all.Wait()
}

// BenchmarkBelow compares an Elastic below its memory limit with a sluice.Elastic
// without a limit, and with one that has the same limit in bytes.
func BenchmarkBelow(b *testing.B) {
	const limit = 1 << 40
	for _, senders := range []int{1, 8} {
		shape := fmt.Sprintf("%dto1/", senders)
		b.Run(shape+"uint64/elastic", func(b *testing.B) {
			move(b, sluice.NewElastic[uint64](sluice.Unlimited, nil), senders, 1)
		})
		b.Run(shape+"uint64/overflow", func(b *testing.B) {
			move(b, opened(b, &ElasticOptions[uint64]{MemoryLimit: limit}), senders, 1)
		})
		line := make([]byte, 1024)
		b.Run(shape+"bytes/elastic", func(b *testing.B) {
			move(b, sluice.NewElastic[[]byte](sluice.Unlimited, nil), senders, line)
		})
		b.Run(shape+"bytes/elastic-limit", func(b *testing.B) {
			o := &sluice.ElasticOptions[[]byte]{MaxBytes: limit, Overflow: sluice.Reject}
			move(b, sluice.NewElastic(sluice.Unlimited, o), senders, line)
		})
		b.Run(shape+"bytes/overflow", func(b *testing.B) {
			move(b, opened(b, &ElasticOptions[[]byte]{MemoryLimit: limit}), senders, line)
		})
	}
}

// BenchmarkLimits moves values through an Elastic with a Capacity, below it and at it, and with a MaxAge.
func BenchmarkLimits(b *testing.B) {
	for _, senders := range []int{1, 8} {
		for _, o := range []ElasticOptions[uint64]{
			{Capacity: 1 << 30},
			{Capacity: 128},
			{Capacity: 128, MemoryLimit: 512},
			{Capacity: 1 << 30, MaxAge: time.Hour},
			{Capacity: 128, MaxAge: time.Hour},
			{Capacity: 128, MemoryLimit: 1536, MaxAge: time.Hour},
		} {
			b.Run(fmt.Sprintf("%dto1/capacity=%d,memory=%d,%v", senders, o.Capacity, o.MemoryLimit, o.MaxAge), func(b *testing.B) {
				move(b, opened(b, &o), senders, 1)
			})
		}
	}
}

// BenchmarkThrough fills a channel far beyond its limit, and drains it while the
// sender continues: every record goes through the disk.
func BenchmarkThrough(b *testing.B) {
	for _, size := range []int{16, 1024} {
		b.Run(fmt.Sprint(size, "B"), func(b *testing.B) {
			c, err := OpenElastic(b.TempDir(), &ElasticOptions[[]byte]{MemoryLimit: 2 << 20}) // 1 MiB for values
			if err != nil {
				b.Fatal(err)
			}
			record := make([]byte, size)
			ahead := max(64<<20/size, 1)
			b.SetBytes(int64(size))
			var all sync.WaitGroup
			filled := make(chan struct{})
			all.Go(func() {
				for i := range b.N {
					if err := c.Send(context.Background(), record); err != nil {
						b.Error(err)
					}
					if i == ahead {
						close(filled)
					}
				}
				c.Close()
				if b.N <= ahead {
					close(filled)
				}
			})
			<-filled
			for range c.Values(context.Background()).All() {
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
