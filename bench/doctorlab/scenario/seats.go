package main

import "sync"

// A channel used as a lock, beside a channel of values.
var _ = register(scenario{
	Name: "seats",
	About: "Twelve desks reserve seats under a lock that is a channel of capacity 1, and send each reservation " +
		"to a journal over another channel. Both channels cost as much; slots or shards for the lock would " +
		"end the mutual exclusion.",
	Channels: true,
	Sites:    []site{{send, "main.(*seats).reserve"}, {receive, "main.(*seats).reserve"}},
	Right:    []string{mutex},
	Harmful:  []string{buffer, batch, shard, elastic, moreReceivers},
	builds: map[string]build{
		asFound: func(s *service) {
			v := newSeats(s)
			v.lock = make(chan struct{}, 1)
			forever(desks, func(i int) { v.desk(uint64(i), v.reserve) })
		},
		mutex: func(s *service) {
			v := newSeats(s)
			forever(desks, func(i int) { v.desk(uint64(i), v.reserveLocked) })
		},
	},
})

const (
	desks     = 12
	seatCount = 4096
)

type seats struct {
	lock    chan struct{}
	mu      sync.Mutex // replaces lock
	taken   [seatCount]uint64
	entries chan uint64
}

func newSeats(s *service) *seats {
	v := &seats{entries: make(chan uint64, 64)}
	go v.journal(s.counter())
	return v
}

func (v *seats) desk(n uint64, reserve func(uint64) uint64) {
	for {
		n = grind(n, 40)
		v.entries <- reserve(n % seatCount)
	}
}

func (v *seats) reserve(seat uint64) uint64 {
	v.lock <- struct{}{}
	v.taken[seat]++
	n := v.taken[seat]
	<-v.lock
	return n
}

func (v *seats) reserveLocked(seat uint64) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.taken[seat]++
	return v.taken[seat]
}

func (v *seats) journal(done *counter) {
	for range v.entries {
		done.add(1)
	}
}
