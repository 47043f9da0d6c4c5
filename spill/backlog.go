package spill

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/sluice-go/sluice/internal/ring"
)

// A backlog is a FIFO of records on disk: the values of an Elastic beyond its memory.
//
// A record is the length of its payload, 4 bytes in little-endian order, and the
// payload. Records are stored in blocks, in order, and never span two blocks. From the
// oldest to the newest, records are in
//
//	ahead    the block being read, in memory
//	blocks   on disk, in segments
//	tail     the block being filled, in memory
//
// A backlog of less than a block never touches the disk. The list of blocks, in memory,
// has their positions, lengths and checksums, so a torn write does no harm:
//
//   - A block joins the list after it was written in full. After a failed or short write
//     the tail is unchanged, and the next write goes to the same position.
//   - A record belongs to the backlog once append has returned nil. A failed append
//     changes nothing.
//   - A segment is closed, which frees its space, when all of its blocks were read and
//     it takes no more. If the open segment has no unread blocks, it is reused from the
//     start: a reader that follows the writer closely uses a single file.
//
// A backlog has no lock: the channel's lock guards it.
type backlog struct {
	files       files
	blockSize   int
	segmentSize int64

	ahead  []byte // unread records; a part of aheadBuf
	blocks ring.Ring[block]
	tail   []byte
	open   *segment // the segment for new blocks, or nil

	aheadBuf []byte
	records  int
	bytes    int64 // of all records
	inTail   int   // records in tail
	disk     int64 // bytes of all segments, read or not
}

// A block is the position of some records on disk.
type block struct {
	in     *segment
	at     int64
	length int
	sum    uint32
}

// A segment is a file of blocks.
type segment struct {
	file   file
	length int64 // the position of the next block
	size   int64 // of the file: the high-water mark of length
	unread int   // blocks
}

const (
	header = 4 // bytes before each record

	defaultBlock   = 256 << 10 // larger blocks are not faster, and hold the lock longer
	defaultSegment = 64 << 20

	keptSlots = 64 // of a ring that is empty
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newBacklog returns an empty backlog. A segment is a small part of limit, so that the
// blocks that were read, but are still on disk, are a small part of it too.
func newBacklog(files files, limit int64) *backlog {
	segmentSize := max(min(defaultSegment, limit/8), 1)
	return &backlog{files: files, blockSize: defaultBlock, segmentSize: segmentSize}
}

// append adds a record, including its header.
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
	b.blocks.Push(block{in: s, at: s.length, length: n, sum: crc32.Checksum(b.tail, castagnoli)})
	s.length += int64(n)
	s.unread++
	b.disk += max(s.length-s.size, 0)
	s.size = max(s.size, s.length)
	if s.length >= b.segmentSize {
		b.open = nil // it is full
	}
	b.tail, b.inTail = reuse(b.tail, b.blockSize), 0
	return nil
}

// peek returns the payload of the oldest record. The bytes are valid until pop.
func (b *backlog) peek() ([]byte, error) {
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

// pop removes the record that peek returned.
func (b *backlog) pop(record []byte) {
	n := header + len(record)
	b.ahead = b.ahead[n:]
	b.records--
	b.bytes -= int64(n)
}

// read loads the next block into ahead, from disk, or from the tail if no block is left.
func (b *backlog) read() error {
	if b.blocks.Len() == 0 {
		b.aheadBuf, b.tail = b.tail, reuse(b.aheadBuf, b.blockSize)
		b.ahead, b.inTail = b.aheadBuf, 0
		return nil
	}
	next := b.blocks.First()
	buf := reuse(b.aheadBuf, b.blockSize)
	if cap(buf) < next.length {
		buf = make([]byte, next.length)
	}
	buf = buf[:next.length]
	if n, err := next.in.file.ReadAt(buf, next.at); n < len(buf) {
		return fmt.Errorf("spill: read %s: %w", next.in.file.Name(), err)
	}
	if crc32.Checksum(buf, castagnoli) != next.sum {
		return fmt.Errorf("spill: read %s: wrong checksum of %d bytes at offset %d",
			next.in.file.Name(), next.length, next.at)
	}
	b.aheadBuf, b.ahead = buf, buf
	b.blocks.Pop()
	b.blocks.Shrink(keptSlots)
	b.blockRead(next.in)
	return nil
}

// blockRead records that a block of s was read.
func (b *backlog) blockRead(s *segment) {
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
	_ = s.file.Close() // its data is not needed any more
}

// release frees the memory and the files of an empty backlog.
func (b *backlog) release() {
	if b.open != nil {
		b.close(b.open)
		b.open = nil
	}
	b.ahead, b.aheadBuf, b.tail = nil, nil, nil
}

// discard removes all records.
func (b *backlog) discard() {
	for b.blocks.Len() > 0 {
		b.blockRead(b.blocks.Pop().in)
	}
	b.blocks = ring.Ring[block]{}
	b.release()
	b.records, b.bytes, b.inTail = 0, 0, 0
}

// split returns the payload of the first record of a block.
func split(block []byte) ([]byte, error) {
	if len(block) < header {
		return nil, fmt.Errorf("a block ends inside a record header, after %d of %d bytes", len(block), header)
	}
	n := binary.LittleEndian.Uint32(block)
	if uint64(n) > uint64(len(block)-header) {
		return nil, fmt.Errorf("a record of %d bytes exceeds the %d bytes left in its block", n, len(block)-header)
	}
	return block[header : header+int(n) : header+int(n)], nil
}

// reuse returns buf, emptied, or nil if a large record has made it too large to keep.
func reuse(buf []byte, usual int) []byte {
	if cap(buf) > 2*usual {
		return nil
	}
	return buf[:0]
}
