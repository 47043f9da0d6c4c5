package logstore

import (
	"fmt"
	"slices"
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
// is live, if segments are in all more than twice as large as what is live.
func (s *Store) victim() *segment {
	var live, size int64
	var found *segment
	for _, g := range s.state.segments[:len(s.state.segments)-1] {
		bytes := g.liveFrames()
		live, size = live+bytes, size+g.length
		if found == nil && bytes <= g.length/4 && !s.broken[g.id] {
			found = g
		}
	}
	if size <= 2*live+s.options.SegmentSize {
		return nil
	}
	return found
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
