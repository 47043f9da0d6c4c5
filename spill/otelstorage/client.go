package otelstorage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"

	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A client is a map from keys to values in a log of package logstore. A value that is set is a record
// of the log, with its key. A batch is a commit: it adds records, and acknowledges those that it
// replaces or deletes.
//
// On a full disk, a queue must be able to drain, and it writes its state for each item. So the spare file
// keeps the space of a segment. It is removed when a batch that does not add keys finds no room, and no
// batch may add keys until it could be made again.
//
// A queue may have millions of items when it is opened. Reading their keys would take as long as
// draining it. So a client reads the last records, where the queue has its state, and then the others
// in order when a call asks for a key that is still unknown. For a queue, that is one read for both
// the keys and the values of its next items.
//
// Invariants:
//
//	the value of a key is in its live record with the highest sequence number; without one it is not set
//	records in [unread, tail) were not read; all others that are live are in keys or stale
//	keys has the highest sequence number of each key among the records that were read or written
//	stale has live records of keys that have a later one; the next commit acknowledges them
//	a key is deleted only when no record of it can be in [unread, tail)
//	log == nil: the client is closed, or the log failed and is opened again by the next call
type client struct {
	disk   disk.Disk
	config *Config
	logger *zap.Logger

	mu           sync.Mutex
	log          *logstore.Store
	closed       bool
	next         uint64 // sequence number of the next record
	keys         keys
	stale        []uint64
	unread, tail uint64
	ahead        []logstore.Record // read before they were asked for, by sequence number
	last         uint64            // the last record that was asked for
	spare        bool              // the spare file exists
	tried        time.Time         // when it could not be made
}

const (
	tailLength = 8         // records that open reads
	readAhead  = 256 << 10 // bytes of records that are read at once
	inOrder    = 64        // how far apart are records that are read in order, at most
	segment    = 8 << 20   // bytes of a file of the log
)

var (
	_ storage.Walker = (*client)(nil)

	errClosed    = errors.New("the storage client is closed")
	errOperation = errors.New("unknown type of operation")
)

// open opens the log. The caller holds mu.
func (c *client) open(ctx context.Context) error {
	o := logstore.Options{Codec: "otelstorage", SegmentSize: segment}
	if c.config.MaxSize > 0 {
		o.SegmentSize = min(segment, c.config.MaxSize/8)
	}
	start := time.Now()
	log, found, err := logstore.Open(c.disk, o) // waits a quarter of a second for the lock
	for errors.Is(err, disk.ErrLocked) && ctx.Err() == nil && (c.config.Timeout == 0 || time.Since(start) < c.config.Timeout) {
		log, found, err = logstore.Open(c.disk, o)
	}
	var damage *logstore.DamagedError
	switch {
	case errors.Is(err, disk.ErrLocked):
		return fmt.Errorf("%s is in use by another process, or by another client of this one", c.disk.Path(""))
	case errors.As(err, &damage) && !c.config.Recreate:
		return fmt.Errorf("%w; to open it with all records that can be read, set recreate", err)
	case errors.As(err, &damage):
		report, failed := logstore.Repair(c.disk, o, nil)
		if failed != nil {
			return errors.Join(err, failed)
		}
		c.logger.Error("The store was damaged, and was repaired", zap.Error(err),
			zap.Int("records", report.Records), zap.Int("lost", report.Lost), zap.Strings("set aside", report.SetAside))
		log, found, err = logstore.Open(c.disk, o)
	}
	if err != nil {
		return err
	}
	c.log, c.next, c.keys = log, found.Next, newKeys()
	c.stale, c.ahead, c.last = nil, nil, 0
	c.unread, c.tail = found.First, found.First
	if found.Next-found.First > tailLength {
		c.tail = found.Next - tailLength
	}
	for from := c.tail; from < c.next && err == nil; {
		from, err = c.read(from, c.next)
	}
	if err != nil {
		return errors.Join(err, c.shut())
	}
	c.makeSpare()
	return nil
}

// shut closes the log.
func (c *client) shut() error {
	log := c.log
	c.log = nil
	return log.Close()
}

// ready opens the log again if it failed. The caller holds mu.
func (c *client) ready(ctx context.Context) error {
	switch {
	case c.closed:
		return errClosed
	case c.log == nil:
		return c.open(ctx)
	}
	return nil
}

// read reads the keys of about readAhead bytes of records from from on, and returns from where to read
// next. A damaged record is left where it is.
func (c *client) read(from, to uint64) (next uint64, err error) {
	records, err := c.log.Read(from, to, readAhead)
	if err != nil {
		return from, err
	}
	next = to
	for _, r := range records {
		next = r.Seq + 1
		key, _, err := parseRecord(r.Payload)
		if err = cmp.Or(r.Damaged, err); err != nil {
			c.logger.Error("A record cannot be read, and its key is missing", zap.Error(err))
			continue
		}
		switch seq := c.keys.get(key); {
		case seq < r.Seq:
			c.keys.set(key, r.Seq)
			if seq != 0 {
				c.stale = append(c.stale, seq)
			}
		case seq > r.Seq:
			c.stale = append(c.stale, r.Seq)
		}
	}
	c.ahead = records
	return next, nil
}

// find returns the sequence number of key, or 0. It reads records until it finds the key. If only
// is set, it also makes sure that the key has no other record.
func (c *client) find(key string, only bool) (seq uint64, err error) {
	for {
		seq = c.keys.get(key)
		if c.unread >= c.tail || seq != 0 && (!only || seq < c.unread) {
			return seq, nil
		}
		if c.unread, err = c.read(c.unread, c.tail); err != nil {
			return 0, err
		}
	}
}

// get returns the value of key, or nil. The caller owns it.
func (c *client) get(key string) ([]byte, error) {
	seq, err := c.find(key, false)
	if seq == 0 {
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(c.ahead, seq, func(r logstore.Record, seq uint64) int { return cmp.Compare(r.Seq, seq) })
	if !ok {
		most := int64(1)
		if c.last < seq && seq-c.last <= inOrder {
			most = readAhead
		}
		if c.ahead, err = c.log.Read(seq, c.next, most); err != nil {
			return nil, err
		}
		i = 0
	}
	if len(c.ahead) == 0 || c.ahead[i].Seq != seq {
		return nil, fmt.Errorf("record %d of key %q is missing", seq, key)
	}
	r := c.ahead[i]
	c.ahead, c.last = c.ahead[i+1:], seq
	stored, value, err := parseRecord(r.Payload)
	if err = cmp.Or(r.Damaged, err); err == nil && stored != key {
		err = fmt.Errorf("record %d has key %q, want %q", seq, stored, key)
	}
	if err != nil {
		c.logger.Error("A value cannot be read", zap.String("key", key), zap.Error(err))
		return nil, err
	}
	return value, nil
}

// Get returns the value of key, or nil if it is not set.
func (c *client) Get(ctx context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	err := c.Batch(ctx, op)
	return op.Value, err
}

// Set sets the value of key.
func (c *client) Set(ctx context.Context, key string, value []byte) error {
	return c.Batch(ctx, storage.SetOperation(key, value))
}

// Delete deletes key, if it is set.
func (c *client) Delete(ctx context.Context, key string) error {
	return c.Batch(ctx, storage.DeleteOperation(key))
}

// Batch applies operations in order, all or none. On a full disk, or beyond max_size, it returns
// storage.ErrStorageFull if it would add more keys than it deletes.
func (c *client) Batch(ctx context.Context, ops ...*storage.Operation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ready(ctx); err != nil {
		return err
	}
	return c.batch(ops)
}

func (c *client) batch(ops []*storage.Operation) error {
	last := map[string]*storage.Operation{} // of each key, the operation that changes it last
	for _, op := range ops {
		switch op.Type {
		case storage.Set, storage.Delete:
			last[op.Key] = op
		case storage.Get:
			var err error
			if earlier := last[op.Key]; earlier == nil {
				op.Value, err = c.get(op.Key)
			} else if op.Value = nil; earlier.Type == storage.Set {
				op.Value = append([]byte{}, earlier.Value...)
			}
			if err != nil {
				return err
			}
		default:
			return errOperation
		}
	}
	for key, op := range last { // first, because it may find records of other keys
		if op.Type == storage.Delete {
			if _, err := c.find(key, true); err != nil {
				return err
			}
		}
	}
	var payloads [][]byte
	var changed []*storage.Operation
	deletes, grown := slices.Clone(c.stale), 0
	for _, op := range ops {
		if last[op.Key] != op {
			continue
		}
		changed = append(changed, op)
		if seq := c.keys.get(op.Key); seq != 0 {
			deletes = append(deletes, seq)
			grown--
		}
		if op.Type == storage.Set {
			payloads = append(payloads, appendRecord(make([]byte, 0, len(op.Key)+len(op.Value)+9), op.Key, op.Value))
			grown++
		}
	}
	if err := c.write(payloads, deletes, grown > 0); err != nil {
		return err
	}
	c.stale = nil
	for _, op := range changed {
		if op.Type == storage.Delete {
			c.keys.set(op.Key, 0)
			continue
		}
		c.keys.set(op.Key, c.next)
		c.next++
	}
	return nil
}

// write commits a batch. If its result is unknown, the next call opens the log again.
func (c *client) write(payloads [][]byte, deletes []uint64, grows bool) error {
	size := c.log.Size()
	for _, payload := range payloads {
		size += int64(len(payload))
	}
	if grows && (!c.makeSpare() || c.config.MaxSize > 0 && size > c.config.MaxSize) {
		return storage.ErrStorageFull
	}
	err := c.log.Write(c.next, payloads, deletes, 0)
	if logstore.Full(err) && !grows && c.spare {
		c.spare = false
		_ = c.disk.Remove(spareFile)
		err = c.log.Write(c.next, payloads, deletes, 0)
	}
	switch {
	case errors.Is(err, logstore.ErrUnknown):
		return errors.Join(err, c.shut())
	case logstore.Full(err):
		return fmt.Errorf("%w: %w", storage.ErrStorageFull, err)
	}
	return err
}

const spareFile = "spare"

// makeSpare makes the spare file, at most once a second, and reports whether it exists.
func (c *client) makeSpare() bool {
	if c.spare || time.Since(c.tried) < time.Second {
		return c.spare
	}
	c.tried = time.Now()
	files, err := c.disk.List()
	c.spare = err == nil && logstore.KeepSpace(c.disk, files, spareFile, segment) == nil
	return c.spare
}

// Walk calls fn for each key and its value, and then applies the operations that fn returned.
func (c *client) Walk(ctx context.Context, fn storage.WalkFunc) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err = c.ready(ctx); err != nil {
		return err
	}
	for c.unread < c.tail && err == nil {
		c.unread, err = c.read(c.unread, c.tail)
	}
	var ops []*storage.Operation
	records := []logstore.Record{{}}
	for from := uint64(0); err == nil && len(records) > 0; {
		if records, err = c.log.Read(from, c.next, readAhead); err != nil {
			break
		}
		for _, r := range records {
			from = r.Seq + 1
			key, value, unreadable := parseRecord(r.Payload)
			if r.Damaged != nil || unreadable != nil || c.keys.get(key) != r.Seq {
				continue
			}
			if err = ctx.Err(); err != nil {
				return err
			}
			more, err := fn(key, value)
			if err != nil && err != storage.SkipAll {
				return err
			}
			if ops = append(ops, more...); err != nil {
				return c.batch(ops)
			}
		}
	}
	if err != nil {
		return err
	}
	return c.batch(ops)
}

// Close closes the log. Close is idempotent.
func (c *client) Close(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.log == nil {
		return nil
	}
	return c.shut()
}
