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
// places form a cycle they are not a pipeline, but share a channel as a lock, in turns.

// maxPositions is the number of places of one function in a pipeline. Where there are
// more, each request or connection has a pipeline of its own.
const maxPositions = 16

// An exchange is the seats of one role at both sides of a channel.
type exchange struct{ senders, receivers []int32 }

// exchanges returns the channels of each role whose seats are all told apart.
func (t *tracer) exchanges() map[int32]map[int32]*exchange {
	all := map[int32]map[int32]*exchange{} // by role, and by the root of the union
	for i := range t.ports {
		p := &t.ports[i]
		sends := p.op == Send || p.op == PollSend || p.side == sideSend
		receives := p.op == Receive || p.op == PollReceive || p.side == sideReceive
		role := t.seats[p.seat].role
		if !sends && !receives || role < 0 || t.b.o.Roles[role].Runtime || t.roles[role].shared != 0 {
			continue
		}
		if all[role] == nil {
			all[role] = map[int32]*exchange{}
		}
		root := t.union.find(int32(i))
		x := all[role][root]
		if x == nil {
			x = &exchange{}
			all[role][root] = x
		}
		if sends {
			x.senders = append(x.senders, p.seat)
		} else {
			x.receivers = append(x.receivers, p.seat)
		}
	}
	return all
}

// positions gives the places of a pipeline roles of their own.
func (t *tracer) positions() {
	exchanges := t.exchanges()
	for _, role := range slices.Sorted(maps.Keys(exchanges)) {
		if places := placesOf(exchanges[role]); len(places) > 1 {
			t.split(role, places)
		}
	}
}

// placesOf returns the seats at each place, from the source to the sink; nil if they are
// no pipeline.
func placesOf(all map[int32]*exchange) [][]int32 {
	seats, same := index[int32]{}, union{}
	number := func(seat int32) int32 {
		i, added := seats.of(seat, maxPorts)
		if added {
			same = append(same, i)
		}
		return i
	}
	for _, x := range all {
		for _, side := range [][]int32{x.senders, x.receivers} {
			for _, seat := range side {
				same.join(number(seat), number(side[0]))
			}
		}
	}
	depth, passes := map[int32]int{}, false // by place
	for again := true; again; {
		again = false
		for _, x := range all {
			if len(x.senders) == 0 || len(x.receivers) == 0 {
				continue
			}
			passes = true
			from, to := same.find(seats[x.senders[0]]), same.find(seats[x.receivers[0]])
			if depth[to] <= depth[from] {
				depth[to], again = depth[from]+1, true
			}
			if depth[to] > maxPositions {
				return nil // a cycle, or too many
			}
		}
	}
	places := map[int32][]int32{}
	for _, seat := range slices.Sorted(maps.Keys(seats)) {
		at := same.find(seats[seat])
		places[at] = append(places[at], seat)
	}
	if !passes || len(places) > maxPositions {
		return nil
	}
	order := slices.SortedFunc(maps.Keys(places), func(a, b int32) int {
		return cmp.Or(cmp.Compare(depth[a], depth[b]), cmp.Compare(places[a][0], places[b][0]))
	})
	var sorted [][]int32
	for _, at := range order {
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
