package engine

import (
	"sync"
	"sync/atomic"
	"testing"
)

func tokens(c <-chan struct{}) (n int, closed bool) {
	for {
		select {
		case _, ok := <-c:
			if !ok {
				return n, true
			}
			n++
		default:
			return n, false
		}
	}
}

// TestReady: before Chan nothing is kept; after it there is at most one token, and after Close
// none is added.
func TestReady(t *testing.T) {
	for _, test := range []struct {
		name             string
		hasValue, closed bool
		then             func(r *Ready)
		tokens           int
		isClosed         bool
	}{
		{"new", false, false, func(*Ready) {}, 0, false},
		{"of a channel with a value", true, false, func(*Ready) {}, 1, false},
		{"of a closed channel", false, true, func(*Ready) {}, 0, true},
		{"of a closed channel with a value", true, true, func(*Ready) {}, 1, true},
		{"posted", false, false, func(r *Ready) { r.Post() }, 1, false},
		{"posted twice", true, false, func(r *Ready) { r.Post(); r.Post() }, 1, false},
		{"closed", false, false, func(r *Ready) { r.Close(); r.Close(); r.Post() }, 0, true},
		{"posted and closed", false, false, func(r *Ready) { r.Post(); r.Close() }, 1, true},
		{"shared", false, false, func(r *Ready) { var other Ready; other.Share(r); other.Post(); other.Close() }, 1, true},
	} {
		var r Ready
		r.Post()
		r.Close()
		if r.InUse() {
			t.Errorf("%s: in use before Chan", test.name)
		}
		begun := 0
		c := r.Chan(func() (bool, bool) {
			if begun++; !r.InUse() {
				t.Errorf("%s: begin is called before the channel is in use", test.name)
			}
			return test.hasValue, test.closed
		})
		test.then(&r)
		again := r.Chan(func() (bool, bool) { begun++; return false, false })
		if again != c || begun != 1 {
			t.Errorf("%s: begin was called %d times; the same channel: %v", test.name, begun, again == c)
		}
		if n, closed := tokens(c); n != test.tokens || closed != test.isClosed {
			t.Errorf("%s: %d tokens, closed %v", test.name, n, closed)
		}
	}
}

// TestReadyLosesNoValue: receivers that take one value for each token receive all, whenever
// Chan is called for the first time, without a common lock of the engine.
func TestReadyLosesNoValue(t *testing.T) {
	const senders, receivers, each = 3, 3, 2000
	var (
		r        Ready
		queued   atomic.Int64
		received atomic.Int64
		shut     atomic.Bool
		group    sync.WaitGroup
	)
	var sending sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for range each {
				queued.Add(1)
				r.Post()
			}
		})
	}
	for range receivers {
		group.Go(func() {
			for range r.Chan(func() (bool, bool) { return queued.Load() > 0, shut.Load() }) {
				for n := queued.Load(); n > 0; n = queued.Load() {
					if queued.CompareAndSwap(n, n-1) {
						if n > 1 {
							r.Post()
						}
						if received.Add(1) == senders*each {
							shut.Store(true)
							r.Close()
						}
						break
					}
				}
			}
		})
	}
	sending.Wait()
	group.Wait() // a deadlock if a value is left without a token
	if received.Load() != senders*each {
		t.Errorf("%d values received", received.Load())
	}
}

// TestReadyAllocs: a channel without Ready pays for none.
func TestReadyAllocs(t *testing.T) {
	var r, used Ready
	used.Chan(func() (bool, bool) { return false, false })
	if n := testing.AllocsPerRun(100, func() {
		r.Post()
		used.Chan(func() (bool, bool) { return false, false })
		used.Post()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
