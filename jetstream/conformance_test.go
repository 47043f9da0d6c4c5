package jetstream_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/jetstream"
	"github.com/sluice-go/sluice/sluicetest"
)

// made counts channels, for names that no other has.
var made atomic.Int64

// opener returns a function that opens a channel of its own each time, all of one
// server inside of the process.
func opener[T any](t *testing.T, dir string, o jetstream.Options[T]) func() *jetstream.Channel[T] {
	return func() *jetstream.Channel[T] {
		o := o
		o.Dir, o.Name = dir, fmt.Sprint("channel-", made.Add(1))
		c, err := jetstream.Open(context.Background(), &o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Leave(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return c
	}
}

// TestConformance: the channel is one of sluice, so far as a channel can be that is not
// in this process. What cannot be, the suite leaves out: see Kind.Remote.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{2, 16} {
		t.Run(fmt.Sprint("limit ", capacity), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			sluicetest.Run(t, sluicetest.Kind{
				Capacity: capacity, Order: sluicetest.PerSender, PassedOver: sluicetest.NoBound,
				Allocates: true, Remote: true, Patience: 5 * time.Minute,
				Numbers: func(func(uint64)) sluicetest.Channel[uint64] {
					return opener(t, dir, jetstream.Options[uint64]{Limit: capacity})()
				},
				Pointers: func() sluicetest.Channel[*sluicetest.Parcel] {
					return opener(t, dir, jetstream.Options[*sluicetest.Parcel]{Limit: capacity})()
				},
				Strings: func() sluicetest.Channel[string] {
					return opener(t, dir, jetstream.Options[string]{Limit: capacity})()
				},
				Empties: func() sluicetest.Channel[struct{}] {
					return opener(t, dir, jetstream.Options[struct{}]{Limit: capacity})()
				},
				Giants: func() sluicetest.Channel[sluicetest.Giant] {
					return opener(t, dir, jetstream.Options[sluicetest.Giant]{Limit: capacity})()
				},
			})
		})
	}
}
