package observe

import (
	"fmt"
	"testing"
	"time"
)

func TestPlaces(t *testing.T) {
	type channel struct{ senders, receivers []int32 }
	chain := func(n int32) (all []channel) {
		for i := range n {
			all = append(all, channel{[]int32{n - i}, []int32{n - i - 1}})
		}
		return all
	}
	for _, test := range []struct {
		name string
		all  []channel
		want string
	}{
		{"a chain", chain(3), "[[3] [2] [1] [0]]"},
		{"several goroutines at each place", []channel{{[]int32{1, 4}, []int32{2, 3}}}, "[[1 4] [2 3]]"},
		{"two channels to one place", []channel{{[]int32{5}, []int32{2}}, {[]int32{5}, []int32{3}}, {[]int32{2, 3}, nil}}, "[[5] [2 3]]"},
		{"a lock", []channel{{[]int32{1, 2}, []int32{1, 2}}}, "[]"},
		{"a ring", []channel{{[]int32{1}, []int32{2}}, {[]int32{2}, []int32{1}}}, "[]"},
		{"a pipeline for each request", chain(maxPositions + 1), "[]"},
	} {
		var same union
		for i := range int32(2 * maxPositions) {
			same = append(same, i)
		}
		var seats []int32
		var hops [][2]int32
		for _, c := range test.all {
			for _, side := range [][]int32{c.senders, c.receivers} {
				for _, seat := range side {
					same.join(seat, side[0])
					seats = append(seats, seat)
				}
			}
			if len(c.receivers) > 0 {
				hops = append(hops, [2]int32{c.senders[0], c.receivers[0]})
			}
		}
		if got := fmt.Sprint(placesOf(same, seats, hops)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestFull(t *testing.T) {
	var alive, idle slots
	alive.add(0, 4*sliceLength)
	alive.add(sliceLength, 3*sliceLength)
	for _, test := range []struct {
		from, to time.Duration
		want     float64
	}{
		{0, 0, 0.8}, // the last of five slices has no goroutine
		{sliceLength / 2, sliceLength, 0.6},
		{sliceLength, sliceLength + sliceLength/100, 0.6}, // too short
		{5 * sliceLength / 2, 7 * sliceLength / 2, 0.2},
	} {
		idle.add(test.from, test.to)
		if got := full(alive, idle, 5*sliceLength); got != test.want {
			t.Errorf("after %v to %v: %v, want %v", test.from, test.to, got, test.want)
		}
	}
	idle.add(0, 2*maxSlices*sliceLength)
	if got := full(alive, idle, 3*maxSlices*sliceLength); got != 0 || len(idle) > maxSlices+1 {
		t.Errorf("%v of %d slices", got, len(idle))
	}
}

// A table that is full keeps to its length, and no wake-up goes to the row of others.
func TestFullTables(t *testing.T) {
	x, rows := index[int]{}, []int(nil)
	for key, want := range []int32{0, 1, 1, 1} {
		if i, added := rowOf(x, &rows, key, 2, key); i != want || added != (key < 2) || len(x) > 2 || len(rows) != len(x) || rows[i] != int(want) {
			t.Errorf("%d: %d %v", key, i, added)
		}
	}
	tr := newTracer(nil)
	tr.lines = []placed{{node: Channel}}
	for i := range maxPorts + 2 {
		tr.port(int32(i), &spot{placed: placed{Line: Line{Op: Send}}}, sideAny)
	}
	for i := range maxWakes + 2 {
		tr.wake(int32(i%(maxPorts-1)), int32(i/(maxPorts-1)), time.Second)
	}
	total := time.Duration(0)
	for _, w := range tr.wakes {
		if w.count != 1 {
			t.Fatalf("%+v", w)
		}
		total += w.sum
	}
	if len(tr.ports) != maxPorts || len(tr.wakes) != maxWakes || total != maxWakes*time.Second {
		t.Errorf("%d ports, %d wake-ups, %v", len(tr.ports), len(tr.wakes), total)
	}
}
