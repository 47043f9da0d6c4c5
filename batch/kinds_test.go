package batch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// A shape describes a channel to test with.
type shape struct {
	elastic     bool
	capacity    int // or limit; 0 behaves like a Rendezvous
	overflow    sluice.Overflow
	bytes       bool // an Elastic that is also limited in bytes, one per value
	oneReceiver bool
}

func (s shape) String() string {
	name := fmt.Sprint("Bounded ", s.capacity)
	switch {
	case s.elastic && s.capacity == sluice.Unlimited:
		name = "Elastic Unlimited"
	case s.elastic:
		name = fmt.Sprint("Elastic ", s.capacity)
	}
	if s.overflow != sluice.Block {
		name += " " + s.overflow.String()
	}
	if s.bytes {
		name += " bytes"
	}
	if s.oneReceiver {
		name += " one receiver"
	}
	return name
}

// open makes a channel of the shape.
func open(s shape, undelivered func(int, sluice.Reason)) sluice.Channel[int] {
	if !s.elastic {
		return sluice.NewBounded(s.capacity, &sluice.BoundedOptions[int]{
			Overflow: s.overflow, OnUndelivered: undelivered, SingleReceiver: s.oneReceiver,
		})
	}
	o := &sluice.ElasticOptions[int]{Overflow: s.overflow, OnUndelivered: undelivered, SingleReceiver: s.oneReceiver}
	if s.bytes {
		o.MaxBytes, o.Size = int64(s.capacity), func(int) int { return 1 }
	}
	return sluice.NewElastic(s.capacity, o)
}

// kindOf makes a Bounded with that capacity.
func kindOf(capacity int) sluice.Channel[int] { return open(shape{capacity: capacity}, nil) }

// sequence is 0, 1, … n-1.
func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// closedContext returns a context that is done.
func closedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// mustPanic fails t unless f panics with a text that begins with "batch: ", the name of
// the function, and a colon, and contains all the words.
func mustPanic(t *testing.T, function string, words []string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		message, ok := recover().(string)
		if !ok {
			t.Errorf("%s: no panic, or not with a string", function)
			return
		}
		for _, word := range append(words, "batch: "+function+": ") {
			if !strings.Contains(message, word) {
				t.Errorf("panic %q does not contain %q", message, word)
			}
		}
	}()
	f()
}

// withLinger returns options with a linger.
func withLinger(d time.Duration) *batch.Options[int] { return &batch.Options[int]{Linger: d} }

// withBytes returns o with a limit in bytes and a linger.
func withBytes(maxBytes int64, linger time.Duration, o *batch.Options[int]) *batch.Options[int] {
	with := *o
	with.MaxBytes, with.Linger = maxBytes, linger
	return &with
}
