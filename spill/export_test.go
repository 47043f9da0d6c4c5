package spill

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// ErrUnknown is part of the error of a write that may or may not have been stored.
var ErrUnknown = errUnknown

// A TestQueue is how a queue is opened for a test: with small segments, without syncs, and
// with its log on a simulated disk if there is one.
type TestQueue struct {
	Dir     string
	Segment int64 // the size of segments
	Policy  DamagePolicy
	Memory  int64
}

// Format creates a queue, and returns a disk with its log. queue.db, which does not change, is
// a real file.
func (q TestQueue) Format() (*simdisk.Disk, error) {
	c, err := q.Open(nil)
	if err != nil {
		return nil, err
	}
	if err := c.Shutdown(); err != nil {
		return nil, err
	}
	d := simdisk.New()
	log := filepath.Join(q.Dir, logFolder)
	entries, err := os.ReadDir(log)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == disk.LockFile {
			continue
		}
		b, err := os.ReadFile(filepath.Join(log, e.Name()))
		if err != nil {
			return nil, err
		}
		d.Put(e.Name(), b)
	}
	return d, nil
}

// Open opens the queue, with its log on d unless d is nil.
func (q TestQueue) Open(d disk.Disk) (*Durable[[]byte], error) {
	p, err := (&DurableOptions[[]byte]{MemoryLimit: q.Memory, OnDamage: q.Policy, Log: slog.New(slog.DiscardHandler)}).config()
	if err != nil {
		return nil, err
	}
	o := opener{noSync: true, policy: q.Policy, segment: q.Segment, reserve: 4 * q.Segment, acks: 16 * q.Segment}
	if d != nil {
		o.disk = func(string) disk.Disk { return d }
	}
	log, found, repair, err := o.open(q.Dir, p.codec.Name())
	if err != nil {
		return nil, err
	}
	c := newDurable(p, log, found)
	c.repair = repair
	return c, nil
}

// A StoredRecord is a record of the log.
type StoredRecord struct {
	Seq     uint64
	Payload []byte
	Damaged error
}

// Stored returns the records in the log of a queue with sequence numbers from on, without
// receiving them.
func (c *Durable[T]) Stored(from uint64) (all []StoredRecord, err error) {
	c.mu.Lock()
	tail := c.tail
	c.mu.Unlock()
	for {
		records, err := c.store.read(from, tail, 1<<20)
		if err != nil || len(records) == 0 {
			return all, err
		}
		for _, r := range records {
			all = append(all, StoredRecord{r.seq, r.payload, r.damaged})
			from = r.seq + 1
		}
	}
}
