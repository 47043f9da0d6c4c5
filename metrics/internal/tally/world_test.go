package tally

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// A fake is a channel whose Stats a test sets.
type fake struct {
	id uint64

	mu    sync.Mutex
	stats sluice.Stats

	gate  atomic.Pointer[chan struct{}] // while it is set, Stats blocks
	under atomic.Int64                  // calls of Stats under way
}

func (f *fake) Stats() sluice.Stats {
	f.under.Add(1)
	defer f.under.Add(-1)
	if gate := f.gate.Load(); gate != nil {
		<-*gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// block makes Stats block until unblock.
func (f *fake) block() (unblock func()) {
	gate := make(chan struct{})
	f.gate.Store(&gate)
	return func() {
		f.gate.Store(nil)
		close(gate)
	}
}

func (f *fake) send(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Sent += n
}

// A world is a tally that sees the channels of one test, and keeps them alive.
type world struct {
	*Tally
	alive []*fake // by ascending ID
}

func newWorld(limit int) *world {
	w := &world{Tally: New("newWorld", limit)}
	w.channels = func() []inspect.Channel {
		return slices.DeleteFunc(inspect.Channels(), func(n inspect.Channel) bool { return w.find(n.ID) < 0 })
	}
	return w
}

func (w *world) find(id uint64) int {
	return slices.IndexFunc(w.alive, func(f *fake) bool { return f.id == id })
}

// channel returns a new channel.
func (w *world) channel(name, kind string, stats sluice.Stats) *fake {
	f := &fake{stats: stats}
	inspect.Register(name, kind, f)
	listed := inspect.Channels()
	f.id = listed[len(listed)-1].ID
	w.alive = append(w.alive, f)
	return f
}

// sent returns a new channel that has counted n values.
func (w *world) sent(name string, n uint64) *fake {
	return w.channel(name, "fake", sluice.Stats{Sent: n})
}

// garbage ends the life of a channel, as far as the tally can see.
func (w *world) garbage(f *fake) {
	at := w.find(f.id)
	w.alive = slices.Delete(w.alive, at, at+1)
}

// sums collects, and returns the number of values sent under each name.
func (w *world) sums(t *testing.T) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	for _, s := range w.Collect().Series {
		if _, twice := sums[s.Name]; twice {
			t.Fatalf("two series of the name %q", s.Name)
		}
		sums[s.Name] = s.Sent
	}
	return sums
}

// reallyGarbage runs the collector until no channel of the name is registered.
func reallyGarbage(name string) {
	for slices.ContainsFunc(inspect.Channels(), func(n inspect.Channel) bool { return n.Name == name }) {
		runtime.GC() // the test's deadline ends it if the channel stays
		runtime.Gosched()
	}
}
