package sluicetest

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// A call is an operation in a goroutine of its own. Its fields are plain: the
// test reads them after synctest.Wait, which synchronizes with the goroutine.
type call struct {
	done   bool
	n      int      // values sent, or received
	values []uint64 // values received
	err    error
}

// start runs op in a goroutine.
func start(op func(c *call)) *call {
	c := new(call)
	go func() {
		op(c)
		c.done = true
	}()
	return c
}

func startSend(ctx context.Context, c Channel[uint64], v uint64) *call {
	return start(func(p *call) {
		if p.err = c.Send(ctx, v); p.err == nil {
			p.n = 1
		}
	})
}

func startRecv(ctx context.Context, c Channel[uint64]) *call {
	return start(func(p *call) {
		v, err := c.Recv(ctx)
		if p.err = err; err == nil {
			p.n, p.values = 1, []uint64{v}
		}
	})
}

func startSendBatch(ctx context.Context, c Channel[uint64], vs []uint64) *call {
	return start(func(p *call) { p.n, p.err = c.SendBatch(ctx, vs) })
}

func startRecvBatch(ctx context.Context, c Channel[uint64], size int) *call {
	return start(func(p *call) {
		buf := make([]uint64, size)
		p.n, p.err = c.RecvBatch(ctx, buf)
		p.values = buf[:max(0, min(p.n, size))]
	})
}

// settle waits until every goroutine of the bubble is durably blocked.
func settle() { synctest.Wait() }

// parked settles, and fails t if the call has returned.
func (p *call) parked(t *testing.T, what string) {
	t.Helper()
	settle()
	if p.done {
		t.Fatalf("%s returned n=%d values=%v err=%v, want it to wait", what, p.n, p.values, p.err)
	}
}

// returned settles, and fails t if the call still waits or returned another
// error.
func (p *call) returned(t *testing.T, what string, err error) {
	t.Helper()
	settle()
	if !p.done {
		t.Fatalf("%s still waits, want %v", what, err)
	}
	if p.err != err {
		t.Fatalf("%s returned %v, want %v", what, p.err, err)
	}
}

// received settles, and fails t unless the call received exactly v.
func (p *call) received(t *testing.T, what string, v uint64) {
	t.Helper()
	p.returned(t, what, nil)
	if len(p.values) != 1 || p.values[0] != v {
		t.Fatalf("%s received %v, want %d", what, p.values, v)
	}
}

// mustSend sends v to a channel that has room.
func mustSend[T any](t *testing.T, c Channel[T], v T) {
	t.Helper()
	if err := c.TrySend(v); err != nil {
		t.Fatalf("TrySend with room: %v", err)
	}
}

// mustRecv receives want, which must be available now.
func mustRecv[T comparable](t *testing.T, c Channel[T], want T) {
	t.Helper()
	v, err := c.TryRecv()
	if err != nil {
		t.Fatalf("TryRecv: %v, want a value", err)
	}
	if v != want {
		t.Fatalf("TryRecv: received %v, want %v", v, want)
	}
}

// mustBeEmpty fails t unless the open channel c is empty.
func mustBeEmpty[T any](t *testing.T, c Channel[T]) {
	t.Helper()
	if v, err := c.TryRecv(); err != sluice.ErrEmpty {
		t.Fatalf("TryRecv with nothing to receive: %v, %v, want %v", v, err, sluice.ErrEmpty)
	}
}

// fill sends 0, 1, … to c, an empty channel of kind k, until it is full.
func fill(t *testing.T, k Kind, c Channel[uint64]) {
	t.Helper()
	for i := range k.Capacity {
		mustSend(t, c, uint64(i))
	}
}
