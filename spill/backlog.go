package spill

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// A backlog is a FIFO of records on disk: what an Elastic holds beyond its memory.
//
// # States and ownership
//
// A record is its length, 4 bytes with the lowest first, and as many bytes. Records
// lie in blocks, in order, and never across two. Oldest first the records are in
//
//	ahead            the block being read, in memory
//	blocks           on disk, in segments
//	tail             the block being filled, in memory
//
// so a backlog of less than a block never touches the disk. What is on disk is
// known by the list of blocks alone: position, length, checksum. Nothing on disk is
// ever looked for, so there is nothing that a torn write could spoil:
//
//   - A block joins the list once it is written in full. After a failed or short
//     write the tail is as before, and the next one goes to the same place.
//   - A record belongs to the backlog from the append that returned nil. One that
//     fails changes nothing else.
//   - A segment is closed, and its space free, when its last block was read and no
//     more go there. The one that is open for more begins anew instead: one who
//     reads right behind the writer wears out one file.
//
// It has no lock: it belongs to the holder of the lock of its channel.
type backlog struct {
	files       files
	blockSize   int
	segmentSize int64

	ahead  []byte // records yet to read; a part of aheadBuf
	blocks fifo[block]
	tail   []byte
	open   *segment // blocks go here; nil if there is none

	aheadBuf []byte
	records  int   // in all of it
	bytes    int64 // of these records
	inTail   int   // records in tail
	disk     int64 // bytes that segments hold, read or not
}

// A block is where some records are on disk.
type block struct {
	in     *segment
	at     int64
	length int
	sum    uint32
}

// A segment is one file, and what is used of it.
type segment struct {
	file   file
	length int64 // where the next block goes
	size   int64 // of the file: the largest length so far
	unread int   // blocks
}

const (
	header = 4 // bytes before each record

	defaultBlock   = 256 << 10 // larger ones gain nothing, and hold the lock longer
	defaultSegment = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newBacklog returns an empty backlog. A segment is a small part of limit, so that
// what was read but is still on disk is, too.
func newBacklog(files files, limit int64) *backlog {
	segmentSize := max(min(defaultSegment, limit/8), 1)
	return &backlog{files: files, blockSize: defaultBlock, segmentSize: segmentSize}
}

// append adds a record, with its header.
func (b *backlog) append(record []byte) error {
	if len(b.tail) > 0 && len(b.tail)+len(record) > b.blockSize {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.tail = append(b.tail, record...)
	b.inTail++
	b.records++
	b.bytes += int64(len(record))
	return nil
}

// flush writes the tail to disk.
func (b *backlog) flush() error {
	if b.open == nil {
		made, err := b.files.create()
		if err != nil {
			return fmt.Errorf("spill: new segment: %w", err)
		}
		b.open = &segment{file: made}
	}
	s := b.open
	n, err := s.file.WriteAt(b.tail, s.length)
	if err == nil && n < len(b.tail) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("spill: write %s: %w", s.file.Name(), err)
	}
	b.blocks.push(block{in: s, at: s.length, length: n, sum: crc32.Checksum(b.tail, castagnoli)})
	s.length += int64(n)
	s.unread++
	b.disk += max(s.length-s.size, 0)
	s.size = max(s.size, s.length)
	if s.length >= b.segmentSize {
		b.open = nil // nothing more goes there
	}
	b.tail, b.inTail = reuse(b.tail, b.blockSize), 0
	return nil
}

// first returns the oldest record, without its header. It stays until drop, and
// its bytes are valid until then.
func (b *backlog) first() ([]byte, error) {
	if len(b.ahead) == 0 {
		if err := b.read(); err != nil {
			return nil, err
		}
	}
	record, err := split(b.ahead)
	if err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	return record, nil
}

// drop removes the record that first returned.
func (b *backlog) drop(record []byte) {
	n := header + len(record)
	b.ahead = b.ahead[n:]
	b.records--
	b.bytes -= int64(n)
}

// read makes the next block the one ahead, from disk or else from the tail.
func (b *backlog) read() error {
	if b.blocks.len() == 0 {
		b.aheadBuf, b.tail = b.tail, reuse(b.aheadBuf, b.blockSize)
		b.ahead, b.inTail = b.aheadBuf, 0
		return nil
	}
	next := b.blocks.first()
	buf := reuse(b.aheadBuf, b.blockSize)
	if cap(buf) < next.length {
		buf = make([]byte, next.length)
	}
	buf = buf[:next.length]
	if n, err := next.in.file.ReadAt(buf, next.at); n < len(buf) {
		return fmt.Errorf("spill: read %s: %w", next.in.file.Name(), err)
	}
	if crc32.Checksum(buf, castagnoli) != next.sum {
		return fmt.Errorf("spill: read %s: the %d bytes at %d are not those that were written",
			next.in.file.Name(), next.length, next.at)
	}
	b.aheadBuf, b.ahead = buf, buf
	b.blocks.pop()
	b.leave(next.in)
	return nil
}

// leave takes note that a block of s was read.
func (b *backlog) leave(s *segment) {
	s.unread--
	switch {
	case s.unread > 0:
	case s == b.open:
		s.length = 0
	default:
		b.close(s)
	}
}

// close frees the space of a segment.
func (b *backlog) close(s *segment) {
	b.disk -= s.size
	_ = s.file.Close() // it holds nothing that anybody wants
}

// release gives up what an empty backlog holds.
func (b *backlog) release() {
	if b.open != nil {
		b.close(b.open)
		b.open = nil
	}
	b.ahead, b.aheadBuf, b.tail = nil, nil, nil
}

// discard gives up all that is there.
func (b *backlog) discard() {
	for b.blocks.len() > 0 {
		b.leave(b.blocks.pop().in)
	}
	b.release()
	b.records, b.bytes, b.inTail = 0, 0, 0
}

// split returns the first record of a block, without its header.
func split(block []byte) ([]byte, error) {
	if len(block) < header {
		return nil, fmt.Errorf("a block ends in the middle of a header: %d bytes", len(block))
	}
	n := binary.LittleEndian.Uint32(block)
	if uint64(n) > uint64(len(block)-header) {
		return nil, fmt.Errorf("a record of %d bytes in the last %d of a block", n, len(block)-header)
	}
	return block[header : header+int(n) : header+int(n)], nil
}

// reuse returns an empty buffer: buf, unless a large record has made it one that is
// too large to keep.
func reuse(buf []byte, usual int) []byte {
	if cap(buf) > 2*usual {
		return nil
	}
	return buf[:0]
}
