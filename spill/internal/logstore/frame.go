package logstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A segment is a header and then frames, without gaps:
//
//	segment header  magic 8, store 8, segment 8, first sequence number 8, checksum 4
//	frame header    checksum of the header 4, checksum of the body 4, length of the body 4,
//	                kind 1, flags 1, zero 2, sequence number 8, commit 8
//	frame body      the payload of a record, or a list of acknowledged ranges. With
//	                flagTimed, the time at which the record was stored 8, and its payload
//
// Numbers are little-endian, checksums CRC-32C. The checksum of a frame header also
// covers the store, the segment and the offset, so a frame is valid in one place only.
const (
	segmentMagic      = "slogseg\x00"
	segmentHeaderSize = 36
	frameHeaderSize   = 32
	rangeSize         = 20
	timeSize          = 8
	maxPayload        = 1<<31 - 1 - timeSize

	// A number of a segment, a record or a commit that is larger is damage. Open accepts twice as large ones
	// in a checkpoint, because Repair writes numbers that follow those that it has read.
	maxNumber = 1 << 61
)

const (
	kindRecord byte = 1 + iota // a new record
	kindCopy                   // a record that was copied from an older segment
	kindAcks                   // acknowledged ranges
)

// Flags: a commit is a sequence of frames from a flagFirst to a flagLast.
const (
	flagFirst byte = 1 << iota
	flagLast
	flagTimed // the body of a record begins with a time
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// A frame is a frame header.
type frame struct {
	body   uint32 // checksum of the body
	length uint32
	kind   byte
	flags  byte
	seq    uint64
	commit uint64
}

// timed returns the flag of a record that was stored at the time at, in nanoseconds; 0
// means that it has no time.
func timed(at int64) byte {
	if at == 0 {
		return 0
	}
	return flagTimed
}

// untime returns the time at the start of a body, and the payload.
func (h frame) untime(body []byte) (at int64, payload []byte) {
	if h.flags&flagTimed == 0 || len(body) < timeSize {
		return 0, body
	}
	return int64(binary.LittleEndian.Uint64(body)), body[timeSize:]
}

// size returns the size of the frame in bytes, with the body.
func (h frame) size() int64 { return frameHeaderSize + int64(h.length) }

// A salt is what is part of a checksum and not of the bytes: where a frame belongs.
type salt struct{ store, segment uint64 }

func (s salt) at(offset int64) uint32 {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[:], s.store)
	binary.LittleEndian.PutUint64(b[8:], s.segment)
	binary.LittleEndian.PutUint64(b[16:], uint64(offset))
	return checksum(0, b[:])
}

// appendFrame appends a frame, which is at offset in the segment. Its body is the time, if
// it has flagTimed, and the given bytes.
func appendFrame(b []byte, h frame, at int64, body []byte, place salt, offset int64) []byte {
	start := len(b)
	b = append(b, make([]byte, frameHeaderSize)...)
	if h.flags&flagTimed != 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
	}
	head, front := b[start:], b[start+frameHeaderSize:]
	binary.LittleEndian.PutUint32(head[4:], checksum(checksum(0, front), body))
	binary.LittleEndian.PutUint32(head[8:], uint32(len(front)+len(body)))
	head[12], head[13] = h.kind, h.flags
	binary.LittleEndian.PutUint64(head[16:], h.seq)
	binary.LittleEndian.PutUint64(head[24:], h.commit)
	binary.LittleEndian.PutUint32(head, checksum(place.at(offset), head[4:frameHeaderSize]))
	return append(b, body...)
}

var (
	errHeader = errors.New("invalid frame header")
	errBody   = errors.New("wrong checksum")
)

// parseFrame returns the header at the start of b, which is at offset in the segment.
func parseFrame(b []byte, place salt, offset int64) (h frame, err error) {
	if len(b) < frameHeaderSize || b[12]-kindRecord > kindAcks-kindRecord || b[13] > flagFirst|flagLast|flagTimed || b[14]|b[15] != 0 {
		return h, errHeader // a cheap test first, for searches
	}
	if binary.LittleEndian.Uint32(b) != checksum(place.at(offset), b[4:frameHeaderSize]) {
		return h, errHeader
	}
	h = frame{
		body:   binary.LittleEndian.Uint32(b[4:]),
		length: binary.LittleEndian.Uint32(b[8:]),
		kind:   b[12], flags: b[13],
		seq:    binary.LittleEndian.Uint64(b[16:]),
		commit: binary.LittleEndian.Uint64(b[24:]),
	}
	if h.length > maxPayload+timeSize || h.seq >= maxNumber || h.commit >= maxNumber || h.flags&flagTimed != 0 && (h.kind == kindAcks || h.length < timeSize) {
		return h, errHeader
	}
	return h, nil
}

// segmentHeader returns the header of a segment whose first new record will be first.
func segmentHeader(place salt, first uint64) []byte {
	b := append(make([]byte, 0, segmentHeaderSize), segmentMagic...)
	b = binary.LittleEndian.AppendUint64(b, place.store)
	b = binary.LittleEndian.AppendUint64(b, place.segment)
	b = binary.LittleEndian.AppendUint64(b, first)
	return binary.LittleEndian.AppendUint32(b, checksum(0, b))
}

var errSegmentHeader = errors.New("invalid segment header")

// parseSegmentHeader returns the fields of a segment header.
func parseSegmentHeader(b []byte) (place salt, first uint64, err error) {
	if len(b) < segmentHeaderSize || string(b[:8]) != segmentMagic ||
		binary.LittleEndian.Uint32(b[32:]) != checksum(0, b[:32]) {
		return place, 0, errSegmentHeader
	}
	place, first = salt{binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}, binary.LittleEndian.Uint64(b[24:])
	if first > maxNumber {
		return place, 0, errSegmentHeader
	}
	return place, first, nil
}

// A span is a range of acknowledged records. All of them are in one segment.
type span struct {
	from  uint64
	n     uint32
	bytes uint64 // of their payloads
}

func appendSpans(b []byte, spans []span) []byte {
	for _, r := range spans {
		b = binary.LittleEndian.AppendUint64(b, r.from)
		b = binary.LittleEndian.AppendUint32(b, r.n)
		b = binary.LittleEndian.AppendUint64(b, r.bytes)
	}
	return b
}

func parseSpans(b []byte) (spans []span) {
	for ; len(b) >= rangeSize; b = b[rangeSize:] {
		spans = append(spans, span{
			from:  binary.LittleEndian.Uint64(b),
			n:     binary.LittleEndian.Uint32(b[8:]),
			bytes: binary.LittleEndian.Uint64(b[12:]),
		})
	}
	return spans
}
