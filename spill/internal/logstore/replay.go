package logstore

import (
	"errors"
	"fmt"
	"io"
)

// replay applies the commits after the checkpoint. It ends at the end of the file, or at a
// commit that is not complete. That is damage if the commit was synced: if it is before
// the mark, or if a later commit exists.
func (s *Store) replay(synced mark) error {
	g := s.state.active()
	name := segmentName(g.id)
	if synced.segment > g.id {
		return s.damage(name, g.length, errors.New("commits in later segments were synced"))
	}
	size, err := g.file.Check()
	if err != nil {
		return err
	}
	read := reader{store: s, ahead: blockSize}
	for g.length < size {
		frames, bad, err := read.commit(g, size)
		if err != nil {
			return err
		}
		if frames == nil {
			return s.torn(&read, g, bad, size, synced)
		}
		s.apply(frames)
	}
	if g.length < synced.offset && synced.segment == g.id {
		return s.tail(g, g.length, fmt.Errorf("the file has %d bytes, and had %d", size, synced.offset))
	}
	return s.acksMissing(g, synced)
}

// torn returns nil if the frame at bad belongs to a commit that was never synced.
func (s *Store) torn(read *reader, g *segment, bad, size int64, synced mark) error {
	if g.length < synced.offset && synced.segment == g.id {
		return s.tail(g, bad, errHeader)
	}
	for offset := bad; ; {
		h, at, err := read.search(g, offset, size)
		if err != nil {
			return err
		}
		if at < 0 {
			return s.acksMissing(g, synced)
		}
		if h.commit > s.state.commit {
			return s.tail(g, bad, errHeader)
		}
		offset = at + 1
	}
}

// acksMissing returns an error if a commit at the end of g was synced in the acknowledgment area,
// and is not there.
func (s *Store) acksMissing(g *segment, synced mark) error {
	if synced.segment != g.id || synced.offset != g.length || synced.commit <= s.state.commit {
		return nil
	}
	return s.damage(acksFile, 0, errors.New("the last acknowledgments are missing"))
}

// tail returns an error about damage after the checkpoint.
func (s *Store) tail(g *segment, offset int64, err error) error {
	e := s.damage(segmentName(g.id), offset, err)
	e.First = s.state.next
	return e
}

// commit reads the next commit, which begins at the length of g. If it is not complete, it
// returns the offset of the first bad frame and no frames.
func (r *reader) commit(g *segment, size int64) (frames []pendingFrame, bad int64, err error) {
	next := r.store.state.next
	for offset := g.length; ; {
		f, err := r.frame(g, offset, size)
		if err != nil {
			return nil, offset, err
		}
		switch {
		case f.kind == 0, f.commit != r.store.state.commit, f.flags&flagFirst != 0 != (frames == nil):
			return nil, offset, nil
		case f.kind == kindRecord && f.seq != next:
			return nil, offset, nil
		case f.kind == kindRecord:
			next++
		}
		frames = append(frames, f)
		if offset += f.size(); f.flags&flagLast != 0 {
			return frames, 0, nil
		}
	}
}

// frame reads a frame. Its kind is 0 if it is not intact. The content of the body is valid
// until the next call, and its length afterwards, too.
func (r *reader) frame(g *segment, offset, size int64) (f pendingFrame, err error) {
	b, err := r.bytes(g, offset, frameHeaderSize)
	if err != nil {
		return f, err
	}
	h, err := parseFrame(b, r.store.salt(g), offset)
	if err != nil || offset+h.size() > size {
		return f, nil
	}
	if b, err = r.bytes(g, offset, h.size()); err != nil || int64(len(b)) < h.size() {
		return f, err
	}
	body := b[frameHeaderSize:]
	if checksum(0, body) != h.body {
		return f, nil
	}
	f = pendingFrame{frame: h, body: body}
	if h.kind == kindAcks {
		f.spans = parseSpans(body)
	}
	return f, nil
}

// rewrite cuts off what follows the last commit. It writes again what follows the mark, and
// syncs it: after a sync that failed, the system may take pages for written that are not.
func (s *Store) rewrite(synced mark) error {
	g := s.state.active()
	size, err := g.file.Check()
	if err != nil {
		return err
	}
	from := g.length
	if synced.segment == g.id {
		from = synced.offset
	}
	if size == g.length && from == g.length {
		return nil
	}
	if err := g.file.Truncate(g.length); err != nil {
		return err
	}
	for b := make([]byte, blockSize); from < g.length; {
		b = b[:min(blockSize, g.length-from)]
		if n, err := g.file.ReadAt(b, from); n < len(b) {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
		if err := writeAt(g.file, b, from); err != nil {
			return err
		}
		from += int64(len(b))
	}
	return g.file.Sync()
}
