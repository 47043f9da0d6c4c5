// Package peers makes contenders of the Go libraries that this one is compared
// with. Only this package and its importers compile them.
//
// Each peer is used as its documentation recommends, with its default way to
// wait. A Note is what a user has to know, such as a Close that is missing.
package peers

import (
	"context"

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
