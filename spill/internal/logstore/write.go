package logstore

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// Write adds payloads with consecutive sequence numbers, beginning at first, acknowledges
// the records with the numbers in deletes, and returns when the change is durable. If it
// fails, no part of the change was made or will be made, unless the error is ErrUnknown.
// It does not keep its arguments. first is the Next of Contents, plus the number of
// payloads written since. If at is not 0, it is stored with the new records, as their time.
//
// A write without payloads succeeds on a full disk, too. One with payloads fails there, and
// may be tried again: it succeeds when there is room, for which Write compacts segments that
// are mostly dead.
func (s *Store) Write(first uint64, payloads [][]byte, deletes []uint64, at int64) error {
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
	if len(payloads) == 0 {
		return s.acknowledge(deletes)
	}
	header := int64(frameHeaderSize)
	if at != 0 {
		header += timeSize
	}
	need := int64(len(deletes)) * rangeSize // at most
	for _, payload := range payloads {
		need += header + int64(len(payload))
	}
	for {
		err := s.add(payloads, deletes, at)
		if err == nil || s.failed != nil || !Full(err) || !s.relieve(need, err) {
			return cmp.Or(s.failed, err)
		}
	}
}

// add writes a commit with new records.
func (s *Store) add(payloads [][]byte, deletes []uint64, at int64) error {
	spans, err := s.spans(deletes)
	if err != nil {
		return err
	}
	if err := s.restoreSpares(); err != nil {
		return err
	}
	if err := s.rotate(); err != nil {
		return err
	}
	return s.commit(payloads, spans, deletes, at)
}

// spans returns the ranges of records to acknowledge. deletes is sorted.
func (s *Store) spans(deletes []uint64) (spans []span, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in *segment // of the last span, if it can be extended
	for i, seq := range deletes {
		g := s.state.find(seq)
		if g == nil || i > 0 && deletes[i-1] == seq {
			return nil, fmt.Errorf("spill: acknowledge: record %d is not stored", seq)
		}
		n := uint64(s.payloadLength(g, seq))
		if last := len(spans) - 1; in == g && deletes[i-1] == seq-1 {
			spans[last].n++
			spans[last].bytes += n
		} else {
			spans = append(spans, span{from: seq, n: 1, bytes: n})
		}
		in = g
	}
	return spans, nil
}

// acknowledge writes a commit without new records. If the log has no room, it uses the
// acknowledgment area.
func (s *Store) acknowledge(deletes []uint64) error {
	spans, err := s.spans(deletes)
	if err != nil {
		return err
	}
	if s.reserve { // or else each commit may use up space that acknowledgeFull needs
		if err := s.rotate(); err != nil && s.failed != nil {
			return err
		}
		err := s.commit(nil, spans, deletes, 0)
		if err == nil || s.failed != nil {
			return err
		}
	}
	if err = s.acknowledgeFull(spans); err == nil || s.failed != nil {
		return err
	}
	if s.commit(nil, spans, deletes, 0) == nil { // the last block of a segment may have room
		return nil
	}
	return cmp.Or(s.failed, err)
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
	if g := s.victim(); s.reserve && g != nil {
		frames = append(frames, s.copies(g, deletes)...)
	}
	for i, payload := range payloads {
		record := frame{kind: kindRecord, flags: timed(at), seq: s.state.next + uint64(i)}
		frames = append(frames, pendingFrame{frame: record, at: at, body: payload})
	}
	if err := s.append(frames); err != nil {
		return err
	}
	if s.apply(frames); s.state.emptied {
		s.discard()
	}
	return nil
}

// append writes frames as one commit and syncs them. It looks at the file before the write: it is as
// this store has left it, so the write leaves no hole, and overwrites no commit of another store. After
// the sync it looks at the lock, too: a store that is there then is the only one, so each that
// opens the folder later finds the commit. A look at the lock before the write would add nothing.
func (s *Store) append(frames []pendingFrame) error {
	if err := s.intact(0); err != nil {
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
	if err := s.require("sync", name, active.file.Sync()); err != nil {
		return err
	}
	return s.attached(int64(len(b)))
}

// apply makes frames that are synced visible.
func (s *Store) apply(frames []pendingFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	active := s.state.active()
	for _, f := range frames {
		s.state.apply(f, active.length, false)
		if f.kind == kindRecord {
			s.cached++
		}
		active.length += f.size()
		s.size.Add(f.size())
	}
	s.state.commit++
	if s.cached > maxCached {
		s.trim()
	}
	s.end().write(s.mark, s.id)
}

func (s *Store) salt(g *segment) salt { return salt{store: s.id, segment: g.id} }

// rotate begins a new segment if the active one is large enough. If it fails without failing the
// store, then nothing changed.
func (s *Store) rotate() error {
	if s.state.active().length < max(s.options.SegmentSize, 4*int64(s.lastCP)) {
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
	// The file stays open: another program may remove its name, which attached notices.
	f, err := createFile(s.disk, name, segmentHeader(s.salt(g), g.first))
	if err != nil {
		return s.wrap("create", name, err)
	}
	g.file = f
	next := *s.state
	next.segments = append(slices.Clip(s.state.segments), g)
	if err := s.persist(&next); err != nil {
		_ = f.Close()
		if s.failed == nil {
			_ = s.disk.Remove(name)
		}
		return err
	}
	s.mu.Lock()
	s.state.segments, s.state.commit, s.excess = next.segments, next.commit, 0
	old.used = s.clock
	s.clock++
	s.trim()
	s.mu.Unlock()
	s.discard()
	return nil
}

// intact fails the store if the active segment is not as it was left. more is the length of a commit
// that was not applied yet.
func (s *Store) intact(more int64) error {
	active := s.state.active()
	want := active.length + more
	return s.require("write", segmentName(active.id), unchanged(active.file, want, max(want, s.excess)))
}

// attached is intact, and also fails the store if the folder or its lock is not the one that was opened.
// Files in it may belong to another store then, and the next records of this one are lost.
func (s *Store) attached(more int64) error {
	if err := s.intact(more); err != nil {
		return err
	}
	return s.require("write", disk.LockFile, unchanged(s.lock, 0, math.MaxInt64))
}

// require fails the store if err, of an operation on a file, is not nil.
func (s *Store) require(operation, name string, err error) error {
	if err != nil {
		err = s.fail(s.wrap(operation, name, err))
	}
	return err
}

// unchanged returns an error unless the name of a file still leads to it, and its size is in a range.
func unchanged(f interface{ Check() (int64, error) }, least, most int64) error {
	size, err := f.Check()
	switch {
	case err != nil:
		return fmt.Errorf("the file was removed or replaced: %w", bare(err))
	case size < least || size > most:
		return fmt.Errorf("the file has %d bytes, want %d: another program changed it", size, least)
	}
	return nil
}

// persist makes st the state from which the store is opened: by a checkpoint, or, on a full disk, in a
// slot, with a commit number of its own. If it fails without failing the store, nothing changed.
func (s *Store) persist(st *state) error {
	renamed, err := s.checkpoint(st)
	if renamed || !Full(err) || s.disk.Sync() != nil { // a slot may list a segment whose name is new
		return err
	}
	st.commit++
	if failed := s.writeSlot(st); failed == nil || s.failed != nil {
		err = failed
	}
	return err
}

// checkpoint makes st the state from which the store is opened. If the result is unknown,
// the store has failed.
func (s *Store) checkpoint(st *state) (renamed bool, err error) {
	b := encodeCheckpoint(s.id, s.options.Codec, st)
	renamed, err = Replace(s.disk, checkpointFile, b)
	if renamed {
		err = s.require("replace", checkpointFile, err)
	} else {
		err = s.wrap("write", checkpointNew, err)
	}
	if err != nil {
		return renamed, err
	}
	s.lastCP, s.inSlot = len(b), false
	return renamed, nil
}
