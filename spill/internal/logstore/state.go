package logstore

import (
	"iter"
	"math/bits"
	"slices"
	"sort"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// A state is what the commits of a log add up to. The same methods apply a commit when it
// is written and when it is replayed.
//
//	sequence numbers of new records ascend without gaps through the segments
//	a record is live in one place: where it was written, or in its last copy
//	gone of a segment has a bit for each record written there that is acknowledged or was copied
//	segments without live records, except the last, do not matter
//	next is the next of the last segment
type state struct {
	segments []*segment // by id; the last one is written to
	moved    map[uint64]*segment
	next     uint64 // sequence number of the next new record
	commit   uint64 // number of the next commit
	frames   int64  // bytes of the frames of all live records: the sum of liveFrames
	emptied  bool   // one before the active segment may have no live record any more
}

// A segment is a file of the log.
type segment struct {
	id          uint64
	first, next uint64 // the new records written here: first <= seq < next
	length      int64  // of the header and all synced commits, in bytes; next-first <= length/frameHeaderSize
	live        int
	liveBytes   int64 // of payloads
	gone        bitmap
	copies      map[uint64]place // live records that were copied here

	// What follows is a cache. It is nil for segments that are not in use.
	file   disk.File
	places []place // of the new records
	used   uint64
}

// A place is where a frame is. If it is damaged, offset is -1.
type place struct {
	offset int64
	length uint32 // of the body: the payload, and the time if it has one
}

// active returns the segment that is written to.
func (st *state) active() *segment { return st.segments[len(st.segments)-1] }

// written returns the segment to which seq was written, or nil if it does not exist any
// more.
func (st *state) written(seq uint64) *segment {
	i := sort.Search(len(st.segments), func(i int) bool { return st.segments[i].next > seq })
	if i == len(st.segments) || seq < st.segments[i].first {
		return nil
	}
	return st.segments[i]
}

// find returns the segment in which seq is live, or nil.
func (st *state) find(seq uint64) *segment {
	if s := st.moved[seq]; s != nil {
		return s
	}
	if s := st.written(seq); s != nil && !s.gone.has(seq-s.first) {
		return s
	}
	return nil
}

// apply applies a frame at offset of the active segment. It ignores a copy of a record that is not
// live, unless orphans is set.
func (st *state) apply(f pendingFrame, offset int64, orphans bool) {
	s, at := st.active(), place{offset: offset, length: f.length}
	switch {
	case f.kind == kindRecord && f.seq >= st.next:
		s.places = append(s.places, at)
		s.next, st.next = f.seq+1, f.seq+1
		st.grow(s, at)
	case f.kind == kindCopy && (orphans || st.find(f.seq) != nil):
		st.acknowledge(span{from: f.seq, n: 1, bytes: uint64(at.length)})
		st.adopt(s, f.seq, at)
	case f.kind == kindAcks:
		for _, r := range f.spans {
			st.acknowledge(r)
		}
	}
}

// adopt makes a record that is live nowhere else live in s.
func (st *state) adopt(s *segment, seq uint64, at place) {
	if s.copies == nil {
		s.copies = map[uint64]place{}
	}
	s.copies[seq] = at
	st.moved[seq] = s
	st.grow(s, at)
}

// grow counts a record that has become live in s.
func (st *state) grow(s *segment, at place) {
	s.live++
	s.liveBytes += int64(at.length)
	st.frames += frameHeaderSize + int64(at.length)
}

// acknowledge removes records that are live in one segment. It takes time for the records that are
// live, whatever r says.
func (st *state) acknowledge(r span) {
	for seq := range st.live(r.from, r.from+uint64(r.n)) {
		s := st.moved[seq]
		if s != nil {
			delete(st.moved, seq)
			delete(s.copies, seq)
		} else {
			s = st.written(seq)
			s.gone.set(seq - s.first)
		}
		before := s.liveFrames()
		s.live--
		if seq == r.from {
			s.liveBytes -= int64(min(r.bytes, uint64(s.liveBytes)))
		}
		if s.live == 0 {
			s.liveBytes = 0 // the size of damaged records is unknown
			st.emptied = st.emptied || s != st.active()
		}
		st.frames += s.liveFrames() - before
	}
}

// live returns an iterator over the numbers of live records in [from, to), ascending. The state must
// not change meanwhile, except for a record that was yielded.
func (st *state) live(from, to uint64) iter.Seq[uint64] {
	return liveIn(st.segments, st.moved, from, min(to, st.next))
}

// liveIn is live for some segments. moved has the records that were copied to them as its keys.
func liveIn[V any](segments []*segment, moved map[uint64]V, from, to uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		copied := keysIn(moved, from, to)
		before := func(seq uint64) bool { // yields the copied records before seq
			for len(copied) > 0 && copied[0] < seq {
				if !yield(copied[0]) {
					return false
				}
				copied = copied[1:]
			}
			return true
		}
		for _, s := range segments[sort.Search(len(segments), func(i int) bool { return segments[i].next > from }):] {
			if s.live == len(s.copies) {
				continue // nothing of what was written here
			}
			end := min(s.next, to)
			for seq := s.nextWritten(max(from, s.first)); seq < end; seq = s.nextWritten(seq + 1) {
				if !before(seq) || !yield(seq) {
					return
				}
			}
			if s.next >= to {
				break
			}
		}
		before(to)
	}
}

// nextWritten returns the first record from seq on that is live where it was written, in s, or a
// number beyond those of s.
func (s *segment) nextWritten(seq uint64) uint64 { return s.first + s.gone.nextClear(seq-s.first) }

// keysIn returns the keys of m in [from, to), sorted.
func keysIn[V any](m map[uint64]V, from, to uint64) (keys []uint64) {
	if to-from < uint64(len(m)) {
		for seq := from; seq < to; seq++ {
			if _, ok := m[seq]; ok {
				keys = append(keys, seq)
			}
		}
		return keys
	}
	for seq := range m {
		if from <= seq && seq < to {
			keys = append(keys, seq)
		}
	}
	slices.Sort(keys)
	return keys
}

// contents returns what the log holds.
func (st *state) contents() Contents {
	c := Contents{Next: st.next, First: st.next}
	for c.First = range st.live(0, st.next) {
		break
	}
	for _, s := range st.segments {
		c.Records += s.live
		c.Bytes += s.liveBytes
	}
	return c
}

// A bitmap is a set of small numbers. Records are mostly acknowledged in order, so words at the start
// of which all numbers are in the set are only counted.
type bitmap struct {
	full  uint64 // words
	words []uint64
}

func (b bitmap) has(i uint64) bool {
	w := i / 64
	return w < b.full || w-b.full < uint64(len(b.words)) && b.words[w-b.full]>>(i%64)&1 != 0
}

func (b *bitmap) set(i uint64) {
	w := i / 64
	if w < b.full {
		return
	}
	w -= b.full
	if short := int(w) + 1 - len(b.words); short > 0 {
		b.words = append(b.words, make([]uint64, short)...)
	}
	b.words[w] |= 1 << (i % 64)
	for len(b.words) > 0 && b.words[0] == ^uint64(0) {
		b.full, b.words = b.full+1, b.words[1:]
	}
}

// nextClear returns the first number from i on that is not in the set.
func (b bitmap) nextClear(i uint64) uint64 {
	i = max(i, 64*b.full)
	for ; i/64-b.full < uint64(len(b.words)); i = i/64*64 + 64 {
		if free := ^b.words[i/64-b.full] >> (i % 64); free != 0 {
			return i + uint64(bits.TrailingZeros64(free))
		}
	}
	return i
}

// count returns how many numbers from i on are in the set.
func (b bitmap) count(i uint64) (n uint64) {
	if i < 64*b.full {
		n, i = 64*b.full-i, 64*b.full
	}
	for w := i/64 - b.full; w < uint64(len(b.words)); w++ {
		n += uint64(bits.OnesCount64(b.words[w] >> (i % 64)))
		i = 0 // only the first word is counted in part
	}
	return n
}
