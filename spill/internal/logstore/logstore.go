// Package logstore stores numbered records in a folder until they are acknowledged, with
// files that are only appended to. It is a store for a Durable of package spill.
//
// A log is a sequence of commits. A commit adds records and acknowledges others, and is
// written at once, with one sync. The log is cut into segments. A segment whose records
// are all acknowledged is deleted while the store is open; one that a few old records
// keep is emptied by copying these. A checkpoint holds the state at the start of the last
// segment, so that opening reads the checkpoint and the commits after it, whatever the
// number of records.
//
// No file is mapped into memory: a file that is truncated, overwritten or deleted while
// the store is open leads to an error.
//
// Invariants:
//
//	a commit is in effect when the sync of its frames has returned, or, on a full disk, the
//	    sync of the slot that contains it; memory shows it after that
//	commit n+1 is written only after commit n is synced
//	mark <= synced end of the log, at every moment
//	a segment is created, and synced, before the checkpoint or slot that lists it; it gets commits after that
//	the active segment is as this store left it before each commit, and after its sync the lock is held,
//	    too, or else the store fails
//	a segment is removed after the commit that left no live record in it is synced
//	after a failed sync nothing is written any more
//
// docs/design/logstore.md describes the format and recovery.
package logstore

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// A Store is an open log. Write and Close may be called by one goroutine at a time, and
// Read and Size concurrently with them.
type Store struct {
	disk    disk.Disk
	options Options
	id      uint64 // random, part of all checksums
	lock    disk.Lock

	// The writer changes what follows with mu held, and reads it without.
	mu     sync.Mutex
	state  *state
	cached int // entries of places of all segments
	clock  uint64
	closed bool

	// What follows belongs to the writer.
	failed  error
	mark    disk.File
	buf     []byte
	reserve bool            // the file of the reserve exists
	area    *ackArea        // nil if its file does not exist
	inSlot  bool            // the state on disk is in a slot of the area, not in the checkpoint
	excess  int64           // end of what a failed write left in the active segment
	lastCP  int             // size of the last checkpoint
	broken  map[uint64]bool // segments with damaged records

	size    atomic.Int64 // sum of the lengths of state.segments
	warning atomic.Value // string
}

// Options are the options of Open.
type Options struct {
	// Codec is the name of the encoding of payloads. It is stored, and must be the same
	// each time.
	Codec string
	// SegmentSize is the size in bytes from which on a new segment is begun. 0 selects
	// 8 MiB.
	SegmentSize int64
	Reserve     int64 // size of the reserve in bytes; 0 selects 1 MiB
	Acks        int64 // size of the acknowledgment area in bytes; 0 selects 128 KiB
}

const (
	defaultSegmentSize = 8 << 20
	defaultReserve     = 1 << 20
	defaultAcks        = 128 << 10
	keptBuffer         = 1 << 20 // a larger buffer is not kept
)

// Contents describes what a store holds when it is opened.
type Contents struct {
	First, Next uint64 // sequence numbers of the oldest record and of the next new one
	Records     int
	Bytes       int64 // of payloads, and 8 for each record with a time
}

// A Record is a stored record.
type Record struct {
	Seq     uint64
	Time    int64 // with which it was written; 0 if it has none, or is damaged
	Payload []byte
	Damaged error // if not nil, Payload is not what was stored
}

// Memory returns the memory that a record uses, in bytes: 56 besides the payload.
func (r Record) Memory() int64 { return int64(len(r.Payload)) + 56 }

// ErrUnknown is part of the error of a write that may or may not have been stored. The
// store accepts no more writes until it is opened again.
var ErrUnknown = errors.New("whether the last write was stored is not known until the queue is opened again")

// A DamagedError reports stored bytes that are not what was written, or that are missing.
type DamagedError struct {
	Path   string // of the file
	Offset int64  // -1 for a record that was not found
	// First and Last are the sequence numbers between which records may be lost, and
	// Records is how many were there. They are 0 if that is unknown. Repair finds out.
	First, Last uint64
	Records     int
	Err         error
}

func (e *DamagedError) Error() string {
	s := e.Path + ": damaged"
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		s = e.Path + ": missing"
	case e.Offset >= 0:
		s += fmt.Sprintf(" at offset %d", e.Offset)
	}
	s += fmt.Sprintf(": %v", e.Err)
	if e.Records > 1 {
		s += fmt.Sprintf(" (up to %d records, numbers %d to %d)", e.Records, e.First, e.Last)
	}
	return s
}

func (e *DamagedError) Unwrap() error { return e.Err }

var errClosed = errors.New("spill: the store is closed")

// segmentName returns the name of the file of a segment.
func segmentName(id uint64) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, id)) + segmentSuffix
}

const segmentSuffix = ".log"

// segmentID returns the id in the name of a segment.
func segmentID(name string) (id uint64, ok bool) {
	if len(name) != 16+len(segmentSuffix) || name[16:] != segmentSuffix {
		return 0, false
	}
	_, err := fmt.Sscanf(name[:16], "%x", &id)
	return id, err == nil && segmentName(id) == name && id <= maxNumber
}

// Size returns the size of all segments in bytes.
func (s *Store) Size() int64 { return s.size.Load() }

// measure updates the result of Size.
func (s *Store) measure() {
	var size int64
	for _, g := range s.state.segments {
		size += g.length
	}
	s.size.Store(size)
}

// Close writes a checkpoint, so that nothing has to be replayed, and releases the folder.
// If a full disk has no room for it, the next Open replays the last segment instead. After
// a failed write Close leaves the files as they are. It returns an error if the folder is not the one
// that was opened any more. A store without records gives back the space of the files. Close is idempotent.
func (s *Store) Close() error {
	if s.closed {
		return nil
	}
	var err error
	if s.failed == nil {
		if err = s.attached(0); err == nil {
			err = s.leave()
		}
	}
	return errors.Join(err, s.release())
}

// leave writes the last checkpoint. The reserve and the acknowledgment area stay if there
// are records: the disk may be full when the store is opened again.
func (s *Store) leave() error {
	empty := s.state.contents().Records == 0
	if empty && s.state.active().length > segmentHeaderSize {
		if err := s.newSegment(); s.failed != nil {
			return err
		}
	}
	renamed, err := s.checkpoint(s.state)
	if !renamed && Full(err) {
		return nil
	}
	if empty && err == nil {
		s.removeArea()
		s.dropReserve()
	}
	return err
}

// release closes all files, and unlocks the folder.
func (s *Store) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.closeFiles()
	return s.lock.Close()
}

func (s *Store) closeFiles() {
	for _, g := range s.state.segments {
		s.unload(g)
		if g.file != nil {
			_ = g.file.Close()
		}
	}
	if s.mark != nil {
		_ = s.mark.Close()
	}
	if s.area != nil {
		_ = s.area.file.Close()
	}
}

// fail ends writing: the state of the disk is unknown.
func (s *Store) fail(err error) error {
	s.failed = fmt.Errorf("%w; %w", err, ErrUnknown)
	return s.failed
}

// wrap returns an error of a method of Store about a file.
func (s *Store) wrap(operation, name string, err error) error {
	return fmt.Errorf("spill: %w", s.locate(operation, name, err))
}

// locate adds the name of a file to an error, in the place of the one that it may have.
func (s *Store) locate(operation, name string, err error) error {
	return fmt.Errorf("%s %s: %w", operation, s.disk.Path(name), bare(err))
}

// bare returns an error without the path that package os has added.
func bare(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

// discard removes the segments without live records.
func (s *Store) discard() {
	s.mu.Lock()
	active := s.state.active()
	s.state.emptied = false
	var dead []*segment
	s.state.segments = slices.DeleteFunc(s.state.segments, func(g *segment) bool {
		if g == active || g.live > 0 {
			return false
		}
		dead = append(dead, g)
		s.state.frames -= g.liveFrames() // 0, if the checkpoint was right
		s.unload(g)
		return true
	})
	s.measure()
	s.mu.Unlock()
	for _, g := range dead {
		_ = s.disk.Remove(segmentName(g.id)) // if it fails, Open removes it
	}
}
