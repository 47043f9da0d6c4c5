package broadcast

import "slices"

// Filters. A subscription with a filter has a queue of its own, for the values that it wants. A
// filter is user code, so a publisher asks the filters about its next value without a lock, and
// outside the wait queue. Then it publishes that value, and no other one, if the set of filters
// is still the same; otherwise it asks again.
//
// Such a subscription is not in the list waiting before a value that it wants is published: the
// other values wake none of its goroutines.

// A filterSet is the subscriptions with a filter. It is immutable.
type filterSet[T any] struct{ of []*Subscription[T] }

// setFilters replaces the set after a change of the subscriptions with a filter. The lock is held.
func (h *Hub[T]) setFilters(of []*Subscription[T]) {
	for i, s := range of {
		s.asked = i
	}
	if len(of) == 0 {
		h.filters.Store(nil)
		return
	}
	h.filters.Store(&filterSet[T]{of})
}

// addFilter adds s to the set. The lock is held.
func (h *Hub[T]) addFilter(s *Subscription[T]) {
	var of []*Subscription[T]
	if set := h.filters.Load(); set != nil {
		of = set.of
	}
	h.setFilters(append(slices.Clip(of), s))
}

// dropFilter removes s from the set. The lock is held.
func (h *Hub[T]) dropFilter(s *Subscription[T]) {
	of := h.filters.Load().of
	h.setFilters(slices.Delete(slices.Clone(of), s.asked, s.asked+1))
}

// answers are what the filters of a set have said about a value: bit i is that of filter i.
type answers[T any] struct {
	set  *filterSet[T] // nil: none were asked
	few  [4]uint64
	more []uint64 // instead of few
}

func (a *answers[T]) word(i int) *uint64 {
	if a.more != nil {
		return &a.more[i/64]
	}
	return &a.few[i/64]
}

// ask asks the filters of a set about v.
func (a *answers[T]) ask(set *filterSet[T], v T) {
	*a = answers[T]{set: set}
	if set == nil {
		return
	}
	if words := (len(set.of) + 63) / 64; words > len(a.few) {
		a.more = make([]uint64, words)
	}
	for i, s := range set.of {
		if s.filter(v) {
			*a.word(i) |= 1 << (i % 64)
		}
	}
}

// wants reports whether a subscription gets the value.
func (a *answers[T]) wants(s *Subscription[T]) bool {
	return s.filter == nil || *a.word(s.asked)>>(s.asked%64)&1 != 0
}
