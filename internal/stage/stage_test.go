package stage

import (
	"strings"
	"testing"
)

type channel struct{ closed bool }

func (c *channel) Close() { c.closed = true }

// A sharing channel also belongs to other processes.
type sharing struct {
	Shared
	*channel
}

type wrapper struct{ LeftOpen }

func wrap(r any) wrapper { return wrapper{LeftOpen{r}} }

func TestEnd(t *testing.T) {
	own, shared, left := new(channel), new(channel), new(channel)
	End(own)
	End(sharing{channel: shared})
	End(wrap(left))
	End(struct{}{}) // no Close
	End(nil)
	if !own.closed || shared.closed || left.closed {
		t.Errorf("closed: own %v, shared %v, left open %v", own.closed, shared.closed, left.closed)
	}
}

// A running channel records what is called.
type running struct {
	Early
	name  string
	calls *[]string
}

func newRunning(name string, calls *[]string) running {
	return running{Early{func() { *calls = append(*calls, "stop "+name) }}, name, calls}
}

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
		EndAll([]any{newRunning("a", &calls), broken{}, newRunning("b", &calls), wrap(newRunning("c", &calls)), last})
	}()
	if got := strings.Join(calls, ", "); got != "stop a, stop b, close a, close b" || !last.closed {
		t.Errorf("%s; the last one closed: %v", got, last.closed)
	}
}

func TestUnwrap(t *testing.T) {
	c := new(channel)
	for _, r := range []any{c, wrap(c), wrap(wrap(c))} {
		if Unwrap(r) != c {
			t.Errorf("Unwrap(%T) is not the channel", r)
		}
	}
}

func TestNeedsUnlockedThread(t *testing.T) {
	for _, test := range []struct {
		r    any
		want bool
	}{{Iterator{true}, true}, {wrap(Iterator{true}), true}, {Iterator{false}, false}, {new(channel), false}, {nil, false}} {
		if got := NeedsUnlockedThread(test.r); got != test.want {
			t.Errorf("NeedsUnlockedThread(%#v) is %v", test.r, got)
		}
	}
}
