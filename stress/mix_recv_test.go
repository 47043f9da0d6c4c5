package stress

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// A mixReceiver receives until the channel is closed and drained.
type mixReceiver struct {
	*mix
	rng  *rand.Rand
	got  [][]int // numbers by sender
	kept []struct{ vs, copied []cell }
}

func (r *mixReceiver) run() {
	for open := true; open; {
		ctx, cancel := soon(r.rng)
		open = !errors.Is(r.receive(ctx), sluice.ErrClosed)
		cancel()
	}
	for _, k := range r.kept {
		if !slices.Equal(k.vs, k.copied) {
			r.t.Error("a slice was changed that the body has kept")
		}
	}
	for _, err := r.single(r.c.TryRecv()); err == nil; {
		_, err = r.single(r.c.TryRecv())
	}
}

// receive makes one of the possible calls.
func (r *mixReceiver) receive(ctx context.Context) (err error) {
	switch r.rng.IntN(9) {
	case 0:
		_, err = r.single(r.c.Recv(ctx))
	case 1:
		buf := make([]cell, 1+r.rng.IntN(2*r.size))
		var n int
		n, err = r.c.RecvBatch(ctx, buf)
		r.count(buf[:n])
	case 2:
		_, err = r.single(r.c.TryRecv())
	case 3:
		_, _ = r.c.Stats(), r.c.Len()
		if r.useReady {
			select {
			case <-r.c.Ready():
			case <-time.After(time.Millisecond):
			}
		}
	default:
		return r.loop(ctx)
	}
	return err
}

// loop receives some batches.
func (r *mixReceiver) loop(ctx context.Context) error {
	linger := time.Duration(r.rng.IntN(100_000) * (r.rng.IntN(3) / 2))
	most := r.size
	if r.rng.IntN(4) == 0 {
		most = 1 + r.rng.IntN(3*r.size)
	}
	b, left := batch.Receive(ctx, sluice.LeaveOpen(r.c), most, &batch.Options[cell]{Linger: linger}), 1+r.rng.IntN(200)
	defer func() {
		if p := recover(); p != nil && p != "a body" {
			panic(p)
		}
	}()
	for vs := range b.All() {
		if len(vs) == 0 || len(vs) > most {
			r.t.Errorf("a batch of %d, want 1 to %d", len(vs), most)
		}
		r.count(vs)
		switch r.rng.IntN(20) {
		case 0:
			_, _ = r.single(r.c.TryRecv())
		case 1:
			clear(vs)
		case 2:
			for i := range vs {
				vs[i] = cell{sender: -1}
			}
		}
		if left--; left > 0 {
			continue
		}
		if len(r.kept) < 100 {
			r.kept = append(r.kept, struct{ vs, copied []cell }{vs, slices.Clone(vs)})
		}
		if r.rng.IntN(2) == 0 {
			panic("a body")
		}
		return nil
	}
	if b.Err() == nil { // the loop has drained a closed channel
		return sluice.ErrClosed
	}
	return b.Err()
}

func (r *mixReceiver) single(v cell, err error) (cell, error) {
	if err == nil {
		r.count([]cell{v})
	}
	return v, err
}

func (r *mixReceiver) count(vs []cell) {
	for _, v := range vs {
		if v.pointer == nil || *v.pointer != v.number || v.again != v.number {
			r.t.Errorf("a broken value: %+v", v)
			continue
		}
		seen := r.got[v.sender]
		if len(seen) > 0 && seen[len(seen)-1] >= v.number {
			r.t.Errorf("sender %d: value %d came after %d", v.sender, v.number, seen[len(seen)-1])
		}
		r.got[v.sender] = append(seen, v.number)
	}
}
