//go:build unix

package jetstream

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-go/sluice"
)

// BenchmarkConsumers measures how the values per second, and the messages of the servers per
// value, depend on the number of consumers, each with a connection of its own, on a
// channel of one stream and on channels by key. Three servers, which do not sync, and all
// clients are in this process. Three senders send batches as fast as they can.
//
// With "no work", a consumer only acknowledges. With "1 ms", it waits for a millisecond per
// value, as a worker that waits for another service does, so several share the work.
//
// Messages are those that the servers receive from clients and from each other.
func BenchmarkConsumers(b *testing.B) {
	for _, streams := range []int{0, 1, 4, 8} {
		for _, consumers := range []int{1, 2, 4, 8} {
			for _, work := range []time.Duration{0, time.Millisecond} {
				name := fmt.Sprintf("%s/%d consumers/%s", kindOf(streams), consumers, workOf(work))
				b.Run(name, func(b *testing.B) {
					servers := threeServers(b)
					var speeds, messages, busiest []float64
					for b.Loop() {
						f := consume(b, servers, streams, consumers, work)
						speeds, messages, busiest = append(speeds, f.speed), append(messages, f.messages), append(busiest, f.busiest)
					}
					b.ReportMetric(median(speeds), "values/s")
					b.ReportMetric(median(messages), "messages/value")
					b.ReportMetric(median(busiest), "busiest/value")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

func kindOf(streams int) string {
	if streams == 0 {
		return "plain"
	}
	return fmt.Sprint(streams, " streams")
}

func workOf(d time.Duration) string {
	if d == 0 {
		return "no work"
	}
	return d.String()
}

// openBench opens a plain channel, if streams is 0, or one by key.
func openBench(b *testing.B, streams int, o Options[string]) sluice.Channel[string] {
	if streams == 0 {
		return open(b, o)
	}
	return openByKey(b, streams, o)
}

type consumption struct{ speed, messages, busiest float64 }

// consume moves values from three senders to consumers, and returns figures.
func consume(b *testing.B, servers []*server.Server, streams, consumers int, work time.Duration) (f consumption) {
	b.Helper()
	keys, each := 48, 200
	if work > 0 {
		each = 20
	}
	n := 3 * keys * each
	name := fmt.Sprint("bench-", opened.Add(1))
	at := func(i int) sluice.Channel[string] {
		return openBench(b, streams, Options[string]{Name: name, URL: servers[i%3].ClientURL(), Log: mute()})
	}
	var senders [3]sluice.Channel[string]
	for i := range senders {
		senders[i] = at(i)
	}
	receivers := make([]sluice.Channel[string], consumers)
	for i := range receivers {
		receivers[i] = at(i)
	}
	before, begin := loadOf(b, servers), time.Now()
	var sending, receiving sync.WaitGroup
	for _, c := range senders {
		sending.Go(func() {
			if sent, err := c.SendBatch(patient(b), numbered(keys, each)); err != nil {
				b.Errorf("SendBatch: %d, %v", sent, err)
			}
		})
	}
	var got atomic.Int64
	all := make(chan struct{})
	for _, c := range receivers {
		receiving.Go(func() {
			values := c.Values(patient(b))
			for range values.All() {
				time.Sleep(work)
				if got.Add(1) == int64(n) {
					close(all)
				}
			}
			if err := values.Err(); err != nil {
				b.Errorf("Values: %v", err)
			}
		})
	}
	sending.Wait()
	<-all
	elapsed, after := time.Since(begin), loadOf(b, servers)
	senders[0].Close()
	receiving.Wait()
	if got.Load() != int64(n) {
		b.Errorf("%d values received, want %d", got.Load(), n)
	}
	f.speed = float64(n) / elapsed.Seconds()
	for i := range after {
		m := float64(after[i].messages-before[i].messages) / float64(n)
		f.messages, f.busiest = f.messages+m, max(f.busiest, m)
	}
	return f
}
