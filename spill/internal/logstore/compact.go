package logstore

import "slices"

// copyStep is how many bytes of old records a commit copies, at most, and one record.
const copyStep = 64 << 10

// copies returns frames for a commit, which copy live records of an old segment that is
// mostly dead. Records in deletes are left out: the same commit acknowledges them.
func (s *Store) copies(deletes []uint64) (frames []pendingFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.victim(); g != nil {
		return s.copiesOf(g, deletes)
	}
	return nil
}

// copiesOf returns frames that copy the first live records of g.
func (s *Store) copiesOf(g *segment, deletes []uint64) (frames []pendingFrame) {
	room := int64(copyStep)
	read := reader{store: s, ahead: blockSize}
	moved := sortedKeys(g.copies)
	for seq := s.state.nextIn(g, 0, moved); seq < s.state.next && room > 0; seq = s.state.nextIn(g, seq+1, moved) {
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
		bytes := g.liveBytes + int64(g.live)*frameHeaderSize
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

// nextIn returns the first live record in g from seq on, or st.next. moved are the records
// that were copied there.
func (st *state) nextIn(g *segment, seq uint64, moved []uint64) uint64 {
	next := st.next
	if i, _ := slices.BinarySearch(moved, seq); i < len(moved) {
		next = moved[i]
	}
	if seq = max(seq, g.first); seq < g.next {
		if seq = g.first + g.gone.nextClear(seq-g.first); seq < g.next {
			next = min(next, seq)
		}
	}
	return next
}

func sortedKeys(m map[uint64]place) []uint64 {
	keys := make([]uint64, 0, len(m))
	for seq := range m {
		keys = append(keys, seq)
	}
	slices.Sort(keys)
	return keys
}
