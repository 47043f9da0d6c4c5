package debug

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
)

// many makes named channels of all kinds, each with something to tell.
func many(tb testing.TB, n int) []sluice.Chan[int] {
	tb.Helper()
	var all []sluice.Chan[int]
	for i := range n {
		name := fmt.Sprintf("%s %d", tb.Name(), i*7919%n)
		var c sluice.Chan[int]
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

// BenchmarkUpdate is the CPU time of an update of a stream with 10,000 channels: a
// look at all of them, in the order asked for, and a page of 50 as JSON. There is
// one a second, so 10 ms are 1 % of a core. Another client of the same handler
// adds what "shared" says.
func BenchmarkUpdate(b *testing.B) {
	channels := many(b, 10_000)
	for _, raw := range []string{"", "sort=name", "sort=fill", "sort=sent", "filter=99", "sort=id&size=200"} {
		q, err := parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("look/"+raw, func(b *testing.B) {
			b.ReportAllocs()
			now := time.Now()
			last := take(now, nil)
			for b.Loop() {
				now = now.Add(period)
				last = take(now, last)
				report, found := q.report(last)
				_, _ = io.Discard.Write(event(report, found))
			}
			b.ReportMetric(100*b.Elapsed().Seconds()/float64(b.N), "%-of-a-core")
		})
		b.Run("shared/"+raw, func(b *testing.B) {
			last := take(time.Now(), nil)
			for b.Loop() {
				report, found := q.report(last)
				_, _ = io.Discard.Write(event(report, found))
			}
			b.ReportMetric(100*b.Elapsed().Seconds()/float64(b.N), "%-of-a-core")
		})
	}
	runtime.KeepAlive(channels)
}

// BenchmarkChannel is what a value costs, from one goroutine to another, through a
// channel without a name, with one, while a page is open that lists it, and while its
// own page is, which looks inside. They are measured in turns, and each is divided by
// that without a name of the same round. One update falls into each turn that has a
// page; -benchtime=10x is a minute for each kind.
//
// Connected is what any connection costs that the program has open, though nothing
// happens on it: a P without work asks the network then. That is no doing of a page.
func BenchmarkChannel(b *testing.B) {
	for _, kind := range []struct {
		name string
		make func(name string) sluice.Chan[int]
	}{
		{"Rendezvous", func(name string) sluice.Chan[int] {
			return sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Name: name})
		}},
		{"Bounded", func(name string) sluice.Chan[int] {
			return sluice.NewBounded(128, &sluice.BoundedOptions[int]{Name: name})
		}},
		{"Sharded", func(name string) sluice.Chan[int] {
			return sluice.NewSharded(128, &sluice.ShardedOptions[int]{Name: name})
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			states := []string{"unnamed", "named", "connected", "listed", "page"}
			cost := make(map[string][]float64) // ns a value, by round
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
						leave = openPage(b, Handler(), "")
					case "page":
						all := sluice.Channels()
						leave = openPage(b, Handler(), fmt.Sprint("channel=", all[len(all)-1].ID))
					}
					cost[state] = append(cost[state], pass(c, 1200*time.Millisecond))
					leave()
				}
			}
			b.ReportMetric(0, "ns/op") // of a round: says nothing
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

// middle is what that part of the figures does not exceed.
func middle(figures []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[int(part*float64(len(sorted)-1))]
}

// pass sends values from one goroutine, and receives them in another, for a while. It
// returns nanoseconds a value.
func pass(c sluice.Chan[int], while time.Duration) float64 {
	ctx := context.Background()
	start, n := time.Now(), 0
	go func() {
		for time.Since(start) < while {
			for i := range 1000 { // one look at the clock vanishes in them
				_ = c.Send(ctx, i) // nobody closes it before
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

// idle answers, and then says nothing.
func idle(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// openPage reads a stream until it is called off.
func openPage(b *testing.B, h http.Handler, raw string) (leave func()) {
	server := httptest.NewServer(h)
	answer, err := http.Get(server.URL + "?format=events&" + raw)
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, answer.Body) // until it is closed
	}()
	return func() { _ = answer.Body.Close(); <-done; server.Close() }
}
