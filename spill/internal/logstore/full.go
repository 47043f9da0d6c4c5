package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// The reserve is a file that keeps disk space for compaction on a full disk: see relieve.
// It is also removed to write a checkpoint with acknowledgments, if the acknowledgment area
// is too small for it. New records are rejected until both files can be made again: so what
// was accepted can be acknowledged.
const reserveFile = "reserve"

// Full reports whether err is about a disk without room, or a file that may not grow.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// makeReserve creates the reserve unless it is one of the existing files.
func (s *Store) makeReserve(existing map[string]int64) error {
	if err := KeepSpace(s.disk, existing, reserveFile, s.options.Reserve); err != nil {
		return s.locate("create", reserveFile, err)
	}
	s.reserve = true
	return nil
}

// KeepSpace makes a file of zeros, which keeps size bytes of a disk until it is removed, unless it is one
// of the existing files.
func KeepSpace(d disk.Disk, existing map[string]int64, name string, size int64) error {
	if existing[name] == size {
		return nil
	}
	return writeFile(d, name, make([]byte, size))
}

// dropReserve gives the space of the reserve to the disk.
func (s *Store) dropReserve() {
	s.reserve = false
	_ = s.disk.Remove(reserveFile)
}

// makeSpares creates the acknowledgment area and the reserve, when the store is opened. A
// full disk is not an error.
func (s *Store) makeSpares(files map[string]int64) error {
	defer s.warn()
	if s.area != nil { // an empty file shows whether the folder may be written to
		if err := writeFile(s.disk, acksNew, nil); forbidden(err) {
			return s.locate("create", acksNew, err)
		}
		_ = s.disk.Remove(acksNew)
	}
	err := s.makeArea()
	if _, ok := files[reserveFile]; ok && Full(err) && s.area == nil {
		s.dropReserve() // acknowledgments matter more
		files = nil
		err = s.makeArea()
	}
	if !forbidden(err) {
		err = s.makeReserve(files)
	}
	if forbidden(err) {
		return err
	}
	return nil
}

// forbidden reports whether err will not go away when the disk has room again.
func forbidden(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// restoreSpares creates what is missing of the acknowledgment area and the reserve.
func (s *Store) restoreSpares() error {
	if s.reserve && s.area != nil {
		return nil
	}
	defer s.warn()
	if err := s.attached(0); err != nil {
		return err
	}
	var err error
	if s.area == nil {
		err = s.makeArea()
	}
	if err == nil && !s.reserve {
		err = s.makeReserve(nil)
	}
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

// warn updates the result of Warning.
func (s *Store) warn() {
	switch {
	case s.area == nil:
		s.warning.Store(fmt.Sprintf("%s: the disk has no room for this file of %d bytes: values cannot be sent, and acknowledgments may fail",
			s.disk.Path(acksFile), s.options.Acks))
	case !s.reserve:
		s.warning.Store(fmt.Sprintf("%s: the disk has no room for this file of %d bytes: values can be received and acknowledged, and not sent",
			s.disk.Path(reserveFile), s.options.Reserve))
	default:
		s.warning.Store("")
	}
}

// Warning returns a line about a disk that is too full for new records, or "".
func (s *Store) Warning() string {
	w, _ := s.warning.Load().(string)
	return w
}

// acknowledgeFull stores acknowledgments on a full disk: in the acknowledgment area, or else
// in a new checkpoint.
func (s *Store) acknowledgeFull(spans []span) error {
	if err := s.attached(0); err != nil {
		return err
	}
	_, _, after, err := decodeCheckpoint(encodeCheckpoint(s.id, s.options.Codec, s.state)) // a copy
	if err != nil {
		return s.wrap("copy", checkpointFile, err)
	}
	for _, r := range spans {
		after.acknowledge(r)
	}
	after.commit++
	if s.area == nil {
		_ = s.makeArea() // writeSlot reports that it is missing
		s.warn()
	}
	if err = s.writeSlot(after); err != nil && s.failed == nil {
		if s.reserve {
			s.dropReserve()
			s.warn()
		}
		_, err = s.checkpoint(after)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	for _, r := range spans {
		s.state.acknowledge(r)
	}
	s.state.commit = after.commit
	s.end().write(s.mark, s.id)
	s.mu.Unlock()
	s.discard()
	return nil
}
