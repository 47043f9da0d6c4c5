// Package made recognizes channels that no constructor of this module made: nil pointers
// and zero values. A function that would lose what it received, or accepted, checks its
// channels before it begins.
package made

import (
	"fmt"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
)

// Require panics in the name of function, such as "bridge: FromChan", if channel is nil,
// or is a nil pointer or a zero value of a type that has an engine. role is the word for
// channel in the message: "sender", "receiver". A nil pointer of another type may well be a
// channel. If sluice.LeaveOpen wraps the channel, Require checks the wrapped channel.
func Require(function, role string, channel any) {
	if channel == nil {
		panic(fmt.Sprintf("%s: nil %s", function, role))
	}
	channel = stage.Unwrap(channel)
	if e, ok := engine.Of(channel); ok && e == nil {
		panic(fmt.Sprintf("%s: the %s is a %T that no constructor made", function, role, channel))
	}
}

// Own reports whether channel is a kind of package sluice.
func Own(channel any) bool {
	e, _ := engine.Of(channel)
	_, ok := e.(interface{ Snapshot(n int) engine.Snapshot })
	return ok
}
