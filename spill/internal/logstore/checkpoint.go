package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// A checkpoint is a state at the end of a commit, in a file. It begins with
//
//	magic 8, checksum of all the rest 4, store 8, next record 8, next commit 8, codec
//
// and then has the segments, with the records in them that are gone or were copied there.
const (
	checkpointFile  = "checkpoint"
	checkpointNew   = checkpointFile + newSuffix
	checkpointMagic = "slogchk\x00"
	maxCheckpoint   = 1 << 28 // bytes

	newSuffix = ".new" // of a file that is to replace another one
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
	b = binary.AppendUvarint(b, s.gone.full)
	b = binary.AppendUvarint(b, uint64(len(s.gone.words)))
	for _, word := range s.gone.words {
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

// decodeCheckpoint is the inverse of encodeCheckpoint. Anybody can write a checkpoint with a right
// checksum, so it also returns an error for a state that cannot be.
func decodeCheckpoint(b []byte) (store uint64, codec string, st *state, err error) {
	if len(b) < 36 || string(b[:8]) != checkpointMagic {
		return 0, "", nil, errCheckpoint
	}
	if checksum(checksum(0, b[:8]), b[12:]) != binary.LittleEndian.Uint32(b[8:]) {
		return 0, "", nil, fmt.Errorf("%w: %w", errCheckpoint, errBody)
	}
	store = binary.LittleEndian.Uint64(b[12:])
	next, commit := binary.LittleEndian.Uint64(b[20:]), binary.LittleEndian.Uint64(b[28:])
	st = &state{moved: map[uint64]*segment{}, commit: commit}
	d := decoder{b: b[36:]}
	codec = string(d.take(d.number()))
	for n := d.number(); n > 0 && d.err == nil; n-- {
		d.segment(st)
	}
	d.check(len(d.b) == 0 && len(st.segments) > 0 && st.next == next && commit > 0 && commit <= 2*maxNumber)
	for seq := range st.moved { // nowhere else
		w := st.written(seq)
		d.check(seq < next && (w == nil || w.gone.has(seq-w.first)))
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

// check sets the error unless ok is true.
func (d *decoder) check(ok bool) {
	if !ok && d.err == nil {
		d.b, d.err = nil, errCheckpoint
	}
}

func (d *decoder) segment(st *state) {
	s := &segment{id: d.number(), first: d.number(), next: d.number(), length: int64(d.number())}
	live, bytes := d.number(), d.number()
	if n := len(st.segments); n > 0 {
		d.check(s.id > st.segments[n-1].id)
	}
	d.check(s.id <= 2*maxNumber && st.next <= s.first && s.first <= s.next && s.next <= 2*maxNumber)
	d.check(s.length >= segmentHeaderSize && s.next-s.first <= uint64(s.length/frameHeaderSize) && bytes <= uint64(s.length))
	full, words := d.number(), d.number()
	d.check(full <= s.next/64 && words <= s.next/64+1-full && words <= uint64(len(d.b)/8))
	if d.err != nil {
		return
	}
	s.gone = bitmap{full: full, words: make([]uint64, words)}
	for i := range s.gone.words {
		s.gone.words[i] = binary.LittleEndian.Uint64(d.take(8))
	}
	for n := d.number(); n > 0 && d.err == nil; n-- {
		seq, offset, length := d.number(), d.number(), d.number()
		room := uint64(s.length) - frameHeaderSize
		d.check(st.moved[seq] == nil && length <= room && offset <= room-length)
		if s.copies == nil {
			s.copies = map[uint64]place{}
		}
		s.copies[seq], st.moved[seq] = place{int64(offset), uint32(length)}, s
	}
	gone := s.gone.count(0)
	d.check(gone <= s.next-s.first && live == s.next-s.first-gone+uint64(len(s.copies)))
	s.live, s.liveBytes = int(live), int64(bytes)
	st.segments, st.next, st.frames = append(st.segments, s), s.next, st.frames+s.liveFrames()
}

// readCheckpoint reads the checkpoint of a disk.
func readCheckpoint(d disk.Disk) ([]byte, error) { return ReadFile(d, checkpointFile, maxCheckpoint) }

// ReadFile reads a file. Of one with more than most bytes it returns none.
func ReadFile(d disk.Disk, name string, most int64) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Check()
	var b []byte
	if err == nil && size <= most {
		b = make([]byte, size)
		if _, err = f.ReadAt(b, 0); errors.Is(err, io.EOF) {
			err = nil // the size has changed: the content is not valid
		}
	}
	return b, errors.Join(err, f.Close())
}

// Replace gives a file the content b, at once: after a crash it has this or its earlier content. If
// renamed, it is unknown which one after an error.
func Replace(d disk.Disk, name string, b []byte) (renamed bool, err error) {
	if err := writeFile(d, name+newSuffix, b); err != nil {
		return false, err
	}
	if err := d.Rename(name+newSuffix, name); err != nil {
		return true, err
	}
	return true, d.Sync()
}

// Append writes b behind the content of a file, which it creates if it does not exist, and syncs it.
// It leaves nothing of b if the write fails.
func Append(d disk.Disk, name string, b []byte) error {
	f, err := d.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = d.Create(name); err == nil {
			err = d.Sync()
		}
	}
	if err != nil {
		return err
	}
	size, err := f.Check()
	if err == nil {
		if err = writeAt(f, b, size); err != nil {
			err = errors.Join(err, f.Truncate(size))
		} else {
			err = f.Sync()
		}
	}
	return errors.Join(err, f.Close())
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
