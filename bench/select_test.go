package bench_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-go/sluice"
)

// BenchmarkSelectDefault is a Select over two channels, or four, none of which can proceed:
// it chooses Default.
func BenchmarkSelectDefault(b *testing.B) {
	b.Run("native/2", func(b *testing.B) {
		first, second := make(chan string, 1), make(chan string, 1)
		for b.Loop() {
			select {
			case <-first:
			case <-second:
			default:
			}
		}
	})
	for _, kind := range []struct {
		name string
		open func() sluice.TryReceiver[string]
	}{
		{"Rendezvous", func() sluice.TryReceiver[string] { return sluice.NewRendezvous[string](nil) }},
		{"Bounded 128", func() sluice.TryReceiver[string] { return sluice.NewBounded[string](128, nil) }},
		{"Elastic", func() sluice.TryReceiver[string] { return sluice.NewElastic[string](sluice.Unlimited, nil) }},
		{"Sharded", func() sluice.TryReceiver[string] { return sluice.NewSharded[string](sluice.Unlimited, nil) }},
	} {
		for _, n := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, n), func(b *testing.B) {
				cases := []sluice.Case{sluice.Default}
				for range n {
					cases = append(cases, sluice.OnRecv(kind.open()))
				}
				for b.Loop() {
					if chosen, _ := sluice.Select(context.Background(), cases...); chosen != sluice.Default {
						b.Fatal("chose a channel that is empty")
					}
				}
			})
		}
	}
}
