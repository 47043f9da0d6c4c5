package spill

import (
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// ErrUnknown is part of the error of a write that may or may not have been stored.
var ErrUnknown = errUnknown

// A Store is what a Durable requires of its log, for tests that replace it.
type Store = store

// Simulation is how a queue is opened whose log is on a simulated disk. queue.db, which does not
// change, is a real file.
type Simulation struct {
	Dir     string
	Segment int64 // the size of segments
	Policy  DamagePolicy
	Memory  int64
	Wrap    func(Store) Store // nil, or what is put between the Durable and its log
}

// Format creates a queue, and returns a disk with its log.
func (s Simulation) Format() (*simdisk.Disk, error) {
	c, err := reopenWith(opener{noSync: true}, s.Dir)
	if err != nil {
		return nil, err
	}
	if err := c.Shutdown(); err != nil {
		return nil, err
	}
	d := simdisk.New()
	log := filepath.Join(s.Dir, logFolder)
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

// Open opens the queue with its log on d.
func (s Simulation) Open(d disk.Disk) (*Durable[[]byte], error) {
	p, err := (&DurableOptions[[]byte]{MemoryLimit: s.Memory, OnDamage: s.Policy}).config()
	if err != nil {
		return nil, err
	}
	o := opener{noSync: true, policy: s.Policy, segment: s.Segment, reserve: 4 * s.Segment, disk: func(string) disk.Disk { return d }}
	log, found, repair, err := o.open(s.Dir, p.codec.Name())
	if err != nil {
		return nil, err
	}
	var on store = log
	if s.Wrap != nil {
		on = s.Wrap(on)
	}
	c := newDurable(p, on, found)
	c.repair = repair
	return c, nil
}

// A StoredRecord is a record of the log.
type StoredRecord struct {
	Seq     uint64
	Payload []byte
	Damaged error
}

// Stored returns the records in the log of a queue with sequence numbers from on, without receiving them.
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

// Seq returns the sequence number of the record of a delivery.
func (d *Delivery[T]) Seq() uint64 { return d.seq }
