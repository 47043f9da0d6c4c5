package livepage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// many makes n named channels of all kinds, each with something to report.
func many(tb testing.TB, n int) []sluice.Channel[int] {
	tb.Helper()
	var all []sluice.Channel[int]
	for i := range n {
		name := fmt.Sprintf("%s %d", tb.Name(), i*7919%n)
		var c sluice.Channel[int]
		switch i % 4 {
		case 0:
			c = sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Name: name})
		case 1:
			c = sluice.NewBounded(4+i%60, &sluice.BoundedOptions[int]{Name: name})
		case 2:
			c = sluice.NewElastic(1000, &sluice.ElasticOptions[int]{Name: name})
		case 3:
			c = sluice.NewSharded(100, &sluice.ShardedOptions[int]{Name: name})
		}
		for range min(c.Cap(), i%4) {
			if err := c.TrySend(i); err != nil {
				tb.Fatal(err)
			}
		}
		all = append(all, c)
	}
	return all
}

// BenchmarkUpdate measures the CPU time of one update of a stream with 10,000
// channels: read all of them, sort them as requested, and encode a page of 50
// as JSON. A stream sends one update per second, so 10 ms are 1% of a core.
// Each further client of the same handler adds the cost reported as "shared".
func BenchmarkUpdate(b *testing.B) {
	channels := many(b, 10_000)
	for _, raw := range []string{"", "flow=1", "sort=name", "sort=fill", "sort=sent", "filter=99", "sort=id&size=200"} {
		q, err := parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("take/"+raw, func(b *testing.B) {
			b.ReportAllocs()
			now := time.Now()
			last := new(monitor).take(now, inspect.Channels(), nil)
			for b.Loop() {
				now = now.Add(period)
				last = new(monitor).take(now, inspect.Channels(), last)
				report, found := q.report(last)
				_, _ = io.Discard.Write(event(report, found))
			}
			b.ReportMetric(100*b.Elapsed().Seconds()/float64(b.N), "%-of-a-core")
		})
		b.Run("shared/"+raw, func(b *testing.B) {
			last := new(monitor).take(time.Now(), inspect.Channels(), nil)
			for b.Loop() {
				report, found := q.report(last)
				_, _ = io.Discard.Write(event(report, found))
			}
			b.ReportMetric(100*b.Elapsed().Seconds()/float64(b.N), "%-of-a-core")
		})
	}
	runtime.KeepAlive(channels)
}

// BenchmarkDraw draws a map of channels, all of which are full.
func BenchmarkDraw(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx := b.Context()
			list := make([]*sluice.Bounded[int], n)
			for i := range list {
				list[i] = sluice.NewBounded(16, &sluice.BoundedOptions[int]{Name: b.Name()})
				_ = list[i].Send(ctx, 1)
				_, _ = list[i].Recv(ctx)
			}
			l := new(monitor).take(time.Now(), inspect.Channels(), nil)
			l.seen = slices.DeleteFunc(l.seen, func(s sighting) bool { return s.Name != b.Name() })
			for i := range l.seen {
				l.seen[i].stats.Len, l.seen[i].stats.SendersWaiting = 16, 1
			}
			for b.Loop() {
				if l.draw().Bottleneck == nil {
					panic("no bottleneck among full channels")
				}
			}
			runtime.KeepAlive(list)
		})
	}
}

// BenchmarkChannel measures the cost of passing one value between two
// goroutines through a channel that has no name, through a named channel, while
// an open page lists the channel, and while the channel's own page, which takes
// snapshots, is open. The states take turns, and each cost is divided by the
// cost of the unnamed channel in the same round. Every turn with a page sees
// one update; -benchtime=10x takes a minute per kind.
//
// The state "connected" has an idle HTTP connection open. It separates the cost
// of any open connection, which an idle P polls, from the cost of the page.
func BenchmarkChannel(b *testing.B) {
	for _, kind := range []struct {
		name string
		make func(name string) sluice.Channel[int]
	}{
		{"Rendezvous", func(name string) sluice.Channel[int] {
			return sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Name: name})
		}},
		{"Bounded", func(name string) sluice.Channel[int] {
			return sluice.NewBounded(128, &sluice.BoundedOptions[int]{Name: name})
		}},
		{"Sharded", func(name string) sluice.Channel[int] {
			return sluice.NewSharded(128, &sluice.ShardedOptions[int]{Name: name})
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			states := []string{"unnamed", "named", "connected", "listed", "page"}
			cost := make(map[string][]float64) // ns per value, by round
			for round := range b.N {
				for i := range states {
					state := states[(i+round)%len(states)]
					name := ""
					if state != "unnamed" {
						name = fmt.Sprint(b.Name(), " ", state, " ", round)
					}
					c := kind.make(name)
					leave := func() {}
					switch state {
					case "connected":
						leave = openPage(b, http.HandlerFunc(idle), "")
					case "listed":
						leave = openPage(b, Handler(), "flow=1")
					case "page":
						all := inspect.Channels()
						leave = openPage(b, Handler(), fmt.Sprint("channel=", all[len(all)-1].ID))
					}
					cost[state] = append(cost[state], pass(c, 1200*time.Millisecond))
					leave()
				}
			}
			b.ReportMetric(0, "ns/op") // The duration of a round means nothing.
			b.ReportMetric(middle(cost["unnamed"], 0.5), "ns/value")
			for _, state := range states[1:] {
				ratios := make([]float64, b.N)
				for round := range ratios {
					ratios[round] = cost[state][round] / cost["unnamed"][round]
				}
				b.ReportMetric(middle(ratios, 0.25), state+"-lower")
				b.ReportMetric(middle(ratios, 0.5), state+"-median")
				b.ReportMetric(middle(ratios, 0.75), state+"-upper")
			}
		})
	}
}

// middle returns the given quantile of figures.
func middle(figures []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[int(part*float64(len(sorted)-1))]
}

// pass sends values from one goroutine to another for a while. It returns
// nanoseconds per value.
func pass(c sluice.Channel[int], while time.Duration) float64 {
	ctx := context.Background()
	start, n := time.Now(), 0
	go func() {
		for time.Since(start) < while {
			for i := range 1000 { // The cost of reading the clock vanishes in 1000 values.
				_ = c.Send(ctx, i) // The channel is still open: only this goroutine closes it.
			}
		}
		c.Close()
	}()
	for {
		if _, err := c.Recv(ctx); err != nil {
			return float64(time.Since(start)) / float64(n)
		}
		n++
	}
}

// idle answers with headers and then sends nothing.
func idle(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// openPage reads a stream until leave is called.
func openPage(b *testing.B, h http.Handler, raw string) (leave func()) {
	server := httptest.NewServer(h)
	answer, err := http.Get(server.URL + "?format=events&" + raw)
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, answer.Body) // until leave closes it
	}()
	return func() { _ = answer.Body.Close(); <-done; server.Close() }
}
