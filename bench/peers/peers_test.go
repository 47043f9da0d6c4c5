package peers

import (
	"runtime"
	"testing"
	"time"
)

// Whatever a peer's own Close does, as a contender it delivers its backlog, one
// by one or in a loop, and then reports the end.
func TestBacklogSurvivesClose(t *testing.T) {
	const n = 10_000
	for _, c := range All() {
		t.Run(c.Name, func(t *testing.T) {
			ch := c.Make(n)
			for v := range uint64(n / 2) {
				ch.Send(v)
			}
			ch.SendRange(n/2, n)
			ch.Close()
			for want := range uint64(10) {
				if v, ok := ch.Recv(); !ok || v != want {
					t.Fatalf("received %d, %v, not %d", v, ok, want)
				}
			}
			rest := ch.Drain()
			if rest.Count != n-10 || rest.Sum != n*(n-1)/2-45 || rest.Unordered != 0 {
				t.Errorf("the rest of %d values: %+v", n-10, rest)
			}
		})
	}
}

// Recv reports the end, as Drain does.
func TestRecvSeesTheEnd(t *testing.T) {
	for _, c := range All() {
		t.Run(c.Name, func(t *testing.T) {
			ch := c.Make(4)
			ch.Send(7)
			ch.Close()
			if v, ok := ch.Recv(); !ok || v != 7 {
				t.Fatalf("received %d, %v, not 7", v, ok)
			}
			if v, ok := ch.Recv(); ok {
				t.Errorf("received %d after the end", v)
			}
		})
	}
}

// A contender that left its pump behind would slow down the contenders measured
// after it.
func TestDrainedPeersLeaveNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, c := range All() {
		for range 20 {
			ch := c.Make(100)
			ch.SendRange(0, 100)
			ch.Close()
			ch.Drain()
		}
	}
	for runtime.NumGoroutine() > before {
		// A pump may still be about to exit. If one never exits, the test times
		// out and the stacks show where it is.
		time.Sleep(time.Millisecond)
	}
}

func TestPeersHaveNotes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.Name] || c.Name == "" {
			t.Errorf("the name %q does not identify a peer", c.Name)
		}
		seen[c.Name] = true
		if c.Note == "" {
			t.Errorf("%s: the note is missing", c.Name)
		}
	}
}
