package queue

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync/atomic"

	"github.com/sluice-go/sluice/bench/logagg/parse"
	"github.com/sluice-go/sluice/spill"
)

// folder returns where a kind keeps its files, and what removes that at the end unless the user
// has named it.
func (o Options) folder() (path string, remove func() error, err error) {
	if o.Dir != "" {
		return o.Dir, nothing, nil
	}
	path, err = os.MkdirTemp("", "logagg-")
	return path, func() error { return os.RemoveAll(path) }, err
}

// eventBytes is the memory of an event; its only pointer refers to a shared
// name.
const eventBytes = 32

// limit returns the memory limit of a channel that holds capacity events in
// memory. With the default GOGC, half of it is reserved for the garbage
// collector.
func (o Options) limit() int64 { return 2 * int64(o.Capacity) * eventBytes }

// newSpill returns a queue whose events beyond the capacity are on disk.
func newSpill(o Options) (Queue, error) {
	path, remove, err := o.folder()
	if err != nil {
		return nil, err
	}
	c, err := spill.OpenElastic(path, &spill.ElasticOptions[parse.Event]{
		Name: channelName, MemoryLimit: o.limit(), DiskLimit: cmp.Or(o.DiskBytes, 1<<30),
		Size: func(parse.Event) int { return eventBytes },
	})
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return newOwn(o, c, remove), nil
}

// disk is a store on a spill.Durable.
type disk struct {
	queue  *spill.Durable[[]parse.Event]
	remove func() error
	found  atomic.Int64 // packets of the previous process, not yet received
	damage error        // of the receiver
}

type onDisk = *spill.Delivery[[]parse.Event]

// newDurable returns a queue that the next process can continue, if its folder
// still exists.
func newDurable(o Options) (Queue, error) {
	path, remove, err := o.folder()
	if err != nil {
		return nil, err
	}
	q, err := spill.OpenDurable(path, &spill.DurableOptions[[]parse.Event]{
		Name: channelName, MemoryLimit: o.limit(), DiskLimit: cmp.Or(o.DiskBytes, 1<<30), Codec: packets{},
	})
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	d := &disk{queue: q, remove: remove}
	d.found.Store(int64(q.Len()))
	return newStored(o, d, o.Dir != "", true), nil
}

func (d *disk) send(ctx context.Context, events []parse.Event) error {
	return d.queue.Send(ctx, events)
}

// receive skips records that were damaged on disk, which cannot be counted. End
// reports them.
func (d *disk) receive(ctx context.Context) (onDisk, error) {
	for {
		p, err := d.queue.Recv(ctx)
		damaged := (*spill.RecordError)(nil)
		if !errors.As(err, &damaged) {
			return p, err
		}
		d.damage = errors.Join(d.damage, err)
		if err := damaged.Drop(); err != nil {
			return nil, err
		}
	}
}

func (d *disk) closeSending() { d.queue.Close() }

// rest is receive: there is no other sender, so a closed queue reports when it
// is empty.
func (d *disk) rest(ctx context.Context, _ func() int) (onDisk, error) { return d.receive(ctx) }

// open reports that every event found at the start may have been delivered
// before: only the previous process knew what it had counted.
func (d *disk) open(p onDisk) (events []parse.Event, again bool) {
	return p.Value, d.found.Add(-1) >= 0
}

func (d *disk) settle(_ context.Context, ps []onDisk) error { return d.queue.Ack(ps...) }

// unsettle does nothing: unsettled packets are delivered when the queue is
// opened again, and until then no other receiver could take them.
func (d *disk) unsettle([]onDisk) {}

func (d *disk) count(a *Account) { a.Packets = d.queue.Len() }

func (d *disk) end() error {
	return errors.Join(d.damage, d.queue.Shutdown(), d.remove())
}
