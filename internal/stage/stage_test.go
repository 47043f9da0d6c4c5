package stage_test

import (
	"strings"
	"testing"

	rules "github.com/sluice-go/sluice/internal/stage"
)

type channel struct{ closed bool }

func (c *channel) Close() { c.closed = true }

// A sharing channel also belongs to other processes.
type sharing struct {
	rules.Shared
	*channel
}

type wrapper struct{ rules.LeftOpen }

func wrap(r any) wrapper { return wrapper{rules.LeaveOpen(r)} }

func TestEnd(t *testing.T) {
	own, shared, left := new(channel), new(channel), new(channel)
	rules.End(own)
	rules.End(sharing{channel: shared})
	rules.End(wrap(left))
	rules.End(struct{}{}) // no Close
	rules.End(nil)
	if !own.closed || shared.closed || left.closed {
		t.Errorf("closed: own %v, shared %v, left open %v", own.closed, shared.closed, left.closed)
	}
}

// A running channel records what is called.
type running struct {
	rules.Early
	name  string
	calls *[]string
}

func newRunning(name string, calls *[]string) running {
	return running{rules.StopsEarly(func() { *calls = append(*calls, "stop "+name) }), name, calls}
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
		rules.EndAll([]any{newRunning("a", &calls), broken{}, newRunning("b", &calls), wrap(newRunning("c", &calls)), last})
	}()
	if got := strings.Join(calls, ", "); got != "stop a, stop b, close a, close b" || !last.closed {
		t.Errorf("%s; the last one closed: %v", got, last.closed)
	}
}

func TestUnwrap(t *testing.T) {
	c := new(channel)
	for _, r := range []any{c, wrap(c), wrap(wrap(c))} {
		if rules.Unwrap(r) != c {
			t.Errorf("Unwrap(%T) is not the channel", r)
		}
	}
}

func TestNeedsUnlockedThread(t *testing.T) {
	for _, test := range []struct {
		r    any
		want bool
	}{{rules.Iterates(true), true}, {wrap(rules.Iterates(true)), true}, {rules.Iterates(false), false}, {new(channel), false}, {nil, false}} {
		if got := rules.NeedsUnlockedThread(test.r); got != test.want {
			t.Errorf("NeedsUnlockedThread(%#v) is %v", test.r, got)
		}
	}
}
