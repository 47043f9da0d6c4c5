package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// copyStep is how many bytes of old records a commit copies, at most, and one record.
const copyStep = 64 << 10

// copies returns frames that copy the first live records of g. Records in deletes are left out: the
// same commit acknowledges them.
func (s *Store) copies(g *segment, deletes []uint64) (frames []pendingFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := int64(copyStep)
	read := reader{store: s, ahead: blockSize}
	for seq := range liveIn([]*segment{g}, g.copies, 0, s.state.next) {
		if room <= 0 {
			break
		}
		if _, deleted := slices.BinarySearch(deletes, seq); deleted {
			continue
		}
		r, err := read.record(seq)
		if err != nil || r.Damaged != nil {
			s.broken[g.id] = true // leave it where it is, for Repair
			break
		}
		frames = append(frames, pendingFrame{frame: frame{kind: kindCopy, flags: timed(r.Time), seq: seq}, at: r.Time, body: r.Payload})
		room -= int64(len(r.Payload)) + frameHeaderSize
	}
	return frames
}

// victim returns the segment to empty, or nil: the oldest one of which at most a quarter
// is live, if the sealed segments are in all more than twice as large as what is live there.
func (s *Store) victim() *segment {
	active := s.state.active()
	live, size := s.state.frames-active.liveFrames(), s.size.Load()-active.length
	if size <= 2*live+s.options.SegmentSize {
		return nil
	}
	for _, g := range s.state.segments {
		if g != active && g.liveFrames() <= g.length/4 && !s.broken[g.id] {
			return g
		}
	}
	return nil
}

// empty copies the live records of g to the end of the log.
func (s *Store) empty(g *segment) error {
	for g.live > 0 {
		frames := s.copies(g, nil)
		if len(frames) == 0 {
			return fmt.Errorf("%s: its records cannot be read any more", s.disk.Path(segmentName(g.id)))
		}
		if err := s.append(frames); err != nil {
			return err
		}
		s.apply(frames)
	}
	return nil
}

// liveFrames returns the size of the frames of the live records of g.
func (g *segment) liveFrames() int64 { return g.liveBytes + int64(g.live)*frameHeaderSize }

// relieve makes room for a commit of need bytes that failed with err, because the disk is
// full. It copies the live records of segments that are mostly dead, so that these are
// deleted, and uses the space of the reserve meanwhile. It reports whether there is more
// room than before. Each step is a commit or begins a segment, so a crash loses nothing.
//
// It copies at most as many bytes as it frees.
func (s *Store) relieve(need int64, err error) bool {
	active := s.state.active()
	if errors.Is(err, syscall.EFBIG) && segmentHeaderSize+need <= active.length {
		return s.newSegment() == nil // the commit fits into a file that is as large as this one
	}
	victims, gain := s.victims()
	if gain < need || s.attached(0) != nil { // the reserve may be another store's
		return false
	}
	if s.reserve {
		s.dropReserve()
		defer s.warn()
	}
	if slices.Contains(victims, active) && s.newSegment() != nil {
		return false
	}
	for _, g := range victims {
		if s.empty(g) != nil {
			return false
		}
	}
	s.discard()
	return true
}

// victims returns segments to empty on a full disk, and how many bytes that frees: those
// of which at most half is live, the emptiest first, as far as their live records fit into
// the reserve.
func (s *Store) victims() (victims []*segment, gain int64) {
	var found []*segment
	for _, g := range s.state.segments {
		if g.liveFrames() <= (g.length-segmentHeaderSize)/2 && g.length > segmentHeaderSize && !s.broken[g.id] {
			found = append(found, g)
		}
	}
	slices.SortFunc(found, func(a, b *segment) int { return cmp.Compare(a.liveFrames(), b.liveFrames()) })
	room := s.options.Reserve - segmentHeaderSize
	for _, g := range found {
		if room -= g.liveFrames(); room < 0 {
			break
		}
		victims = append(victims, g)
		gain += g.length - segmentHeaderSize - g.liveFrames()
	}
	return victims, gain
}
