package flow_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/flow"
	"github.com/sluice-go/sluice/internal/registry"
)

// BenchmarkDraw draws a map of channels, all of which are full.
func BenchmarkDraw(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx := context.Background()
			list := make([]*sluice.Bounded[int], n)
			for i := range list {
				list[i] = sluice.NewBounded(16, &sluice.BoundedOptions[int]{Name: b.Name()})
				_ = put(ctx, list[i], 1)
				_, _ = list[i].Recv(ctx)
			}
			var channels []flow.Channel
			for _, e := range registry.Channels() {
				if e.Name == b.Name() {
					channels = append(channels, flow.Channel{ID: e.ID, Name: e.Name, Sites: e.Sites, Len: 16, Cap: 16, Senders: 1})
				}
			}
			for b.Loop() {
				f := flow.Draw(channels)
				if b, _ := f.Diagnose(); b == nil {
					panic("no bottleneck among full channels")
				}
			}
			_ = list
		})
	}
}
