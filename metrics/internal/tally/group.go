package tally

import "slices"

// join adds a channel to the group of its name, and creates the group if necessary.
func (t *Tally) join(k key) *group {
	g := t.groups[k]
	switch {
	case k.name == Other:
		g = &t.other
	case g == nil:
		g = t.newGroup(k)
	}
	g.channels++
	return g
}

// newGroup creates the group of a name, with a series of its own unless the limit is
// reached.
func (t *Tally) newGroup(k key) *group {
	g := &group{key: k, series: t.other.series}
	t.groups[k] = g
	if len(t.own) == t.limit && !t.evict() {
		t.other.seen = t.count
		return g
	}
	g.series = &Series{Name: k.name, Kind: k.kind}
	t.own = append(t.own, g)
	return g
}

// evict removes the group that has had no channel for the longest time, and reports
// whether there was one. Channels that are garbage leave before the first new one joins,
// so after evict has returned false, it does so for the rest of the collection.
func (t *Tally) evict() bool {
	if t.full == t.count {
		return false
	}
	oldest := -1
	for i, g := range t.own {
		if g.seen < t.count && (oldest < 0 || g.seen < t.own[oldest].seen) {
			oldest = i
		}
	}
	if oldest < 0 {
		t.full = t.count
		return false
	}
	delete(t.groups, t.own[oldest].key)
	t.own = slices.Delete(t.own, oldest, oldest+1)
	return true
}

// leave removes a channel that is garbage from its group.
func (t *Tally) leave(g *group) {
	g.channels--
	if g.channels == 0 && g.series == t.other.series && g != &t.other {
		delete(t.groups, g.key)
	}
}
