package stage

import (
	"strings"
	"testing"
)

type channel struct{ closed, shared bool }

func (c *channel) Close()       { c.closed = true }
func (c *channel) Shared() bool { return c.shared }

type wrapper struct{ r any }

func (w wrapper) LeftOpen() any { return w.r }

func TestEnd(t *testing.T) {
	own, shared, left := new(channel), &channel{shared: true}, new(channel)
	End(own)
	End(shared)
	End(wrapper{left})
	End(struct{}{}) // no Close
	End(nil)
	if !own.closed || shared.closed || left.closed {
		t.Errorf("closed: own %v, shared %v, left open %v", own.closed, shared.closed, left.closed)
	}
}

// A running channel records what is called.
type running struct {
	name  string
	calls *[]string
}

func (r running) StopEarly() { *r.calls = append(*r.calls, "stop "+r.name) }

func (r running) Close() {
	*r.calls = append(*r.calls, "close "+r.name)
	panic(r.name)
}

// broken is a channel whose Close panics.
type broken struct{}

func (broken) Close() { panic("broken") }

// TestEndAll: all channels are stopped before EndAll waits for one, and a panic skips
// none of them.
func TestEndAll(t *testing.T) {
	var calls []string
	last := new(channel)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		EndAll([]any{running{"a", &calls}, broken{}, running{"b", &calls}, wrapper{running{"c", &calls}}, last})
	}()
	if got := strings.Join(calls, ", "); got != "stop a, stop b, close a, close b" || !last.closed {
		t.Errorf("%s; the last one closed: %v", got, last.closed)
	}
}

func TestUnwrap(t *testing.T) {
	c := new(channel)
	for _, r := range []any{c, wrapper{c}, wrapper{wrapper{c}}} {
		if Unwrap(r) != c {
			t.Errorf("Unwrap(%T) is not the channel", r)
		}
	}
}

type iterator struct{ locked bool }

func (i iterator) NeedsUnlockedThread() bool { return i.locked }

func TestNeedsUnlockedThread(t *testing.T) {
	for _, test := range []struct {
		r    any
		want bool
	}{{iterator{true}, true}, {wrapper{iterator{true}}, true}, {iterator{false}, false}, {new(channel), false}, {nil, false}} {
		if got := NeedsUnlockedThread(test.r); got != test.want {
			t.Errorf("NeedsUnlockedThread(%#v) is %v", test.r, got)
		}
	}
}
