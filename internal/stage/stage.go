// Package stage contains the rules that all stages of a pipeline share. A stage that ends
// early closes the channel it receives from, so that no sender waits forever. A stage
// whose goroutines are locked to threads does not receive from an iterator. A stage that would
// lose what it received, or accepted, checks its channels before it begins.
package stage

import (
	"fmt"

	"github.com/sluice-go/sluice/internal/engine"
)

// What a receiver tells stages about itself is a type of this package that it embeds, through an
// alias: then the users of the receiver see neither a field nor a method.
//
//	type shared = stage.Shared
//
//	type Channel struct {
//		shared
//		…
//	}

// LeftOpen is embedded by a wrapper around a receiver that the user asked stages to leave
// open.
type LeftOpen struct{ receiver any }

// LeaveOpen returns the LeftOpen of a wrapper around r.
func LeaveOpen(r any) LeftOpen { return LeftOpen{r} }

func (l LeftOpen) leftOpen() any { return l.receiver }

type opener interface{ leftOpen() any }

// Shared is embedded by a receiver that also belongs to other processes: stages do not close
// it.
type Shared struct{}

func (Shared) shared() {}

// Iterator is embedded by a receiver that may run an iterator, which goroutines that are locked
// to threads cannot share: the runtime ends the program.
type Iterator struct{ runs bool }

// Iterates returns the Iterator of a receiver that runs one, or does not.
func Iterates(runs bool) Iterator { return Iterator{runs} }

func (i Iterator) runsIterator() bool { return i.runs }

// Early is embedded by a receiver that runs goroutines of its own, such as the results of
// workers. Its stop frees senders and does not wait; the receiver's Close does the same, waits
// for the goroutines, and panics if one of them has panicked.
type Early struct{ stop func() }

// StopsEarly returns the Early of a receiver with that stop.
func StopsEarly(stop func()) Early { return Early{stop} }

func (e Early) stopEarly() {
	if e.stop != nil { // else the receiver is a zero value, and Close says so
		e.stop()
	}
}

// End closes r on behalf of a stage that ends early, and waits for the goroutines of r,
// if r is a stage itself. Senders to r then fail with
// ErrClosed; the values still queued in r can still be received.
//
// End does nothing if r has no Close method, if r was wrapped by sluice.LeaveOpen, or if
// r is Shared.
func End(r any) {
	defer Wait(r)
	Stop(r)
}

// EndAll ends all of rs like End. It waits for none of them before all are stopped. A
// panic of one does not skip the others.
func EndAll(rs []any) {
	defer each(rs, Wait)
	each(rs, Stop)
}

// each calls f for all of rs, even if f panics.
func each(rs []any, f func(any)) {
	if len(rs) > 0 {
		defer each(rs[1:], f)
		f(rs[0])
	}
}

// Stop is the first half of End, which frees the senders. It waits for no goroutine of r.
func Stop(r any) {
	if !ends(r) {
		return
	}
	switch c := r.(type) {
	case interface{ stopEarly() }:
		c.stopEarly()
	case interface{ Close() }:
		c.Close()
	}
}

// Wait is the second half of End: it waits for the goroutines of r, if r has any, and
// panics if one of them has panicked and r has not reported that.
func Wait(r any) {
	s, ok := r.(interface {
		stopEarly()
		Close()
	})
	if ok && ends(r) {
		s.Close()
	}
}

// ends reports whether a stage may end r.
func ends(r any) bool {
	_, open := r.(opener)
	_, shared := r.(interface{ shared() })
	return !open && !shared
}

// Unwrap returns the receiver that sluice.LeaveOpen was given, or r itself if r was not
// wrapped. Stages use it to find the kind of channel below, never to close it.
func Unwrap(r any) any {
	for {
		o, ok := r.(opener)
		if !ok {
			return r
		}
		r = o.leftOpen()
	}
}

// NeedsUnlockedThread reports whether r runs an iterator: see [Iterator].
func NeedsUnlockedThread(r any) bool {
	i, ok := Unwrap(r).(interface{ runsIterator() bool })
	return ok && i.runsIterator()
}

// Require panics in the name of function, such as "bridge: FromChan", if channel is nil,
// or is a nil pointer or a zero value of a type that has an engine. role is the word for
// channel in the message: "sender", "receiver". A nil pointer of another type may well be a
// channel. If sluice.LeaveOpen wraps the channel, Require checks the wrapped channel.
func Require(function, role string, channel any) {
	if channel == nil {
		panic(fmt.Sprintf("%s: nil %s", function, role))
	}
	channel = Unwrap(channel)
	if e, ok := engine.Of(channel); ok && e == nil {
		panic(fmt.Sprintf("%s: the %s is a %T that no constructor made", function, role, channel))
	}
}
