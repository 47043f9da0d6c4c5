package debug

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// many makes named channels of all kinds, each with something to tell.
func many(tb testing.TB, n int) []sluice.Chan[int] {
	tb.Helper()
	var all []sluice.Chan[int]
	for i := range n {
		o := &sluice.Options[int]{Name: fmt.Sprintf("%s %d", tb.Name(), i*7919%n)}
		var c sluice.Chan[int]
		switch i % 4 {
		case 0:
			c = sluice.NewRendezvous(o)
		case 1:
			c = sluice.NewBounded(4+i%60, o)
		case 2:
			c = sluice.NewElastic(1000, o)
		case 3:
			c = sluice.NewSharded(100, o)
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

// BenchmarkChannel is what a value costs through a channel without a name, with one,
// and with one while a page is open on it: three figures that should be the same.
func BenchmarkChannel(b *testing.B) {
	for _, kind := range []struct {
		name string
		make func(*sluice.Options[int]) sluice.Chan[int]
	}{
		{"Bounded", func(o *sluice.Options[int]) sluice.Chan[int] { return sluice.NewBounded(128, o) }},
		{"Sharded", func(o *sluice.Options[int]) sluice.Chan[int] { return sluice.NewSharded(128, o) }},
	} {
		for _, state := range []string{"no name", "named", "page open"} {
			b.Run(kind.name+"/"+state, func(b *testing.B) {
				o := new(sluice.Options[int])
				if state != "no name" {
					o.Name = b.Name()
				}
				c := kind.make(o)
				if state == "page open" {
					defer openPage(b)()
				}
				pass(b, c)
			})
		}
	}
}

// pass sends values from one goroutine and receives them in another.
func pass(b *testing.B, c sluice.Chan[int]) {
	ctx := context.Background()
	go func() {
		for i := range b.N {
			_ = c.Send(ctx, i) // nobody closes it before
		}
		c.Close()
	}()
	b.ResetTimer()
	for {
		if _, err := c.Recv(ctx); err != nil {
			break
		}
	}
	b.StopTimer()
}

// openPage reads a stream until it is called off.
func openPage(b *testing.B) (leave func()) {
	server := httptest.NewServer(Handler())
	answer, err := http.Get(server.URL + "?format=events")
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
