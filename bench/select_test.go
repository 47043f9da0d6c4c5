package bench_test

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
)

func BenchmarkSelect(b *testing.B) {
	for _, n := range []int{2, 4} {
		for _, capacity := range []int{0, 1, 128, 1024} {
			w := workload.OneWay(capacity, n, 1)
			for _, c := range []contender.Contender{contender.NativeFan(n), contender.Select(n)} {
				b.Run(fmt.Sprintf("%s/%d/%s", w.Name, capacity, c.Name), func(b *testing.B) {
					r, err := w.Run(c, uint64(b.N))
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(r.NsPerItem(), "ns/op")
				})
			}
		}
	}
}
