package logstore

import (
	"errors"
	"io/fs"
	"math"
	"syscall"
)

// replayFrom replays the segments that the checkpoint does not list.
func (r *repairer) replayFrom(from uint64) error {
	s := r.store
	for _, id := range r.ids() {
		if id < from {
			continue
		}
		g := &segment{id: id, first: s.state.next, next: s.state.next, length: segmentHeaderSize}
		place, first, err := r.header(segmentName(id))
		if err == nil && place != s.salt(g) {
			err = errSegmentHeader
		}
		if r.files[segmentName(id)] <= segmentHeaderSize && (err != nil || !r.report.NoCheckpoint) {
			continue // without a checkpoint, its header has the number of the next record
		}
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

// header reads the header of a segment from its file.
func (r *repairer) header(name string) (place salt, first uint64, err error) {
	f, err := r.store.disk.Open(name)
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
	r.unread, r.seen = 0, g.length
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
	if g.id == r.synced.segment && (end.before(r.synced) || r.store.state.next < r.synced.next) {
		r.tails[g] = true
		r.missing()
	}
}

// missing counts the records at the end of the log, of which only the mark knows.
func (r *repairer) missing() {
	if st := r.store.state; st.next < r.synced.next {
		r.lose(st.next, r.synced.next-1, r.synced.next-st.next)
		st.next = r.synced.next
	}
}

// lose counts n records, from first to last, that cannot be read.
func (r *repairer) lose(first, last, n uint64) {
	if r.report.Lost == 0 {
		r.report.First, r.report.Last = first, last
	}
	r.report.Lost = int(min(uint64(r.report.Lost)+n, math.MaxInt))
	r.report.First, r.report.Last = min(r.report.First, first), max(r.report.Last, last)
}

// apply applies a commit of which frames may be missing.
func (r *repairer) apply(g *segment, c gathering) {
	st := r.store.state
	for i, f := range c.frames {
		before := f.seq // the records that were written before the frame
		if f.kind == kindCopy {
			before++
		}
		r.unread += max(0, c.at[i]-r.seen)
		r.seen = max(r.seen, c.at[i]+f.size())
		if f.kind != kindAcks && before > st.next && !r.skip(g, before) {
			continue
		}
		st.apply(f, c.at[i], r.report.NoCheckpoint)
		st.commit = max(st.commit, f.commit+1)
		g.length = max(g.length, c.at[i]+f.size())
	}
}

// skip counts the records before seq: they were in the damaged parts of g. It reports whether so many
// could be there.
func (r *repairer) skip(g *segment, seq uint64) bool {
	st := r.store.state
	switch n := seq - g.next; {
	case g.next == g.first && r.report.NoCheckpoint && r.tails[g]:
		g.first = seq // how many there were is unknown
	case n > uint64(r.unread/frameHeaderSize):
		return false
	default:
		g.live += int(n)
		r.unread -= int64(n) * frameHeaderSize
	}
	g.next, st.next = seq, seq
	return true
}

// cut counts the live records of g that were behind the end of its file, which has size bytes.
func (r *repairer) cut(g *segment, size int64) {
	g.length = size
	most := g.first + uint64((size-segmentHeaderSize)/frameHeaderSize)
	if most >= g.next {
		return
	}
	if n := g.next - most - g.gone.count(most-g.first); n > 0 {
		r.lose(g.first+g.gone.nextClear(most-g.first), g.next-1, n)
		g.live -= int(n)
	}
	g.next = most
}

// scarce reports whether err is about the process, and says nothing about the file.
func scarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, fs.ErrPermission)
}

// verify reads all live records. It counts the lost ones, which are not live any more, and returns
// the damaged segments.
func (r *repairer) verify() (damaged []*segment, err error) {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	bad := map[*segment]bool{}
	for _, g := range s.state.segments {
		if g.file != nil {
			_ = g.file.Close()
		}
		g.file, g.places = nil, nil // found again, with those before the checkpoint
		if size := r.files[segmentName(g.id)]; g.live > 0 && size < g.length {
			bad[g] = true
			r.cut(g, max(size, segmentHeaderSize))
		}
	}
	read := reader{store: s, ahead: blockSize}
	for seq := range s.state.live(0, s.state.next) {
		record, err := read.record(seq)
		if scarce(err) {
			return nil, err
		}
		if err != nil || record.Damaged != nil {
			bad[s.state.find(seq)] = true
			r.lose(seq, seq, 1)
			s.state.acknowledge(span{from: seq, n: 1})
		}
	}
	active := s.state.active()
	for _, g := range s.state.segments {
		size, ok := r.files[segmentName(g.id)]
		_, _, header := r.header(segmentName(g.id))
		if bad[g] || r.tails[g] || g == active && (!ok || size < g.length || header != nil) {
			damaged = append(damaged, g)
		}
	}
	return damaged, nil
}
