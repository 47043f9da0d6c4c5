package logstore

import (
	"cmp"
	"errors"
	"slices"
	"syscall"
)

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
