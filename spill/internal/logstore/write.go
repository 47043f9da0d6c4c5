package logstore

import (
	"fmt"
	"slices"
)

// Write adds payloads with consecutive sequence numbers, beginning at first, acknowledges
// the records with the numbers in deletes, and returns when the change is durable. If it
// fails, no part of the change was made or will be made, unless the error is ErrUnknown.
// It does not keep its arguments. first is the Next of Contents, plus the number of
// payloads written since.
//
// A write without payloads succeeds on a full disk, too.
func (s *Store) Write(first uint64, payloads [][]byte, deletes []uint64) error {
	return s.WriteTimed(first, payloads, deletes, 0)
}

// WriteTimed is like Write, and stores the time at with each of the new records. 0 stores
// no time.
func (s *Store) WriteTimed(first uint64, payloads [][]byte, deletes []uint64, at int64) error {
	switch {
	case s.closed:
		return errClosed
	case s.failed != nil:
		return s.failed
	case len(payloads) > 0 && first != s.state.next:
		return fmt.Errorf("spill: write of record %d, want %d", first, s.state.next)
	case len(payloads)+len(deletes) == 0:
		return nil
	}
	for _, payload := range payloads {
		if len(payload) > maxPayload {
			return fmt.Errorf("spill: a record of %d bytes is too long", len(payload))
		}
	}
	deletes = slices.Sorted(slices.Values(deletes))
	s.mu.Lock()
	spans, err := s.state.spans(deletes, s.payloadLength)
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("spill: acknowledge: %w", err)
	}
	if len(payloads) == 0 {
		return s.acknowledge(spans, deletes)
	}
	err = s.record(payloads, spans, deletes, at)
	if err != nil && s.failed == nil && full(err) && s.vacate() {
		err = s.record(payloads, spans, deletes, at)
	}
	return err
}

// record writes a commit with new records.
func (s *Store) record(payloads [][]byte, spans []span, deletes []uint64, at int64) error {
	if err := s.restoreReserve(); err != nil {
		return err
	}
	if err := s.rotate(); err != nil {
		return err
	}
	return s.commit(payloads, spans, deletes, at)
}

// acknowledge writes a commit without new records. If the log has no room, it writes a
// checkpoint.
func (s *Store) acknowledge(spans []span, deletes []uint64) error {
	if s.reserve {
		if err := s.rotate(); err != nil && s.failed != nil {
			return err
		}
		err := s.commit(nil, spans, deletes, 0)
		if err == nil || s.failed != nil {
			return err
		}
	}
	return s.acknowledgeFull(spans)
}

// A pending frame is a frame to be written, and its effect.
type pendingFrame struct {
	frame
	at    int64 // of a record with flagTimed, before it is written
	body  []byte
	spans []span
}

// commit writes a commit at the end of the log.
func (s *Store) commit(payloads [][]byte, spans []span, deletes []uint64, at int64) error {
	var frames []pendingFrame
	if len(spans) > 0 {
		frames = append(frames, pendingFrame{frame: frame{kind: kindAcks}, body: appendSpans(nil, spans), spans: spans})
	}
	if s.reserve {
		frames = append(frames, s.copies(deletes)...)
	}
	for i, payload := range payloads {
		record := frame{kind: kindRecord, flags: timed(at), seq: s.state.next + uint64(i)}
		frames = append(frames, pendingFrame{frame: record, at: at, body: payload})
	}
	if err := s.append(frames); err != nil {
		return err
	}
	s.apply(frames)
	s.discard()
	return nil
}

// append writes frames as one commit and syncs them.
func (s *Store) append(frames []pendingFrame) error {
	if err := s.attached(0); err != nil { // a write behind the end of a file that was cut would leave a hole
		return err
	}
	active := s.state.active()
	name := segmentName(active.id)
	frames[0].flags |= flagFirst
	frames[len(frames)-1].flags |= flagLast
	b := s.buf[:0]
	for i := range frames {
		frames[i].commit = s.state.commit
		start := len(b)
		b = appendFrame(b, frames[i].frame, frames[i].at, frames[i].body, s.salt(active), active.length+int64(start))
		frames[i].length = uint32(len(b) - start - frameHeaderSize)
	}
	if s.buf = b; cap(b) > keptBuffer {
		s.buf = nil
	}
	if err := writeAt(active.file, b, active.length); err != nil {
		if active.file.Truncate(active.length) != nil {
			s.excess = active.length + int64(len(b)) // the next commit overwrites some of it
		}
		return s.wrap("write", name, err)
	}
	if err := active.file.Sync(); err != nil {
		return s.fail(s.wrap("sync", name, err))
	}
	return s.attached(int64(len(b)))
}

// apply makes frames that are synced visible.
func (s *Store) apply(frames []pendingFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	active := s.state.active()
	for _, f := range frames {
		at := place{offset: active.length, length: f.length}
		switch f.kind {
		case kindRecord:
			s.state.addRecord(f.seq, at)
			s.cached++
		case kindCopy:
			s.state.addCopy(f.seq, at)
		case kindAcks:
			for _, r := range f.spans {
				s.state.acknowledge(r)
			}
		}
		active.length += f.size()
	}
	s.state.commit++
	s.trim()
	s.end().write(s.mark, s.id)
}

func (s *Store) salt(g *segment) salt { return salt{store: s.id, segment: g.id} }

// rotate begins a new segment if the active one is large enough, or of an old version. If it fails
// without failing the store, then nothing changed.
func (s *Store) rotate() error {
	if active := s.state.active(); !active.old && active.length < max(s.options.SegmentSize, 4*int64(s.lastCP)) {
		return nil
	}
	return s.newSegment()
}

// newSegment begins a new segment.
func (s *Store) newSegment() error {
	if err := s.attached(0); err != nil {
		return err
	}
	old := s.state.active()
	g := &segment{id: old.id + 1, first: s.state.next, next: s.state.next, length: segmentHeaderSize, places: []place{}}
	name := segmentName(g.id)
	if err := writeFile(s.disk, name, segmentHeader(s.salt(g), g.first)); err != nil {
		return s.wrap("create", name, err)
	}
	f, err := s.disk.Open(name)
	if err != nil {
		_ = s.disk.Remove(name)
		return s.wrap("open", name, err)
	}
	g.file = f
	next := *s.state
	next.segments = append(slices.Clip(s.state.segments), g)
	if renamed, err := s.checkpoint(&next); err != nil {
		_ = f.Close()
		if !renamed {
			_ = s.disk.Remove(name)
		}
		return err
	}
	s.mu.Lock()
	s.state.segments, s.excess = next.segments, 0
	old.used = s.clock
	s.clock++
	s.mu.Unlock()
	s.discard()
	return nil
}

// attached fails the store if the active segment is not as it was left, or if the folder is
// not the one that was opened any more. Files in it may belong to another store then. more is
// the length of a commit that was not applied yet.
func (s *Store) attached(more int64) error {
	active := s.state.active()
	want := active.length + more
	size, err := active.file.Check()
	switch {
	case err != nil:
		err = fmt.Errorf("the file was removed or replaced: %w", err)
	case size != want && (size < want || size > s.excess):
		err = fmt.Errorf("the file has %d bytes, want %d: another program changed it", size, want)
	default:
		return nil
	}
	return s.fail(s.wrap("write", segmentName(active.id), err))
}

// checkpoint makes st the state from which the store is opened. If the result is unknown,
// the store has failed.
func (s *Store) checkpoint(st *state) (renamed bool, err error) {
	b := encodeCheckpoint(s.id, s.options.Codec, st)
	renamed, err = writeCheckpoint(s.disk, b)
	switch {
	case renamed && err != nil:
		return renamed, s.fail(s.wrap("replace", checkpointFile, err))
	case err != nil:
		return renamed, s.wrap("write", checkpointNew, err)
	}
	s.lastCP = len(b)
	return renamed, nil
}
