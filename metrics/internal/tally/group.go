package tally

import "slices"

// join has one channel more in the group of a name, and makes that if there is none.
func (t *Tally) join(k key) *group {
	g := t.groups[k]
	switch {
	case k.name == Other:
		g = &t.other
	case g == nil:
		g = t.found(k)
	}
	g.channels++
	return g
}

// found makes the group of a name that has none, with a series of its own if there is
// a place.
func (t *Tally) found(k key) *group {
	g := &group{key: k, series: t.other.series}
	t.groups[k] = g
	if len(t.own) == t.limit && !t.evict() {
		t.other.seen = t.looks
		return g
	}
	g.series = &Series{Name: k.name, Kind: k.kind}
	t.own = append(t.own, g)
	return g
}

// evict takes its series from the group that has been without channels for longest,
// if one is: one that this look has not found, nor will. The channels that died are
// known before the first one joins, so if there is none there will be none in this look.
func (t *Tally) evict() bool {
	if t.full == t.looks {
		return false
	}
	oldest := -1
	for i, g := range t.own {
		if g.seen < t.looks && (oldest < 0 || g.seen < t.own[oldest].seen) {
			oldest = i
		}
	}
	if oldest < 0 {
		t.full = t.looks
		return false
	}
	delete(t.groups, t.own[oldest].key)
	t.own = slices.Delete(t.own, oldest, oldest+1)
	return true
}

// leave tells a group that one of its channels is garbage.
func (t *Tally) leave(g *group) {
	g.channels--
	if g.channels == 0 && g.series == t.other.series && g != &t.other {
		delete(t.groups, g.key)
	}
}
