package segqueue

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
)

// The size of a []byte or string is known without a call of the user's Size
// function. These two types are not generic, so only an addition is between the
// caller and send, and a Metered of []byte or string is as few calls away as an
// Engine.

type (
	meteredBytes   struct{ *Metered[[]byte] }
	meteredStrings struct{ *Metered[string] }
)

// Known returns m as an engine whose values have the size of engine.KnownSize.
func Known[T any](m *Metered[T]) engine.Engine[T] { return known(m).(engine.Engine[T]) }

// known is not inlined: it would bring both types into each package that makes a channel
// of any type, and the compiler would compile their engines there again.
//
//go:noinline
func known(m any) any {
	switch m := m.(type) {
	case *Metered[[]byte]:
		return meteredBytes{m}
	case *Metered[string]:
		return meteredStrings{m}
	}
	return m
}

// Send implements engine.Engine. A slice whose capacity exceeds the limit may still
// be accepted: see engine.KnownSize.
func (m meteredBytes) Send(ctx context.Context, v []byte) error {
	size := uint64(cap(v) + engine.SliceHeader)
	if size > m.meter.limit {
		return m.Metered.Send(ctx, v)
	}
	return m.send(v, size)
}

// TrySend implements engine.Engine.
func (m meteredBytes) TrySend(v []byte) error {
	return m.Send(engine.NoWait{}, v)
}

// Send implements engine.Engine.
func (m meteredStrings) Send(_ context.Context, v string) error {
	size := uint64(len(v) + engine.StringHeader)
	if size > m.meter.limit {
		return engine.ErrTooLarge
	}
	return m.send(v, size)
}

// TrySend implements engine.Engine.
func (m meteredStrings) TrySend(v string) error {
	return m.Send(engine.NoWait{}, v)
}
