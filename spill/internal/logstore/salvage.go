package logstore

import (
	"errors"
	"io/fs"
)

// replayFrom replays the segments that the checkpoint does not list.
func (r *repairer) replayFrom(from uint64) error {
	s := r.store
	for _, id := range r.ids() {
		if id < from || r.files[segmentName(id)] <= segmentHeaderSize {
			continue
		}
		g := &segment{id: id, first: s.state.next, next: s.state.next, length: segmentHeaderSize}
		_, first, err := r.header(id)
		if err == nil && first > s.state.next {
			g.first, g.next, s.state.next = first, first, first
		}
		if err != nil {
			r.tails[g] = true
		}
		s.state.segments, r.stale = append(s.state.segments, g), true
		if err := r.replay(g); err != nil {
			return err
		}
	}
	if len(s.state.segments) == 0 {
		return errNothing // all segments are empty
	}
	return nil
}

// header reads the header of a segment.
func (r *repairer) header(id uint64) (place salt, first uint64, err error) {
	f, err := r.store.disk.Open(segmentName(id))
	if err != nil {
		return place, 0, err
	}
	b := make([]byte, segmentHeaderSize)
	n, _ := f.ReadAt(b, 0)
	place, first, err = parseSegmentHeader(b[:n])
	return place, first, errors.Join(err, f.Close())
}

// A gathering is the frames of one commit, as far as they were found.
type gathering struct {
	frames []pendingFrame
	at     []int64
	whole  bool // all frames so far, without damage
}

func (c *gathering) add(f pendingFrame, at int64, gap bool) {
	c.whole = f.kind != 0 && (f.flags&flagFirst != 0 || c.whole && !gap)
	c.frames, c.at = append(c.frames, f), append(c.at, at)
}

// replay applies the intact frames of g after its length. It leaves out a commit at the end
// that is not complete and was not synced.
func (r *repairer) replay(g *segment) (err error) {
	s := r.store
	if g.file, err = s.disk.Open(segmentName(g.id)); errors.Is(err, fs.ErrNotExist) {
		r.tails[g] = true
		r.finish(g, gathering{})
		return nil
	} else if err != nil {
		return err
	}
	read, size, commit := reader{store: s, ahead: blockSize}, r.files[segmentName(g.id)], gathering{}
	for offset := g.length; ; {
		h, at, err := read.search(g, offset, size)
		if err != nil {
			return err
		}
		if at < 0 {
			break
		}
		f, err := read.frame(g, at, size)
		if err != nil {
			return err
		}
		if len(commit.frames) > 0 && h.commit > commit.frames[0].commit {
			r.apply(g, commit)
			commit = gathering{}
		}
		if len(commit.frames) == 0 && h.commit > s.state.commit && !r.report.NoCheckpoint {
			r.tails[g] = true // a commit is missing: it was in the acknowledgment area
		}
		if f.frame.kind == 0 { // the body is damaged: count the record
			f.frame = h
			commit.add(f, at, true)
			commit.whole = false
		} else {
			commit.add(f, at, at != offset)
		}
		if at != offset || !commit.whole {
			r.tails[g] = true
		}
		offset = at + h.size()
	}
	r.finish(g, commit)
	return nil
}

// finish applies the last commit, if it was synced or may have been.
func (r *repairer) finish(g *segment, commit gathering) {
	if n := len(commit.frames); n > 0 {
		last := commit.frames[n-1]
		if r.synced.commit > last.commit || commit.whole && last.flags&flagLast != 0 {
			r.apply(g, commit)
		}
	}
	end := mark{g.id, g.length, r.store.state.commit, 0}
	if g.id == r.synced.segment && end.before(r.synced) {
		r.tails[g] = true
	}
	if g.id == r.synced.segment && r.store.state.next < r.synced.next {
		r.tails[g] = true
		r.skip(g, r.synced.next)
	}
}

// apply applies a commit of which frames may be missing.
func (r *repairer) apply(g *segment, c gathering) {
	st := r.store.state
	for i, f := range c.frames {
		if f.kind == kindRecord && f.seq > st.next {
			r.skip(g, f.seq)
		}
		st.apply(f, c.at[i], r.report.NoCheckpoint)
		st.commit = max(st.commit, f.commit+1)
		g.length = max(g.length, c.at[i]+f.size())
	}
}

// skip counts the records before seq: they were in a damaged part of g.
func (r *repairer) skip(g *segment, seq uint64) {
	st := r.store.state
	if g.next == g.first && r.report.NoCheckpoint && r.tails[g] {
		g.first, g.next = seq, seq // how many there were is unknown
	}
	g.live += int(seq - g.next)
	g.next, st.next = seq, seq
}

// verify reads all live records. It returns the lost ones, and the damaged segments.
func (r *repairer) verify() (lost []uint64, damaged []*segment, err error) {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.state.segments {
		if g.file != nil {
			_ = g.file.Close()
		}
		g.file, g.places = nil, nil // found again, with those before the checkpoint
	}
	bad := map[*segment]bool{}
	read := reader{store: s, ahead: blockSize}
	for seq := range s.state.live(0, s.state.next) {
		record, err := read.record(seq)
		if err != nil || record.Damaged != nil {
			lost, bad[s.state.find(seq)] = append(lost, seq), true
		}
	}
	active := s.state.active()
	for _, g := range s.state.segments {
		size, ok := r.files[segmentName(g.id)]
		_, _, header := r.header(g.id)
		if bad[g] || r.tails[g] || g.live > 0 && size < g.length || g == active && (!ok || size < g.length || header != nil) {
			damaged = append(damaged, g)
		}
	}
	return lost, damaged, nil
}
