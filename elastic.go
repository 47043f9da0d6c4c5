package sluice

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/handoff"
	"github.com/sluice-go/sluice/internal/priority"
	"github.com/sluice-go/sluice/internal/registry"
	"github.com/sluice-go/sluice/internal/segqueue"
)

// An Elastic is a FIFO that grows as needed, up to a limit, and gives memory back when
// the backlog is gone. [ElasticOptions.MaxAge] drops values that are too old, and
// [ElasticOptions.StaleAfter] puts those that are old behind the others. It has the
// methods of [Channel], documented at [Bounded].
type Elastic[T any] struct{ channel[T] }

// NewElastic returns an empty Elastic that queues at most limit values; write
// [Unlimited] if memory is the only limit. [ElasticOptions.LimitBytes] limits its size in
// bytes as well. A limit below 1, and options that make no sense, panic.
func NewElastic[T any](limit int, o *ElasticOptions[T]) *Elastic[T] {
	requireLimit("NewElastic", "limit", limit, 1)
	return &Elastic[T]{newChannel(o.config(limit), o.undelivered(), func(c engine.Config[T]) engine.Engine[T] {
		switch {
		case o.hasAges():
			e := priority.NewAged(o.aged(c))
			registry.Engine("Elastic", c, e.Engine)
			return e
		case c.Size == nil:
			return registry.Engine("Elastic", c, segqueue.New(c))
		case c.Overflow == engine.Reject: // no sender waits for room
			m := segqueue.NewMetered(c)
			registry.Engine("Elastic", c, m.Engine)
			if c.SizeIsKnown {
				return segqueue.Known(m)
			}
			return m
		default:
			// Sizes are added up under one lock, and a large value is not
			// overtaken by smaller ones: handoff does both.
			return registry.Engine("Elastic", c, handoff.New(c))
		}
	})}
}

func (e *Elastic[T]) engineOf() (self, engine any) {
	if e == nil {
		return e, nil
	}
	return e, e.engine
}

func (o *ElasticOptions[T]) config(limit int) engine.Config[T] {
	if o == nil {
		return engine.Config[T]{Limit: limit, Elastic: true}
	}
	const function = "NewElastic"
	requireOverflow(function, o.Overflow, true)
	if o.MaxAge == 0 {
		requireDrops(function, o.Overflow, o.OnDrop != nil)
	}
	requireShrink(function, o.Shrink)
	o.requireAges(function)
	size, limitBytes := o.Size, o.LimitBytes
	if limitBytes > 0 && size == nil {
		size = engine.KnownSize[T](limitBytes)
		if size == nil && !engine.HasPointers[T]() {
			limit, limitBytes = min(limit, slotsIn(function, limitBytes, engine.SizeOf[T]())), 0
		}
	}
	switch {
	case o.LimitBytes < 0:
		refuse(function, "LimitBytes must not be negative (got %d)", o.LimitBytes)
	case limitBytes > 0 && size == nil:
		var v T
		refuse(function, "LimitBytes requires Size for values of type %T, which contains pointers", v)
	case o.LimitBytes == 0 && o.Size != nil:
		refuse(function, "Size requires LimitBytes")
	}
	c := engine.Config[T]{
		Name: o.Name, Limit: limit, Elastic: true, Shrink: engine.Shrink(o.Shrink),
		SingleSender: o.SingleSender && !o.hasAges(), SingleReceiver: o.SingleReceiver && !o.hasAges(),
		LimitBytes: limitBytes, Size: size, SizeIsKnown: limitBytes > 0 && o.Size == nil,
	}
	return withPolicy(function, c, o.Overflow, o.OnDrop, o.OnUndelivered)
}

// slotsIn returns how many values of a fixed size a limit in bytes allows. It panics if that
// is none.
func slotsIn(function string, limitBytes int64, size int) int {
	n := limitBytes / int64(max(size, 1))
	if n == 0 {
		refuse(function, "LimitBytes must be at least %d, the size of a value (got %d)", size, limitBytes)
	}
	return int(min(n, int64(Unlimited)))
}

// requireAges panics if MaxAge or StaleAfter make no sense.
func (o *ElasticOptions[T]) requireAges(function string) {
	switch {
	case o.MaxAge < 0:
		refuse(function, "MaxAge must not be negative (got %v)", o.MaxAge)
	case o.StaleAfter < 0:
		refuse(function, "StaleAfter must not be negative (got %v)", o.StaleAfter)
	case o.MaxAge > 0 && o.StaleAfter >= o.MaxAge:
		refuse(function, "StaleAfter must be less than MaxAge (got %v and %v): older values are dropped", o.StaleAfter, o.MaxAge)
	case o.hasAges() && o.LimitBytes != 0:
		refuse(function, "LimitBytes cannot be combined with MaxAge or StaleAfter; limit the number of values")
	}
}

// hasAges reports whether values have a time stamp.
func (o *ElasticOptions[T]) hasAges() bool { return o != nil && (o.MaxAge > 0 || o.StaleAfter > 0) }

// aged adds what only the engine of values with a time stamp reads.
func (o *ElasticOptions[T]) aged(c engine.Config[T]) priority.Config[T] {
	p := priority.Config[T]{Config: c, MaxAge: o.MaxAge, StaleAfter: o.StaleAfter, OnExpire: o.OnDrop}
	if hook := o.OnUndelivered; hook != nil {
		p.OnExpire = func(v T) { hook(v, TooOld) }
	}
	return p
}
