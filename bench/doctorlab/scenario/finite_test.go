package main

import (
	"bytes"
	"runtime"
	"testing"
	"time"
)

// finiteItems is the number of items in a test; scenarios that pace their items
// process pacedItems.
const (
	finiteItems = 3000
	pacedItems  = 36
)

var paced = map[string]bool{"accounts": true, "devices": true, "routes": true, "secrets": true}

// Remedies change neither the output of a service nor its number of items.
func TestRemediesChangeNoResult(t *testing.T) {
	tested := 0
	for _, v := range all() {
		if v.finite == nil {
			continue
		}
		tested++
		t.Run(v.Name, func(t *testing.T) {
			items := finiteItems
			if paced[v.Name] {
				items = pacedItems
				t.Parallel()
			}
			want, found := digestOf(t, v.finite[asFound], items)
			if found == 0 || want == 0 {
				t.Fatalf("as found: %d items, digest %d", found, want)
			}
			for remedy, f := range v.finite {
				if got, done := digestOf(t, f, items); got != want || done != found {
					t.Errorf("remedy %s: %d items, digest %d; as found %d, digest %d", remedy, done, got, found, want)
				}
			}
			if again, _ := digestOf(t, v.finite[asFound], items-12); again == want {
				t.Error("fewer items have the same digest")
			}
		})
	}
	if tested < 10 {
		t.Errorf("%d scenarios were tested", tested)
	}
}

func digestOf(t *testing.T, f finiteRun, items int) (digest uint64, done int64) {
	t.Helper()
	s := new(service)
	digest = f(s, items)
	return digest, s.reading().Items
}

// The scanner leaks two goroutines per secret, and none with a remedy.
func TestSecretsLeak(t *testing.T) {
	const files, secretive = 6, 4
	v, _, err := find("secrets", asFound)
	if err != nil {
		t.Fatal(err)
	}
	for remedy, left := range map[string]int{asFound: 2 * secretive, cancelWait: 0, buffer: 0} {
		before := generators()
		v.finite[remedy](new(service), files)
		// Goroutines end a moment after they are stopped, which ends the wait.
		for generators() != before+left {
			time.Sleep(time.Millisecond)
		}
	}
}

// generators counts the goroutines that send lines.
func generators() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("/scenario.generate[...] in goroutine")) + bytes.Count(stacks, []byte("/scenario.mapped[...] in goroutine"))
}

// BenchmarkInstead measures remedies other than channels, for services whose
// channels are not the bottleneck: go test -bench=Instead.
func BenchmarkInstead(b *testing.B) {
	for _, c := range []struct {
		name string
		run  finiteRun
	}{
		{"sessions/stripes=1", func(s *service, items int) uint64 { return runSessions(s, items, 1, 16, 32) }},
		{"sessions/stripes=64", func(s *service, items int) uint64 { return runSessions(s, items, 64, 16, 32) }},
		{"webhooks/GOGC=8", func(s *service, items int) uint64 { return runWebhooks(s, items, webhookGC, 4, 32) }},
		{"webhooks/GOGC=100", func(s *service, items int) uint64 { return runWebhooks(s, items, usualGC, 4, 32) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			const items = 60_000 // enough to fill the caches
			for b.Loop() {
				c.run(new(service), items)
			}
			b.ReportMetric(float64(items*b.N)/b.Elapsed().Seconds(), "items/s")
		})
	}
}
