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
type state struct {
	segments []*segment // by id; the last one is written to
	moved    map[uint64]*segment
	next     uint64 // sequence number of the next new record
	commit   uint64 // number of the next commit
}

// A segment is a file of the log.
type segment struct {
	id          uint64
	first, next uint64 // the new records written here: first <= seq < next
	length      int64  // of the header and all synced commits, in bytes
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
		s.live++
		s.liveBytes += int64(at.length)
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
	s.live++
	s.liveBytes += int64(at.length)
}

// acknowledge removes records that are live in one segment.
func (st *state) acknowledge(r span) {
	for seq := r.from; seq < r.from+uint64(r.n); seq++ {
		s := st.find(seq)
		if s == nil {
			continue
		}
		if st.moved[seq] == s {
			delete(st.moved, seq)
			delete(s.copies, seq)
		} else {
			s.gone.set(seq - s.first)
		}
		s.live--
		if seq == r.from {
			s.liveBytes -= int64(r.bytes)
		}
		if s.live == 0 {
			s.liveBytes = 0 // the size of damaged records is unknown
		}
	}
}

// live returns an iterator over the numbers of live records in [from, to), ascending. The state must
// not change meanwhile.
func (st *state) live(from, to uint64) iter.Seq[uint64] {
	return liveIn(st.segments, st.moved, from, min(to, st.next))
}

// liveIn is live for some segments. moved has the records that were copied to them as its keys.
func liveIn[V any](segments []*segment, moved map[uint64]V, from, to uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		copied := keysIn(moved, from, to)
		for seq := from; ; seq++ {
			seq = nextWritten(segments, seq, to)
			if len(copied) > 0 && copied[0] < seq {
				seq, copied = copied[0], copied[1:]
			}
			if seq >= to || !yield(seq) {
				return
			}
		}
	}
}

// nextWritten returns the first record from seq on that is live where it was written, in one of
// segments, or end.
func nextWritten(segments []*segment, seq, end uint64) uint64 {
	i := sort.Search(len(segments), func(i int) bool { return segments[i].next > seq })
	for ; i < len(segments); i++ {
		s := segments[i]
		if s.live == len(s.copies) {
			continue // nothing of what was written here
		}
		seq = max(seq, s.first)
		if seq = s.first + s.gone.nextClear(seq-s.first); seq < s.next {
			return seq
		}
	}
	return end
}

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

// A bitmap is a set of small numbers. Beyond its length, no number is in the set.
type bitmap []uint64

func (b bitmap) has(i uint64) bool { return i/64 < uint64(len(b)) && b[i/64]>>(i%64)&1 != 0 }

func (b *bitmap) set(i uint64) {
	if short := int(i/64) + 1 - len(*b); short > 0 {
		*b = append(*b, make([]uint64, short)...)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

// nextClear returns the first number from i on that is not in the set.
func (b bitmap) nextClear(i uint64) uint64 {
	for ; i/64 < uint64(len(b)); i = i/64*64 + 64 {
		if free := ^b[i/64] >> (i % 64); free != 0 {
			return i + uint64(bits.TrailingZeros64(free))
		}
	}
	return i
}
