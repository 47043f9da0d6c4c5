package sluice_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// A shape describes a channel of this package, except for its element type.
type shape struct {
	elastic     bool
	capacity    int // or limit; 0 for a rendezvous
	overflow    sluice.Overflow
	shrink      sluice.ShrinkMode
	bytes       bool // limited in bytes too: each value is 1 byte, the limit is capacity
	sizes       bool // limited in bytes too: a value is 0 to 4 bytes, the limit is capacity+1
	oneSender   bool
	oneReceiver bool
}

func (s shape) String() string {
	name := "Rendezvous"
	switch {
	case s.elastic && s.capacity == sluice.Unlimited:
		name = "Elastic Unlimited"
	case s.elastic:
		name = fmt.Sprint("Elastic ", s.capacity)
	case s.capacity > 0:
		name = fmt.Sprint("Bounded ", s.capacity)
	}
	if s.overflow != sluice.Block {
		name += " " + s.overflow.String()
	}
	if s.shrink != sluice.ShrinkHalf {
		name += " " + s.shrink.String()
	}
	for word, on := range map[string]bool{
		"bytes": s.bytes, "sizes": s.sizes, "one sender": s.oneSender && !s.oneReceiver,
		"one receiver": s.oneReceiver && !s.oneSender, "one sender, one receiver": s.oneSender && s.oneReceiver,
	} {
		if on {
			name += " " + word
		}
	}
	return name
}

// open returns a new channel of shape s.
func open[T any](s shape, onDrop func(T)) sluicetest.Channel[T] {
	o := &sluice.BoundedOptions[T]{
		Overflow: s.overflow, OnUndelivered: dropped(onDrop), SingleSender: s.oneSender, SingleReceiver: s.oneReceiver,
	}
	switch {
	case s.elastic:
		return openElastic(s, onDrop)
	case s.capacity > 0:
		return sluice.NewBounded(s.capacity, o)
	default:
		return sluice.NewRendezvous((*sluice.RendezvousOptions[T])(o))
	}
}

func openElastic[T any](s shape, onDrop func(T)) *sluice.Elastic[T] {
	o := &sluice.ElasticOptions[T]{
		Overflow: s.overflow, OnUndelivered: dropped(onDrop), SingleSender: s.oneSender, SingleReceiver: s.oneReceiver,
		Shrink: s.shrink,
	}
	if s.bytes {
		o.MaxBytes = int64(s.capacity)
		o.Size = func(T) int { return 1 }
	}
	if s.sizes {
		o.MaxBytes = int64(s.capacity) + 1
		o.Size = func(v T) int { return sizeOf(any(v).(uint64)) }
	}
	return sluice.NewElastic(s.capacity, o)
}

// sizeOf returns the size of a value in a shape with sizes.
func sizeOf(v uint64) int { return int(v * 7 % 5) }

const (
	// bargingCapacity is the capacity from which a Bounded allows barging, as an
	// Elastic does.
	bargingCapacity = 16
	// maxBypass is how often barging may pass over a parked goroutine before the
	// channel serves that goroutine first.
	maxBypass = 32
)

func (s shape) kind() sluicetest.Kind {
	k := sluicetest.Kind{
		Capacity:    s.capacity,
		Overflow:    s.overflow,
		OneSender:   s.oneSender,
		OneReceiver: s.oneReceiver,
		Memory:      s.memory(),
		Variant:     !suite.All() || !slices.Contains(inFull, s),
		Numbers:     func(onDrop func(uint64)) sluicetest.Channel[uint64] { return open(s, onDrop) },
		Pointers:    func() sluicetest.Channel[*sluicetest.Parcel] { return open[*sluicetest.Parcel](s, nil) },
		Strings:     func() sluicetest.Channel[string] { return open[string](s, nil) },
		Empties:     func() sluicetest.Channel[struct{}] { return open[struct{}](s, nil) },
		Giants:      func() sluicetest.Channel[sluicetest.Giant] { return open[sluicetest.Giant](s, nil) },
	}
	if s.elastic && (!s.bytes || s.overflow == sluice.Reject) || s.capacity >= bargingCapacity {
		k.MaxBypass = maxBypass
	}
	return k
}

// memory returns the shape's limits: a Bounded allocates its slots, an Elastic little
// more than its queued values. A limit of bytes has its own account.
func (s shape) memory() *sluicetest.Memory {
	if !s.elastic {
		return &sluicetest.Memory{Idle: 1024 + 8*float64(s.capacity)}
	}
	m := &sluicetest.Memory{Idle: 1024}
	if s.bytes {
		m.Idle += 256
	}
	if s.capacity != sluice.Unlimited {
		return m
	}
	m.Queued, m.QueuedPeak, m.Drained = 8.5, 9.5, 4096
	if s.shrink == sluice.NoShrink {
		m.Drained = 0
	}
	return m
}

// inFull are the shapes that the suite runs in full if every test runs: one for each way in which this
// package's code differs. The others are variants of these.
var inFull = []shape{
	{}, {capacity: 3}, {capacity: 3, overflow: sluice.DropOldest},
	{capacity: 16, oneSender: true}, {capacity: 1024}, {capacity: 1024, oneSender: true, oneReceiver: true},
	{elastic: true, capacity: 5, oneSender: true, oneReceiver: true}, {elastic: true, capacity: sluice.Unlimited},
	{elastic: true, capacity: 5, bytes: true}, {elastic: true, capacity: 5, overflow: sluice.DropOldest},
}

// conform runs the suite against each shape.
//
// The shapes cover the pairs of parameters that meet in the code, not all combinations. A Bounded
// below bargingCapacity and an Elastic with a limit in bytes have one lock, to which promises make
// no difference. For the others each promise is its own code, and capacity is only a bound. Shrink
// matters if there are several segments.
func conform(t *testing.T, shapes ...shape) {
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) { sluicetest.Run(t, s.kind()) })
	}
}

func TestRendezvous(t *testing.T) {
	conform(t, shape{}, shape{oneSender: true, oneReceiver: true},
		shape{overflow: sluice.Reject}, shape{overflow: sluice.DropNewest})
}

func TestBounded(t *testing.T) {
	conform(t,
		shape{capacity: 1}, shape{capacity: 3}, shape{capacity: 8, oneSender: true, oneReceiver: true},
		shape{capacity: 16}, shape{capacity: 16, oneSender: true}, shape{capacity: 16, oneReceiver: true},
		shape{capacity: 16, oneSender: true, oneReceiver: true},
		shape{capacity: 1024}, shape{capacity: 1024, oneSender: true, oneReceiver: true},

		shape{capacity: 1, overflow: sluice.Reject}, shape{capacity: 128, overflow: sluice.Reject},
		shape{capacity: 3, overflow: sluice.DropNewest}, shape{capacity: 128, overflow: sluice.DropNewest},
		shape{capacity: 1, overflow: sluice.DropOldest}, shape{capacity: 3, overflow: sluice.DropOldest},
		shape{capacity: 128, overflow: sluice.DropOldest},
		shape{capacity: 3, overflow: sluice.DropOldest, oneSender: true, oneReceiver: true},
		shape{capacity: 128, overflow: sluice.DropOldest, oneSender: true, oneReceiver: true},
	)
}

func TestElastic(t *testing.T) {
	conform(t,
		shape{elastic: true, capacity: 1}, shape{elastic: true, capacity: 5}, shape{elastic: true, capacity: 1000},
		shape{elastic: true, capacity: 1000, shrink: sluice.ShrinkEmpty},
		shape{elastic: true, capacity: 1 << 30, shrink: sluice.NoShrink},
		shape{elastic: true, capacity: sluice.Unlimited},
		shape{elastic: true, capacity: sluice.Unlimited, shrink: sluice.ShrinkEmpty},
		shape{elastic: true, capacity: sluice.Unlimited, shrink: sluice.NoShrink},

		shape{elastic: true, capacity: 5, oneSender: true}, shape{elastic: true, capacity: 5, oneReceiver: true},
		shape{elastic: true, capacity: 5, oneSender: true, oneReceiver: true},
		shape{elastic: true, capacity: 1 << 30, oneSender: true, oneReceiver: true},

		shape{elastic: true, capacity: 5, overflow: sluice.Reject}, shape{elastic: true, capacity: 500, overflow: sluice.DropNewest},
		shape{elastic: true, capacity: 5, overflow: sluice.DropOldest}, shape{elastic: true, capacity: 500, overflow: sluice.DropOldest},
	)
}

func TestElasticOfBytes(t *testing.T) {
	conform(t,
		shape{elastic: true, capacity: 1, bytes: true}, shape{elastic: true, capacity: 5, bytes: true},
		shape{elastic: true, capacity: 1000, bytes: true},
		shape{elastic: true, capacity: 5, bytes: true, overflow: sluice.DropNewest},
		shape{elastic: true, capacity: 5, bytes: true, overflow: sluice.DropOldest},
		shape{elastic: true, capacity: 500, bytes: true, overflow: sluice.Reject},
		shape{elastic: true, capacity: 5, bytes: true, overflow: sluice.Reject, oneSender: true, oneReceiver: true},
	)
}
