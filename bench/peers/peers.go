// Package peers makes contenders of the Go libraries that this one is compared
// with. Only this package and its importers compile them.
//
// Each peer is used as its documentation recommends, with its default way to
// wait. A Note is what a user has to know, such as a Close that is missing.
package peers

import (
	"context"
	"sync/atomic"

	"github.com/smallnest/chanx"

	"github.com/sluice-go/sluice/bench/contender"
)

// Chanx is github.com/smallnest/chanx, an unbounded channel whose goroutine moves
// the values between two built-in channels.
func Chanx() contender.Contender {
	return contender.Contender{
		Name:  "chanx",
		Note:  "runs with a context that is never canceled: a cancellation strands the queued values",
		Bound: contender.UnboundedOnly,
		Make: func(int) contender.Channel {
			c := chanx.NewUnboundedChan[uint64](context.Background(), contender.PublishedBuffer)
			return contender.OverEnds(c.In, c.Out)
		},
	}
}

// put sends a value to a queue that never waits: it calls try until that succeeds, and
// pause in between. Like contender.SendEach, it is inlined with its arguments.
func put(try func() bool, pause func()) bool {
	for !try() {
		pause()
	}
	return true
}

// take receives a value from such a queue, which has no end: closed is set after the last
// send, and a receiver that sees it must poll once more.
func take(try func() (uint64, bool), closed *atomic.Bool, pause func()) (v uint64, ok bool) {
	for {
		last := closed.Load()
		if v, ok = try(); ok || last {
			return v, ok
		}
		pause()
	}
}
