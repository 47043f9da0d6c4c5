//go:build unix

package hubchannel

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
)

// BenchmarkBeside alternates gochannel and hubchannel, one pair for each iteration, and prints the
// medians: for gochannel, for hubchannel, and of the ratios of a pair. CPU is the time of
// the whole process, including the load. Run it with -benchtime 6x.
func BenchmarkBeside(b *testing.B) {
	loads := map[string]load{
		"open":      {bursts: 750, size: 2, every: time.Millisecond},
		"saturated": {bursts: 8, size: 1000},
	}
	for _, name := range []string{"open", "saturated"} {
		for _, buffer := range []int64{0, 100} {
			b.Run(fmt.Sprint(name, "/buffer=", buffer), func(b *testing.B) {
				beside(b, loads[name], [2]func() pubSub{
					func() pubSub {
						return gochannel.NewGoChannel(gochannel.Config{OutputChannelBuffer: buffer}, nil)
					},
					func() pubSub { return New(Config{OutputChannelBuffer: buffer}, nil) },
				})
			})
		}
	}
}

func beside(b *testing.B, l load, open [2]func() pubSub) {
	var runs [2][]figures
	var ratios []float64
	for i := range b.N {
		for turn := range 2 {
			which := (i + turn) % 2
			runs[which] = append(runs[which], l.run(b, open[which]()))
		}
		ratios = append(ratios, runs[1][i].cpu/runs[0][i].cpu)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(slices.Min(ratios), "ratio-min")
	b.ReportMetric(slices.Max(ratios), "ratio-max")
	for which, name := range []string{"go", "hub"} {
		for unit, of := range map[string]func(figures) float64{
			"cpu-µs": func(f figures) float64 { return f.cpu },
			"p50-µs": func(f figures) float64 { return f.p50 },
			"p99-µs": func(f figures) float64 { return f.p99 },
			"allocs": func(f figures) float64 { return f.allocs },
		} {
			var all []float64
			for _, f := range runs[which] {
				all = append(all, of(f))
			}
			b.ReportMetric(median(all), name+"-"+unit)
		}
	}
}

// A load is an open loop: bursts of a size, whether or not the former ones were received.
// Without a pause they come as fast as Publish takes them. Four subscribers ack at once.
type load struct {
	bursts, size int
	every        time.Duration
}

// figures are CPU time and allocations for each delivery, and the time from the start of a burst to the receive.
type figures struct{ cpu, p50, p99, allocs float64 }

func (l load) run(b *testing.B, p pubSub) figures {
	const subscribers = 4
	var receiving sync.WaitGroup
	began := make([]time.Time, l.bursts)
	delays := make([][]time.Duration, subscribers)
	for i := range delays {
		messages, err := p.Subscribe(context.Background(), "topic")
		if err != nil {
			b.Fatal(err)
		}
		delays[i] = make([]time.Duration, 0, l.bursts*l.size)
		receiving.Go(func() {
			for range l.bursts * l.size {
				m := <-messages
				burst, _ := strconv.Atoi(m.UUID)
				delays[i] = append(delays[i], time.Since(began[burst]))
				m.Ack()
			}
		})
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, due := cpuTime(b), time.Now()
	for burst := range l.bursts {
		time.Sleep(time.Until(due))
		due = due.Add(l.every)
		began[burst] = time.Now()
		for range l.size {
			if err := p.Publish("topic", message.NewMessage(strconv.Itoa(burst), nil)); err != nil {
				b.Fatal(err)
			}
		}
	}
	receiving.Wait()
	cpu = cpuTime(b) - cpu
	runtime.ReadMemStats(&after)
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
	all := slices.Concat(delays...)
	slices.Sort(all)
	n := float64(len(all))
	return figures{
		cpu: microseconds(cpu) / n, allocs: float64(after.Mallocs-before.Mallocs) / n,
		p50: microseconds(all[len(all)/2]), p99: microseconds(all[len(all)*99/100]),
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func median[T cmp.Ordered](values []T) T { return slices.Sorted(slices.Values(values))[len(values)/2] }
