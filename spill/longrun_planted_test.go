package spill

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// planted is a fault between the account and the queue, or between the queue and its disk. nil
// functions change nothing.
type planted struct {
	queue func(queue) queue
	disk  func(*simdisk.Disk) disk.Disk
}

// A faultyQueue calls its functions instead of the methods of the queue, unless they are nil.
type faultyQueue struct {
	queue
	send func(ctx context.Context, v []byte) error
	recv func(ds []*Delivery[[]byte]) (int, error)
	ack  func(ds []*Delivery[[]byte]) error
}

func (q faultyQueue) Send(ctx context.Context, v []byte) error {
	if q.send == nil {
		return q.queue.Send(ctx, v)
	}
	return q.send(ctx, v)
}

func (q faultyQueue) SendBatch(ctx context.Context, vs [][]byte) (n int, err error) {
	if q.send == nil {
		return q.queue.SendBatch(ctx, vs)
	}
	for n < len(vs) && err == nil {
		if err = q.send(ctx, vs[n]); err == nil {
			n++
		}
	}
	return n, err
}

func (q faultyQueue) TryRecvBatch(ds []*Delivery[[]byte]) (int, error) {
	if q.recv == nil {
		return q.queue.TryRecvBatch(ds)
	}
	return q.recv(ds)
}

func (q faultyQueue) Ack(ds ...*Delivery[[]byte]) error {
	if q.ack == nil {
		return q.queue.Ack(ds...)
	}
	return q.ack(ds)
}

// A faultyDisk does not remove segments, or does not close files, or reads all files when it is
// listed.
type faultyDisk struct {
	*simdisk.Disk
	keeps, leaks, reads bool
}

func (d faultyDisk) Remove(name string) error {
	if files, _ := d.Disk.List(); d.keeps && strings.HasSuffix(name, ".log") {
		for other := range files {
			if strings.HasSuffix(other, ".log") && other > name {
				return nil // an old one
			}
		}
	}
	return d.Disk.Remove(name)
}

func (d faultyDisk) Open(name string) (disk.File, error) {
	f, err := d.Disk.Open(name)
	if d.leaks && err == nil {
		f = unclosed{f}
	}
	return f, err
}

func (d faultyDisk) List() (map[string]int64, error) {
	files, err := d.Disk.List()
	for name := range files {
		if !d.reads || err != nil {
			break
		}
		f, err := d.Disk.Open(name)
		if err != nil {
			return nil, err
		}
		for range 5 {
			_, _ = f.ReadAt(make([]byte, files[name]), 0)
		}
		_ = f.Close()
	}
	return files, err
}

type unclosed struct{ disk.File }

func (unclosed) Close() error { return nil }

// TestLongRunSees: the long run notices each planted fault.
func TestLongRunSees(t *testing.T) {
	var n atomic.Int64 // calls
	sometimes := func() bool { return n.Add(1)%60 == 59 }
	stop := make(chan struct{})
	defer close(stop)
	var kept struct {
		sync.Mutex
		all [][]byte
	}
	send := func(f func(q queue, ctx context.Context, v []byte) error) planted {
		return planted{queue: func(q queue) queue {
			return faultyQueue{queue: q, send: func(ctx context.Context, v []byte) error { return f(q, ctx, v) }}
		}}
	}
	for says, fault := range map[string]planted{
		"not in the account any more": {queue: func(q queue) queue { // forgets an acknowledgement
			return faultyQueue{queue: q, ack: func(ds []*Delivery[[]byte]) error {
				if sometimes() {
					return nil
				}
				return q.Ack(ds...)
			}}
		}},
		"are not in the log": send(func(q queue, ctx context.Context, v []byte) error { // loses a value
			if sometimes() {
				return nil
			}
			return q.Send(ctx, v)
		}),
		"comes after": send(func(q queue, ctx context.Context, v []byte) error { // stores a value twice
			err := q.Send(ctx, v)
			if err == nil && sometimes() {
				_ = q.Send(ctx, v) // a disk that fails now must not make the value one that was never sent
			}
			return err
		}),
		"although no send of it succeeded": send(func(q queue, ctx context.Context, v []byte) error { // reports failure after success
			err := q.Send(ctx, v)
			if err == nil && sometimes() {
				err = syscall.ENOSPC
			}
			return err
		}),
		"on a disk that works": {queue: func(q queue) queue { // does not recover from a full disk
			var full atomic.Bool
			return faultyQueue{queue: q, send: func(ctx context.Context, v []byte) error {
				err := syscall.ENOSPC
				if !full.Load() {
					if err := q.Send(ctx, v); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, errUnknown) {
						return err
					}
					full.Store(true)
				}
				return err
			}}
		}},
		"want the first of": {queue: func(q queue) queue { // swaps two values
			return faultyQueue{queue: q, recv: func(ds []*Delivery[[]byte]) (int, error) {
				n, err := q.TryRecvBatch(ds)
				if n > 1 && sometimes() {
					ds[0], ds[1] = ds[1], ds[0]
				}
				return n, err
			}}
		}},
		"goroutines": send(func(q queue, ctx context.Context, v []byte) error {
			if sometimes() {
				go func() { <-stop }()
			}
			return q.Send(ctx, v)
		}),
		"bytes of heap": send(func(q queue, ctx context.Context, v []byte) error {
			kept.Lock()
			kept.all = append(kept.all, make([]byte, 64<<10))
			kept.Unlock()
			return q.Send(ctx, v)
		}),
		"bytes on disk":  {disk: func(d *simdisk.Disk) disk.Disk { return faultyDisk{Disk: d, keeps: true} }},
		"files are open": {disk: func(d *simdisk.Disk) disk.Disk { return faultyDisk{Disk: d, leaks: true} }},
		"opening read":   {disk: func(d *simdisk.Disk) disk.Disk { return faultyDisk{Disk: d, reads: true} }},
		"":               {disk: func(d *simdisk.Disk) disk.Disk { d.Liar = "sync"; return d }},
	} {
		r, err := newLongRun(t.TempDir(), 2, fault)
		if err == nil {
			err = r.run(600)
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
		if r != nil && r.open != nil {
			_ = r.open.Shutdown()
		}
	}
	if len(kept.all) == 0 {
		t.Error("nothing was kept")
	}
}
