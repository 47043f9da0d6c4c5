package logstore

import (
	"errors"
	"syscall"
)

// The reserve is a file that keeps disk space for acknowledgments. On a full disk it is
// removed, and acknowledgments are stored by replacing the checkpoint, which needs no
// more space each time. New records are rejected until the reserve can be made again.
const reserveFile = "reserve"

// full reports whether err is about a disk without room, or a file that may not grow.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// makeReserve creates the reserve unless it is one of the existing files.
func (s *Store) makeReserve(existing map[string]int64) error {
	if existing[reserveFile] == s.options.Reserve {
		return nil
	}
	return writeFile(s.disk, reserveFile, make([]byte, s.options.Reserve))
}

// restoreReserve creates the reserve again if it was used.
func (s *Store) restoreReserve() error {
	if s.reserve {
		return nil
	}
	if err := s.attached(0); err != nil {
		return err
	}
	if err := s.makeReserve(nil); err != nil {
		return s.wrap("create", reserveFile, err)
	}
	s.reserve = true
	return nil
}

// vacate gives back the space of the active segment if none of its records is live: on a disk
// that is smaller than a segment, there is no other space. It uses the reserve for the files
// of the next segment, and reports whether it has begun one.
func (s *Store) vacate() bool {
	if active := s.state.active(); active.live > 0 || active.length == segmentHeaderSize {
		return false
	}
	s.releaseReserve()
	return s.newSegment() == nil
}

// releaseReserve removes the reserve.
func (s *Store) releaseReserve() {
	if s.reserve {
		s.reserve = false
		_ = s.disk.Remove(reserveFile)
	}
}

// acknowledgeFull stores acknowledgments on a full disk.
func (s *Store) acknowledgeFull(spans []span) error {
	if err := s.attached(0); err != nil {
		return err
	}
	s.releaseReserve()
	_, _, after, err := decodeCheckpoint(encodeCheckpoint(s.id, s.options.Codec, s.state)) // a copy
	if err != nil {
		return s.wrap("copy", checkpointFile, err)
	}
	for _, r := range spans {
		after.acknowledge(r)
	}
	if _, err := s.checkpoint(after); err != nil {
		return err
	}
	s.mu.Lock()
	for _, r := range spans {
		s.state.acknowledge(r)
	}
	s.mu.Unlock()
	s.discard()
	return nil
}
