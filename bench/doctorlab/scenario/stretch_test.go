package main

import (
	"bytes"
	"runtime"
	"testing"
	"time"
)

// stretchItems is how many items a test lets a scenario do; those whose items take
// their time do pacedItems.
const (
	stretchItems = 3000
	pacedItems   = 36
)

var paced = map[string]bool{"accounts": true, "devices": true, "routes": true, "secrets": true}

// With a remedy a service does the same as without, and counts the same.
func TestRemediesChangeNoResult(t *testing.T) {
	tested := 0
	for _, v := range all() {
		if v.stretches == nil {
			continue
		}
		tested++
		t.Run(v.Name, func(t *testing.T) {
			items := stretchItems
			if paced[v.Name] {
				items = pacedItems
				t.Parallel()
			}
			want, found := digestOf(t, v.stretches[asFound], items)
			if found == 0 || want == 0 {
				t.Fatalf("as found it did %d items, with digest %d", found, want)
			}
			for remedy, f := range v.stretches {
				if got, done := digestOf(t, f, items); got != want || done != found {
					t.Errorf("with remedy %s it did %d items, with digest %d; as found %d, with %d", remedy, done, got, found, want)
				}
			}
			if again, _ := digestOf(t, v.stretches[asFound], items-12); again == want {
				t.Error("the digest is the same of fewer items")
			}
		})
	}
	if tested < 10 {
		t.Errorf("%d scenarios were tested", tested)
	}
}

func digestOf(t *testing.T, f stretch, items int) (digest uint64, done int64) {
	t.Helper()
	s := new(service)
	digest = f(s, items)
	return digest, s.reading().Items
}

// The scanner leaves two goroutines behind for each secret, and with a remedy none.
func TestSecretsLeak(t *testing.T) {
	const files, secretive = 6, 4
	v, _, err := find("secrets", asFound)
	if err != nil {
		t.Fatal(err)
	}
	for remedy, left := range map[string]int{asFound: 2 * secretive, cancelWait: 0, buffer: 0} {
		before := generators()
		v.stretches[remedy](new(service), files)
		// Goroutines end a moment after they were told to; that they do ends the wait.
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

// What would help the services whose channels are well, which is how it is known that
// it is not the channels: go test -bench=Instead.
func BenchmarkInstead(b *testing.B) {
	for _, c := range []struct {
		name string
		run  stretch
	}{
		{"sessions/stripes=1", func(s *service, items int) uint64 { return runSessions(s, items, 1, 16, 32) }},
		{"sessions/stripes=64", func(s *service, items int) uint64 { return runSessions(s, items, 64, 16, 32) }},
		{"webhooks/GOGC=8", func(s *service, items int) uint64 { return runWebhooks(s, items, webhookGC, 4, 32) }},
		{"webhooks/GOGC=100", func(s *service, items int) uint64 { return runWebhooks(s, items, usualGC, 4, 32) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			const items = 60_000 // enough to fill what is kept
			for b.Loop() {
				c.run(new(service), items)
			}
			b.ReportMetric(float64(items*b.N)/b.Elapsed().Seconds(), "items/s")
		})
	}
}
