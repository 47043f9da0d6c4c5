package bench_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// Here as in the other files the values are strings, so that the engines are compiled for one type.

// BenchmarkAges compares an Elastic of 1024 values with an Aged: what a
// value costs, from senders to as many receivers.
func BenchmarkAges(b *testing.B) {
	for _, n := range []int{1, 8} {
		for name, open := range map[string]func() sluice.Channel[string]{
			"plain": func() sluice.Channel[string] { return sluice.NewElastic[string](1024, nil) },
			"MaxAge": func() sluice.Channel[string] {
				return sluice.NewAged(1024, &sluice.AgedOptions[string]{MaxAge: time.Hour})
			},
			"StaleAfter": func() sluice.Channel[string] {
				return sluice.NewAged(1024, &sluice.AgedOptions[string]{MaxAge: time.Hour, StaleAfter: time.Minute})
			},
			"bytes": func() sluice.Channel[string] {
				return sluice.NewElastic(1024, &sluice.ElasticOptions[string]{MaxBytes: 8 << 10, Size: func(string) int { return 8 }})
			},
		} {
			b.Run(fmt.Sprintf("%d to %d/%s", n, n, name), func(b *testing.B) {
				ctx, c := context.Background(), open()
				var senders, receivers sync.WaitGroup
				for i := range n {
					senders.Go(func() {
						for range b.N/n + min(1, max(0, b.N%n-i)) {
							_ = c.Send(ctx, "")
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
