package logstore

import (
	"errors"
	"fmt"
	"io"
)

// Read returns records with sequence numbers in [from, to), in order: about most bytes of
// them, and at least one if there is any. The caller owns the payloads. A damaged record
// is returned alone. Read does not wait for a sync.
func (s *Store) Read(from, to uint64, most int64) (records []Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	read := reader{store: s, ahead: min(most, blockSize)}
	for seq := range s.state.live(from, to) {
		if most <= 0 {
			break
		}
		r, err := read.record(seq)
		if (err != nil || r.Damaged != nil) && len(records) > 0 {
			break // return the intact records first
		}
		if err != nil {
			return nil, err
		}
		records = append(records, r)
		most -= r.Memory()
		if r.Damaged != nil {
			break
		}
	}
	return records, nil
}

// A reader reads records, and keeps a block for the next one. It holds mu.
type reader struct {
	store  *Store
	ahead  int64 // how much is read at once, at least, if a segment may have that much
	block  []byte
	of     *segment
	offset int64
}

const blockSize = 64 << 10

// bytes returns n bytes at offset of g, or fewer at the end of the file. They are valid
// until the next call.
func (r *reader) bytes(g *segment, offset, n int64) ([]byte, error) {
	if r.of == g && r.offset <= offset && offset+n <= r.offset+int64(len(r.block)) {
		return r.block[offset-r.offset:][:n], nil
	}
	if size := max(n, min(r.ahead, r.store.options.SegmentSize)); int64(cap(r.block)) < size {
		r.block = make([]byte, size)
	}
	r.block = r.block[:cap(r.block)]
	got, err := g.file.ReadAt(r.block, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	r.of, r.offset, r.block = g, offset, r.block[:got]
	return r.block[:min(n, int64(got))], err
}

// search returns the first frame header from offset on and where it is, or -1 if it
// finds no header before end. Without damage it is at offset.
func (r *reader) search(g *segment, offset, end int64) (h frame, at int64, err error) {
	for ; offset+frameHeaderSize <= end; offset++ {
		b, err := r.bytes(g, offset, frameHeaderSize)
		if err != nil || len(b) < frameHeaderSize {
			return h, -1, err
		}
		if h, err = parseFrame(b, r.store.salt(g), offset); err == nil {
			return h, offset, nil
		}
	}
	return h, -1, nil
}

// record reads a live record. The error is about the file, Damaged about the record.
func (r *reader) record(seq uint64) (found Record, err error) {
	s := r.store
	g := s.state.find(seq)
	at, copied := g.copies[seq]
	if err := s.load(g); err != nil {
		return found, s.wrap("read", segmentName(g.id), err)
	}
	if !copied {
		at = g.places[seq-g.first]
	}
	found.Seq = seq
	if at.offset < 0 {
		found.Damaged = s.damaged(g, seq, at, errHeader)
		return found, nil
	}
	b, err := r.bytes(g, at.offset, frameHeaderSize+int64(at.length))
	if err != nil {
		return found, s.wrap("read", segmentName(g.id), err)
	}
	h, err := parseFrame(b, s.salt(g), at.offset)
	if err == nil && (h.seq != seq || h.length != at.length || h.kind == kindAcks) {
		err = fmt.Errorf("%w: record %d of %d bytes", errHeader, h.seq, h.length)
	}
	body := b[min(len(b), frameHeaderSize):]
	if err == nil && (len(body) < int(at.length) || checksum(0, body) != h.body) {
		err = errBody
	}
	when, payload := h.untime(body)
	found.Payload = append([]byte{}, payload...)
	if err != nil {
		found.Damaged = s.damaged(g, seq, at, err)
		return found, nil
	}
	found.Time = when
	return found, nil
}

func (s *Store) damaged(g *segment, seq uint64, at place, err error) error {
	return &DamagedError{
		Path: s.disk.Path(segmentName(g.id)), Offset: at.offset, First: seq, Last: seq, Records: 1,
		Err: fmt.Errorf("record %d: %w", seq, err),
	}
}
