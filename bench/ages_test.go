package bench_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// BenchmarkAges compares an Elastic of 1024 values with an Aged: what a
// value costs, from senders to as many receivers.
func BenchmarkAges(b *testing.B) {
	for _, n := range []int{1, 8} {
		for name, open := range map[string]func() sluice.Channel[int]{
			"plain":  func() sluice.Channel[int] { return sluice.NewElastic[int](1024, nil) },
			"MaxAge": func() sluice.Channel[int] { return sluice.NewAged(1024, &sluice.AgedOptions[int]{MaxAge: time.Hour}) },
			"StaleAfter": func() sluice.Channel[int] {
				return sluice.NewAged(1024, &sluice.AgedOptions[int]{MaxAge: time.Hour, StaleAfter: time.Minute})
			},
			"bytes": func() sluice.Channel[int] {
				return sluice.NewElastic(1024, &sluice.ElasticOptions[int]{MaxBytes: 8 << 10, Size: func(int) int { return 8 }})
			},
		} {
			b.Run(fmt.Sprintf("%d to %d/%s", n, n, name), func(b *testing.B) {
				ctx, c := context.Background(), open()
				var senders, receivers sync.WaitGroup
				for i := range n {
					senders.Go(func() {
						for range b.N/n + min(1, max(0, b.N%n-i)) {
							_ = c.Send(ctx, i)
						}
					})
					receivers.Go(func() {
						for {
							if _, err := c.Recv(ctx); err != nil {
								return
							}
						}
					})
				}
				senders.Wait()
				c.Close()
				receivers.Wait()
			})
		}
	}
}
