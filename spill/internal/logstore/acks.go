package logstore

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// The acknowledgment area is a file with two slots. On a full disk, acknowledgments are
// stored by writing the whole state to a slot, as in a checkpoint. The blocks of the file
// are there already, so this needs no space, and other programs cannot take it.
//
//	a slot is a length, 4 bytes, and a checkpoint
//	each write to a slot has a commit number of its own
//	a slot is in effect if its commit number is higher than the other's and the checkpoint's
//	the slot in effect is never written to
const (
	acksFile    = "acks"
	acksNew     = "acks.new"
	slotLength  = 4       // bytes of the length
	minAcksSize = 8 << 10 // an area that is smaller is not made
)

type ackArea struct {
	file  disk.File
	half  int64 // size of a slot
	last  int64 // the slot that was written last, 0 or 1
	named bool  // the name of the file is durable
}

var errAcksSize = errors.New("the state does not fit into the acknowledgment area")

// openArea opens the acknowledgment area, if it exists.
func (s *Store) openArea() error {
	f, err := s.disk.Open(acksFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	size, err := f.Check()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.area = &ackArea{file: f, half: size / 2, last: 1}
	return nil
}

// latest returns the newest state in the slots, or nil, and its size.
func (a *ackArea) latest(store uint64, codec string) (st *state, size int, err error) {
	for slot := range int64(2) {
		var b [slotLength]byte
		if n, err := a.file.ReadAt(b[:], slot*a.half); n < len(b) && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		length := int64(binary.LittleEndian.Uint32(b[:]))
		if length == 0 || length > min(a.half-slotLength, maxCheckpoint) {
			continue
		}
		content := make([]byte, length)
		if n, err := a.file.ReadAt(content, slot*a.half+slotLength); n < len(content) && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		id, name, found, err := decodeCheckpoint(content)
		if err == nil && id == store && name == codec && (st == nil || found.commit > st.commit) {
			st, size, a.last = found, int(length), slot
		}
	}
	return st, size, nil
}

// readArea makes the newest state of a slot the state of the store, if it is in effect.
func (s *Store) readArea() error {
	if err := s.openArea(); err != nil || s.area == nil {
		return err
	}
	st, size, err := s.area.latest(s.id, s.options.Codec)
	if err != nil {
		return s.locate("read", acksFile, err)
	}
	if st != nil && st.commit > s.state.commit {
		s.state, s.lastCP, s.inSlot = st, size, true
	}
	return nil
}

// makeArea creates the acknowledgment area, or replaces one that is smaller than wanted
// and not in effect. On a full disk it makes a smaller one.
func (s *Store) makeArea() error {
	want := s.options.Acks
	if s.area != nil && (s.inSlot || s.area.half*2 >= want) {
		return nil
	}
	var err error
	for size := want; ; size /= 2 {
		if s.area != nil && s.area.half*2 >= size {
			return nil
		}
		if err = writeFile(s.disk, acksNew, make([]byte, size)); !Full(err) || size/2 < min(minAcksSize, want) {
			break
		}
	}
	if err == nil {
		err = s.disk.Rename(acksNew, acksFile)
	}
	if err != nil {
		return s.locate("create", acksFile, err)
	}
	if s.area != nil {
		_ = s.area.file.Close()
		s.area = nil
	}
	return s.openArea()
}

// writeSlot makes st, whose commit number is new, the state from which the store is
// opened. If the result is unknown, the store has failed.
func (s *Store) writeSlot(st *state) error {
	a := s.area
	if a == nil {
		return s.wrap("write", acksFile, fs.ErrNotExist)
	}
	b := append(make([]byte, slotLength), encodeCheckpoint(s.id, s.options.Codec, st)...)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-slotLength))
	if int64(len(b)) > a.half {
		return s.wrap("write", acksFile, errAcksSize)
	}
	if err := unchanged(a.file, 2*a.half, math.MaxInt64); err != nil {
		return s.wrap("write", acksFile, err)
	}
	if !a.named {
		if err := s.disk.Sync(); err != nil {
			return s.wrap("sync the name of", acksFile, err)
		}
		a.named = true
	}
	slot := 1 - a.last
	if err := writeAt(a.file, b, slot*a.half); err != nil {
		return s.wrap("write", acksFile, err)
	}
	if err := s.require("sync", acksFile, a.file.Sync()); err != nil {
		return err
	}
	if err := s.require("write", acksFile, unchanged(a.file, 2*a.half, math.MaxInt64)); err != nil {
		return err
	}
	if err := s.attached(0); err != nil {
		return err
	}
	a.last, s.inSlot, s.lastCP = slot, true, len(b)-slotLength
	return nil
}

// removeArea removes the acknowledgment area, which must not be in effect.
func (s *Store) removeArea() {
	if s.area != nil {
		_ = s.area.file.Close()
		s.area = nil
	}
	_ = s.disk.Remove(acksFile)
}
