package spill

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/logstore"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// ackAll receives and acknowledges what is queued, in batches.
func ackAll(t testing.TB, c *Durable[[]byte], batch int) {
	t.Helper()
	ds := make([]*Delivery[[]byte], batch)
	for c.Len() > 0 {
		n, err := c.RecvBatch(context.Background(), ds)
		if err == nil {
			err = c.Ack(ds[:n]...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A testQueue is how a queue is opened for a test: with small segments, without syncs, and
// with its log on a simulated disk if there is one.
type testQueue struct {
	Dir     string
	Segment int64 // the size of segments
	Policy  DamagePolicy
	Memory  int64
	Fresh   time.Duration
}

// format creates a queue, and returns a disk with its files.
func (q testQueue) format() (*simdisk.Disk, error) {
	c, err := q.open(nil)
	if err != nil {
		return nil, err
	}
	if err := c.Shutdown(); err != nil {
		return nil, err
	}
	d := simdisk.New()
	entries, err := os.ReadDir(q.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == disk.LockFile {
			continue
		}
		b, err := os.ReadFile(filepath.Join(q.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		d.Put(e.Name(), b)
	}
	return d, nil
}

// open opens the queue, with its log on d unless d is nil.
func (q testQueue) open(d disk.Disk) (*Durable[[]byte], error) {
	p, err := (&DurableOptions[[]byte]{MemoryLimit: q.Memory, Fresh: q.Fresh, OnDamage: q.Policy, Log: slog.New(slog.DiscardHandler)}).config()
	if err != nil {
		return nil, err
	}
	if d == nil {
		d = disk.Folder{Dir: q.Dir, NoSync: true}
	}
	c, err := openQueue(d, q.Dir, p, logstore.Options{SegmentSize: q.Segment, Reserve: 4 * q.Segment, Acks: 16 * q.Segment})
	if err != nil {
		return nil, err
	}
	c.reopen = nil // a store that fails ends the channel
	return c, nil
}

// logged returns the records in the log of a queue with sequence numbers from on, without
// receiving them.
func (c *Durable[T]) logged(from uint64) (all []logstore.Record, err error) {
	c.mu.Lock()
	tail := c.tail
	c.mu.Unlock()
	for {
		records, err := c.store.Read(from, tail, 1<<20)
		if err != nil || len(records) == 0 {
			return all, err
		}
		all = append(all, records...)
		from = records[len(records)-1].Seq + 1
	}
}
