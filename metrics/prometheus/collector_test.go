package sluiceprom

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/sluice-go/sluice"
)

// keep keeps channels alive to the end of a test.
func keep(c any) { runtime.KeepAlive(c) }

// unique is a name that nothing else has, nor a run of the same test before, whose
// channels may not be garbage yet.
func unique(t *testing.T) string { return fmt.Sprint(t.Name(), "#", runs.Add(1)) }

var runs atomic.Uint64

// The names, types and texts are those that Prometheus's own lint likes.
func TestLint(t *testing.T) {
	c := sluice.NewSharded[int](3, &sluice.ShardedOptions[int]{Name: unique(t)})
	problems, err := testutil.CollectAndLint(NewCollector(everyName))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	keep(c)
}

func TestRegisteredTwice(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	first := NewCollector(nil)
	registry.MustRegister(first)
	already, ok := errors.AsType[prometheus.AlreadyRegisteredError](registry.Register(NewCollector(nil)))
	if !ok || already.ExistingCollector != first {
		t.Errorf("%v", already)
	}
	if !registry.Unregister(first) {
		t.Error("it cannot be unregistered")
	}
	if err := registry.Register(first); err != nil {
		t.Error(err)
	}
}

// Each name has as many series as Options says.
func TestSeriesOfAName(t *testing.T) {
	name := unique(t)
	c := sluice.NewRendezvous[int](&sluice.RendezvousOptions[int]{Name: name})
	told := scrape(t, serve(t, everyName))
	n := 0
	for metric := range told {
		n += len(told.values(metric, "name="+name))
	}
	if n != 18 {
		t.Errorf("%d series", n)
	}
	keep(c)
}

func TestRefused(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); got != "sluice: NewCollector: MaxNames is -1, below 0" {
			t.Errorf("it panics with %q", got)
		}
	}()
	NewCollector(&Options{MaxNames: -1})
}

// Scrapes at the same time, while channels work, are made and become garbage: each is
// whole, and no counter falls from one to the next.
func TestConcurrentScrapes(t *testing.T) {
	name := unique(t)
	const scrapers, scrapes = 4, 20
	address := serve(t, everyName)
	ctx, stop := context.WithCancel(t.Context())
	var working, scraping sync.WaitGroup
	working.Go(func() {
		for ctx.Err() == nil {
			c := sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: name})
			for i := range 64 {
				if err := c.TrySend(i); err != nil {
					t.Error(err)
				}
			}
			runtime.Gosched()
		}
	})
	for range scrapers {
		scraping.Go(func() {
			var before float64
			for range scrapes {
				told := scrape(t, address)
				for _, now := range told.values("sluice_channel_sent_total", "name="+name) {
					if now < before {
						t.Errorf("it fell from %v to %v", before, now)
					}
					before = now
				}
			}
		})
	}
	scraping.Wait()
	stop()
	working.Wait()
}

// A scrape of ten thousand channels, of as many names as have series by default, and of
// ten thousand names.
func BenchmarkScrape(b *testing.B) {
	const channels = 10_000
	for _, names := range []int{100, channels} {
		b.Run(fmt.Sprintf("channels=%d/names=%d", channels, names), func(b *testing.B) {
			all := make([]*sluice.Bounded[int], channels)
			for i := range all {
				all[i] = sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: fmt.Sprintf("%s-%d", strings.Repeat("n", 16), i%names)})
			}
			registry := prometheus.NewRegistry()
			registry.MustRegister(NewCollector(&Options{MaxNames: names}))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := registry.Gather(); err != nil {
					b.Fatal(err)
				}
			}
			keep(all)
		})
	}
}
