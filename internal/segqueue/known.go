package segqueue

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
)

// A value whose size is known by its type needs no call to ask for it. These two types
// are not generic: so nothing is between the caller and send but an addition, and a
// Metered of []byte or string is as few calls away as an Engine.

type (
	meteredBytes   struct{ *Metered[[]byte] }
	meteredStrings struct{ *Metered[string] }
)

// Known is m for senders whose values have the size of engine.KnownSize.
func Known[T any](m *Metered[T]) engine.Engine[T] {
	var as any = m
	switch m := as.(type) {
	case *Metered[[]byte]:
		as = meteredBytes{m}
	case *Metered[string]:
		as = meteredStrings{m}
	}
	return as.(engine.Engine[T])
}

// Send implements engine.Engine. What is above the limit by its capacity may yet be
// within it: see engine.KnownSize.
func (m meteredBytes) Send(ctx context.Context, v []byte) error {
	size := uint64(cap(v) + engine.SliceHead)
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
	size := uint64(len(v) + engine.StringHead)
	if size > m.meter.limit {
		return engine.ErrTooLarge
	}
	return m.send(v, size)
}

// TrySend implements engine.Engine.
func (m meteredStrings) TrySend(v string) error {
	return m.Send(engine.NoWait{}, v)
}
