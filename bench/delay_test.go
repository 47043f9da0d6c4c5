package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// pendingValues is how many values are queued while BenchmarkDelay measures.
const pendingValues = 1000

// BenchmarkDelay compares a Delay with a time.AfterFunc for each value, whose function sends into
// a built-in channel. "timeout" is a value that is due in an hour and canceled at once, beside
// others; "due" is one that is due at once, and received.
func BenchmarkDelay(b *testing.B) {
	b.Run("timeout/Delay", func(b *testing.B) {
		ctx, d := context.Background(), sluice.NewDelay[string](2*pendingValues, nil)
		for i := range pendingValues {
			_, _ = d.SendAfter(ctx, time.Hour+time.Duration(i), "")
		}
		for b.Loop() {
			p, _ := d.SendAfter(ctx, time.Hour, "")
			if _, ok := p.Cancel(); !ok {
				b.Fatal("not canceled")
			}
		}
	})
	b.Run("timeout/AfterFunc", func(b *testing.B) {
		c := make(chan string, 2*pendingValues)
		for i := range pendingValues {
			defer time.AfterFunc(time.Hour+time.Duration(i), func() { c <- "" }).Stop()
		}
		for b.Loop() {
			if !time.AfterFunc(time.Hour, func() { c <- "" }).Stop() {
				b.Fatal("not canceled")
			}
		}
	})
	b.Run("due/Delay", func(b *testing.B) {
		ctx, d := context.Background(), sluice.NewDelay[string](pendingValues, nil)
		n := b.N
		go func() {
			for range n {
				_ = d.Send(ctx, "")
			}
		}()
		for range n {
			_, _ = d.Recv(ctx)
		}
	})
	b.Run("due/AfterFunc", func(b *testing.B) {
		c := make(chan string, pendingValues)
		n := b.N
		go func() {
			for range n {
				time.AfterFunc(0, func() { c <- "" })
			}
		}()
		for range n {
			<-c
		}
	})
}
