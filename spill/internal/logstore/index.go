package logstore

// maxCached is how many places are kept for segments that are not active: 16 bytes each.
const maxCached = 1 << 20

// load opens g and finds the places of its records, unless it is loaded. The caller holds
// mu.
func (s *Store) load(g *segment) error {
	s.clock++
	g.used = s.clock
	if g.places != nil {
		return nil
	}
	f, err := s.disk.Open(segmentName(g.id))
	if err != nil {
		return err
	}
	g.file = f
	if g.places, err = s.scanPlaces(g); err != nil {
		s.unload(g)
		return err
	}
	s.cached += len(g.places)
	s.trim()
	return nil
}

// trim unloads segments that were not used lately, beyond two and the active one.
func (s *Store) trim() {
	for s.cached > maxCached || s.opened() > maxOpen {
		var oldest *segment
		for _, g := range s.state.segments[:len(s.state.segments)-1] {
			if g.places != nil && g.used < s.clock && (oldest == nil || g.used < oldest.used) {
				oldest = g
			}
		}
		if oldest == nil {
			return
		}
		s.unload(oldest)
	}
}

// maxOpen is how many segments are kept open.
const maxOpen = 64

func (s *Store) opened() (n int) {
	if len(s.state.segments) <= maxOpen {
		return 0
	}
	for _, g := range s.state.segments {
		if g.places != nil {
			n++
		}
	}
	return n
}

// unload closes g, unless it is active, and forgets the places of its records.
func (s *Store) unload(g *segment) {
	if g == s.state.active() {
		return
	}
	if g.file != nil {
		_ = g.file.Close()
	}
	s.cached -= len(g.places)
	g.file, g.places = nil, nil
}

// scanPlaces reads the frame headers of g. Records whose header is damaged have no place.
func (s *Store) scanPlaces(g *segment) ([]place, error) {
	places := make([]place, 0, min(g.next-g.first, maxCached))
	missing := func(until uint64) {
		for g.first+uint64(len(places)) < until {
			places = append(places, place{offset: -1})
		}
	}
	read := reader{store: s, ahead: blockSize}
	unread := int64(0) // bytes without a frame, in which records may have been
	for offset := int64(segmentHeaderSize); ; {
		h, at, err := read.search(g, offset, g.length)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			break
		}
		unread += at - offset
		if n := h.seq - g.first - uint64(len(places)); h.kind == kindRecord && n <= uint64(unread/frameHeaderSize) && h.seq < g.next {
			missing(h.seq)
			unread -= int64(n) * frameHeaderSize
			found := place{offset: at, length: h.length}
			if at+h.size() > g.length {
				found.offset = -1
			}
			places = append(places, found)
		}
		offset = at + h.size()
	}
	missing(g.next)
	return places, nil
}

// payloadLength returns the length of the payload of a live record in g, or 0 if it cannot
// be read: acknowledging must be possible then, too.
func (s *Store) payloadLength(g *segment, seq uint64) uint32 {
	if at, ok := g.copies[seq]; ok {
		return at.length
	}
	if s.load(g) != nil {
		return 0
	}
	return g.places[seq-g.first].length
}
