//go:build unix

package jetstream

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// A pace is a load that does not depend on the speed of the contender: values are
// due at fixed times, and a late one does not delay those after it.
type pace struct {
	name    string
	senders int
	bunch   int           // values due at once, per sender
	every   time.Duration // per sender
}

var paces = []pace{
	{"500 per s", 4, 1, 8 * time.Millisecond},
	{"1000 per s", 4, 1, 4 * time.Millisecond},
	{"50 batches of 16 per s", 1, 16, 20 * time.Millisecond},
}

// pacedFor is how long values are sent in one round.
const pacedFor = 600 * time.Millisecond

// BenchmarkPaced measures delays at loads below saturation, where they are not hidden by a
// queue: the median and the 99th percentile of the time from when a value was due until
// it was received, in microseconds. The contenders of BenchmarkAgainstPlain take turns; the
// figures are medians over the rounds, and ratios above 1 mean that the channel is slower.
func BenchmarkPaced(b *testing.B) {
	for _, where := range []string{"embedded", "cluster"} {
		for _, size := range []int{16, 1024} {
			for _, pace := range paces {
				b.Run(fmt.Sprintf("%s/%d bytes/%s", where, size, pace.name), func(b *testing.B) {
					nc, replicas := benchServer(b, where)
					contenders := both(b, nc, replicas)
					p50s, p99s := [2][]float64{}, [2][]float64{}
					for b.Loop() {
						for i, c := range contenders {
							p50, p99 := paced(b, c, pace, size)
							p50s[i] = append(p50s[i], p50)
							p99s[i] = append(p99s[i], p99)
						}
					}
					for i, c := range contenders {
						b.ReportMetric(median(p50s[i]), c.name+"-p50-µs")
						b.ReportMetric(median(p99s[i]), c.name+"-p99-µs")
					}
					b.ReportMetric(median(p50s[1])/median(p50s[0]), "p50-ratio")
					b.ReportMetric(median(p99s[1])/median(p99s[0]), "p99-ratio")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// paced runs one round, and returns percentiles of the delays in µs.
func paced(b *testing.B, c contender, p pace, size int) (p50, p99 float64) {
	b.Helper()
	ctx := patient(b)
	begin := time.Now().Add(10 * time.Millisecond) // when all goroutines have started
	turns := int(pacedFor / p.every)
	var all sync.WaitGroup
	for sender := range p.senders {
		all.Go(func() {
			value, send := make([]byte, size), c.send
			if p.bunch > 1 {
				send = c.batch
			}
			for turn := range turns {
				// Senders take turns, at equal intervals.
				due := time.Duration(turn*p.senders+sender) * p.every / time.Duration(p.senders)
				time.Sleep(time.Until(begin.Add(due)))
				stamp := func(v []byte) { binary.LittleEndian.PutUint64(v, uint64(due)) }
				if err := send(ctx, value, p.bunch, stamp); err != nil {
					b.Error(err)
				}
			}
		})
	}
	n := turns * p.senders * p.bunch
	delays := make([]float64, 0, n)
	err := c.receive(ctx, n, func(v []byte) {
		due := time.Duration(binary.LittleEndian.Uint64(v))
		delays = append(delays, float64(time.Since(begin)-due)/1e3)
	})
	if err != nil {
		b.Fatal(err)
	}
	all.Wait()
	slices.Sort(delays)
	return delays[n/2], delays[n*99/100]
}
