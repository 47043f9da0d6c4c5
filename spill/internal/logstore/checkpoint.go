package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// A checkpoint is a state at the end of a commit, in a file. It begins with
//
//	magic 8, checksum of all the rest 4, store 8, next record 8, next commit 8, codec
//
// and then has the segments, with the records in them that are gone or were copied there.
const (
	checkpointFile  = "checkpoint"
	checkpointNew   = "checkpoint.new"
	checkpointMagic = "slogchk\x00"
)

// encodeCheckpoint returns the content of a checkpoint.
func encodeCheckpoint(store uint64, codec string, st *state) []byte {
	b := append(make([]byte, 0, 4096), checkpointMagic+"\x00\x00\x00\x00"...)
	b = binary.LittleEndian.AppendUint64(b, store)
	b = binary.LittleEndian.AppendUint64(b, st.next)
	b = binary.LittleEndian.AppendUint64(b, st.commit)
	b = binary.AppendUvarint(b, uint64(len(codec)))
	b = append(b, codec...)
	b = binary.AppendUvarint(b, uint64(len(st.segments)))
	for _, s := range st.segments {
		b = appendSegment(b, s)
	}
	binary.LittleEndian.PutUint32(b[8:], checksum(checksum(0, b[:8]), b[12:]))
	return b
}

func appendSegment(b []byte, s *segment) []byte {
	for _, n := range []uint64{s.id, s.first, s.next, uint64(s.length), uint64(s.live), uint64(s.liveBytes)} {
		b = binary.AppendUvarint(b, n)
	}
	// Records are mostly acknowledged in order, so the first words are full.
	full := 0
	for full < len(s.gone) && s.gone[full] == ^uint64(0) {
		full++
	}
	b = binary.AppendUvarint(b, uint64(full))
	b = binary.AppendUvarint(b, uint64(len(s.gone)-full))
	for _, word := range s.gone[full:] {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	b = binary.AppendUvarint(b, uint64(len(s.copies)))
	for seq, at := range s.copies {
		b = binary.AppendUvarint(b, seq)
		b = binary.AppendUvarint(b, uint64(at.offset))
		b = binary.AppendUvarint(b, uint64(at.length))
	}
	return b
}

var errCheckpoint = errors.New("invalid checkpoint")

// decodeCheckpoint is the inverse of encodeCheckpoint.
func decodeCheckpoint(b []byte) (store uint64, codec string, st *state, err error) {
	if len(b) < 36 || string(b[:8]) != checkpointMagic {
		return 0, "", nil, errCheckpoint
	}
	if checksum(checksum(0, b[:8]), b[12:]) != binary.LittleEndian.Uint32(b[8:]) {
		return 0, "", nil, fmt.Errorf("%w: %w", errCheckpoint, errBody)
	}
	store = binary.LittleEndian.Uint64(b[12:])
	st = &state{
		moved: map[uint64]*segment{},
		next:  binary.LittleEndian.Uint64(b[20:]), commit: binary.LittleEndian.Uint64(b[28:]),
	}
	d := decoder{b: b[36:]}
	codec = string(d.take(d.number()))
	for n := d.number(); n > 0 && d.err == nil; n-- {
		d.segment(st)
	}
	if d.err == nil && (len(d.b) > 0 || len(st.segments) == 0) {
		d.err = errCheckpoint
	}
	return store, codec, st, d.err
}

// A decoder reads numbers. After an error it returns zeros.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.b, d.err = nil, errCheckpoint
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.b, d.err = nil, errCheckpoint
		return nil
	}
	taken := d.b[:n]
	d.b = d.b[n:]
	return taken
}

func (d *decoder) segment(st *state) {
	s := &segment{id: d.number(), first: d.number(), next: d.number(), length: int64(d.number())}
	s.live, s.liveBytes = int(d.number()), int64(d.number())
	full, rest := d.number(), d.number()
	if full+rest > s.next/64+1 || rest > uint64(len(d.b))/8 {
		d.err = errCheckpoint
		return
	}
	if full+rest > 0 {
		s.gone = make(bitmap, full+rest)
	}
	for i := range full {
		s.gone[i] = ^uint64(0)
	}
	for i := range rest {
		s.gone[full+i] = binary.LittleEndian.Uint64(d.take(8))
	}
	for n := d.number(); n > 0 && d.err == nil; n-- {
		seq, at := d.number(), place{offset: int64(d.number()), length: uint32(d.number())}
		if s.copies == nil {
			s.copies = map[uint64]place{}
		}
		s.copies[seq], st.moved[seq] = at, s
	}
	st.segments = append(st.segments, s)
}

// readCheckpoint reads the checkpoint of a disk.
func readCheckpoint(d disk.Disk) ([]byte, error) {
	f, err := d.Open(checkpointFile)
	if err != nil {
		return nil, err
	}
	size, err := f.Check()
	var b []byte
	if err == nil {
		b = make([]byte, size)
		if _, err = f.ReadAt(b, 0); errors.Is(err, io.EOF) {
			err = nil // the size has changed: the checksum is wrong
		}
	}
	return b, errors.Join(err, f.Close())
}

// writeCheckpoint replaces the checkpoint. If renamed, it is unknown which one is in
// effect after an error.
func writeCheckpoint(d disk.Disk, b []byte) (renamed bool, err error) {
	if err := writeFile(d, checkpointNew, b); err != nil {
		return false, err
	}
	if err := d.Rename(checkpointNew, checkpointFile); err != nil {
		return true, err
	}
	return true, d.Sync()
}

// writeFile creates a file with content b, replaces one that was left, and syncs it. It
// leaves no file if it fails.
func writeFile(d disk.Disk, name string, b []byte) error {
	f, err := createFile(d, name, b)
	if err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		_ = d.Remove(name)
	}
	return err
}

// createFile is writeFile, and returns the open file.
func createFile(d disk.Disk, name string, b []byte) (disk.File, error) {
	_ = d.Remove(name)
	f, err := d.Create(name)
	if err != nil {
		return nil, err
	}
	if err = writeAt(f, b, 0); err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Close()
		_ = d.Remove(name)
		return nil, err
	}
	return f, nil
}

// writeAt writes all of b, or returns an error.
func writeAt(f disk.File, b []byte, offset int64) error {
	n, err := f.WriteAt(b, offset)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}
