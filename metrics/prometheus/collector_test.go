package sluiceprom_test

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
	sluiceprom "github.com/sluice-go/sluice/metrics/prometheus"
)

// keep keeps channels alive to the end of a test.
func keep(c any) { runtime.KeepAlive(c) }

// unique returns a name that no other test has used, nor an earlier run of this test,
// whose channels may not be garbage yet.
func unique(t *testing.T) string { return fmt.Sprint(t.Name(), "#", runs.Add(1)) }

var runs atomic.Uint64

// TestLint: names, types and help texts pass the lint of Prometheus.
func TestLint(t *testing.T) {
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: unique(t)})
	problems, err := testutil.CollectAndLint(sluiceprom.NewCollector(everyName))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	keep(c)
}

func TestRegisteredTwice(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	first := sluiceprom.NewCollector(nil)
	registry.MustRegister(first)
	already, ok := errors.AsType[prometheus.AlreadyRegisteredError](registry.Register(sluiceprom.NewCollector(nil)))
	if !ok || already.ExistingCollector != first {
		t.Errorf("%v", already)
	}
	if !registry.Unregister(first) {
		t.Error("Unregister failed")
	}
	if err := registry.Register(first); err != nil {
		t.Error(err)
	}
}

// TestSeriesOfAName: each name has the number of series that Options documents.
func TestSeriesOfAName(t *testing.T) {
	name := unique(t)
	c := sluice.NewRendezvous[int](&sluice.RendezvousOptions[int]{Name: name})
	exported := scrape(t, serve(t, everyName))
	n := 0
	for metric := range exported {
		n += len(exported.values(metric, "name="+name))
	}
	if n != 22 {
		t.Errorf("%d series, want the documented number", n)
	}
	keep(c)
}

func TestRefused(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); got != "sluice: NewCollector: MaxNames is -1, want at least 0" {
			t.Errorf("panic %q", got)
		}
	}()
	sluiceprom.NewCollector(&sluiceprom.Options{MaxNames: -1})
}

// TestConcurrentScrapes: each scrape is complete, and counters never fall, during
// concurrent scrapes while channels are in use, created, and become garbage.
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
				exported := scrape(t, address)
				for _, now := range exported.values("sluice_channel_sent_total", "name="+name) {
					if now < before {
						t.Errorf("the counter fell from %v to %v", before, now)
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

// BenchmarkScrape scrapes 10,000 channels, with as many names as have series by
// default, and with 10,000 names.
func BenchmarkScrape(b *testing.B) {
	const channels = 10_000
	for _, names := range []int{100, channels} {
		b.Run(fmt.Sprintf("channels=%d/names=%d", channels, names), func(b *testing.B) {
			all := make([]*sluice.Bounded[int], channels)
			for i := range all {
				all[i] = sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: fmt.Sprintf("%s-%d", strings.Repeat("n", 16), i%names)})
			}
			registry := prometheus.NewRegistry()
			registry.MustRegister(sluiceprom.NewCollector(&sluiceprom.Options{MaxNames: names}))
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
