package observe

import (
	"cmp"
	"maps"
	"slices"
)

// One function is often the start of several stages of a pipeline, with its channels as
// arguments. Its goroutines at each place of the pipeline are a role of their own: they
// have jobs of their own, and a node between two of them is not a lock.
//
// Goroutines are at the same place if they share a channel on the same side. Where the
// places form a cycle they are not a pipeline, but share a channel as a lock.

// maxPositions is the number of places of one function in a pipeline. Where there are
// more, each request or connection has a pipeline of its own.
const maxPositions = 16

// positions gives the places of a pipeline roles of their own. It leaves roles alone whose
// goroutines are not all told apart.
func (t *tracer) positions() {
	type side struct {
		role, channel int32 // the channel by the root of the union
		sends         bool
	}
	first, seats, same := map[side]int32{}, map[int32][]int32{}, union{}
	for i := range t.seats {
		same = append(same, int32(i))
	}
	for i := range t.ports {
		p := &t.ports[i]
		sends := p.op == Send || p.op == PollSend || p.side == sideSend
		receives := p.op == Receive || p.op == PollReceive || p.side == sideReceive
		role := t.seats[p.seat].role
		if !sends && !receives || role < 0 || t.b.o.Roles[role].Runtime || t.roles[role].shared != 0 {
			continue
		}
		key := side{role, t.union.find(int32(i)), sends}
		if _, ok := first[key]; !ok {
			first[key] = p.seat
		}
		same.join(p.seat, first[key])
		seats[role] = append(seats[role], p.seat)
	}
	hops := map[int32][][2]int32{} // of each role, from seat to seat
	for from, seat := range first {
		if to, ok := first[side{from.role, from.channel, false}]; ok && from.sends {
			hops[from.role] = append(hops[from.role], [2]int32{seat, to})
		}
	}
	for _, role := range slices.Sorted(maps.Keys(hops)) {
		if places := placesOf(same, seats[role], hops[role]); len(places) > 1 {
			t.split(role, places)
		}
	}
}

// placesOf returns the seats at each place, from the source to the sink; nil if they are
// no pipeline. same joins the seats at one place.
func placesOf(same union, seats []int32, hops [][2]int32) (sorted [][]int32) {
	depth := map[int32]int{} // by place
	for again := true; again; {
		again = false
		for _, hop := range hops {
			from, to := same.find(hop[0]), same.find(hop[1])
			if depth[to] <= depth[from] {
				depth[to], again = depth[from]+1, true
			}
			if depth[to] > maxPositions {
				return nil // a cycle, or too many
			}
		}
	}
	places := map[int32][]int32{}
	for _, seat := range slices.Compact(slices.Sorted(slices.Values(seats))) {
		at := same.find(seat)
		places[at] = append(places[at], seat)
	}
	if len(places) > maxPositions {
		return nil
	}
	for _, at := range slices.SortedFunc(maps.Keys(places), func(a, b int32) int {
		return cmp.Or(cmp.Compare(depth[a], depth[b]), cmp.Compare(places[a][0], places[b][0]))
	}) {
		sorted = append(sorted, places[at])
	}
	return sorted
}

// split makes a role of each place. The first one keeps the index, and the seats that
// have no place.
func (t *tracer) split(role int32, places [][]int32) {
	for _, place := range places[1:] {
		if len(t.b.o.Roles) >= maxRoles {
			return
		}
		index := int32(len(t.b.o.Roles))
		t.b.o.Roles = append(t.b.o.Roles, t.b.o.Roles[role])
		t.roles = append(t.roles, tracedRole{alive: t.roles[role].alive, idle: t.roles[role].idle, by: t.roles[role].by})
		for _, seat := range place {
			t.seats[seat].role = index
		}
	}
}
