package bench_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/peers"
	"github.com/sluice-go/sluice/bench/workload"
)

// contenders returns the contenders of the benchmarks: each kind with its
// defaults, and its cancelable form.
func contenders(b *testing.B) []contender.Contender {
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	all := append(contender.Standard(), contender.NativeSelect(ctx))
	all = append(all, contender.Rendezvous(ctx, nil), contender.Bounded(ctx, nil), contender.Elastic(ctx, nil))
	all = append(all, contender.RendezvousWithoutHandOff())
	return append(all, peers.All()...)
}

// run runs a benchmark for each contender that can do the work. An item is one
// operation.
func run(b *testing.B, w workload.Workload) {
	for _, c := range contenders(b) {
		if !w.Can(c) {
			continue
		}
		b.Run(c.Name, func(b *testing.B) {
			r, err := w.Run(c, uint64(b.N))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(r.NsPerItem(), "ns/op")
		})
	}
}

var capacities = []int{0, 1, 128, 1024}

func BenchmarkOneWay(b *testing.B) {
	for _, shape := range [][2]int{{1, 1}, {8, 1}, {1, 10}, {8, 8}} {
		for _, capacity := range capacities {
			w := workload.OneWay(capacity, shape[0], shape[1])
			b.Run(fmt.Sprintf("%s/%d", w.Name, capacity), func(b *testing.B) { run(b, w) })
		}
	}
}

func BenchmarkOneWayBatches(b *testing.B) {
	for _, shape := range [][2]int{{1, 1}, {8, 1}, {1, 10}, {8, 8}} {
		w := workload.OneWayBatches(1024, shape[0], shape[1])
		b.Run(w.Name, func(b *testing.B) { run(b, w) })
	}
}

func BenchmarkPingPong(b *testing.B) {
	for _, capacity := range []int{0, 1, 10} {
		b.Run(fmt.Sprint(capacity), func(b *testing.B) { run(b, workload.PingPong(capacity)) })
	}
}

func BenchmarkFillDrain(b *testing.B) { run(b, workload.FillDrain()) }

func BenchmarkFillDrainBatches(b *testing.B) { run(b, workload.FillDrainBatches()) }

func BenchmarkSharedTotal(b *testing.B) {
	for _, capacity := range []int{0, 1, 5, 25} {
		b.Run(fmt.Sprint(capacity), func(b *testing.B) { run(b, workload.SharedTotal(capacity, 10)) })
	}
}
