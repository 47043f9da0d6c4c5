package main

import "time"

// One busy shard of sixteen, which waits for storage.
var _ = register(scenario{
	Name: "partitions",
	About: "Twelve writers send rows to sixteen partitions by key; each partition's goroutine waits half a " +
		"millisecond for its disk per row. Two thirds of the rows have the same key: its queue is full, and " +
		"the writers wait there while the other partitions are idle.",
	HeldOut: true,
	Instead: skew,
	Sites:   []site{{selecting, "main.(*partitions).write"}, {receive, "main.(*partition).store"}},
	Right:   []string{balanceKeys},
	builds: map[string]build{
		asFound:     func(s *service) { startPartitions(s, 16, false) },
		buffer:      func(s *service) { startPartitions(s, 1024, false) },
		balanceKeys: func(s *service) { startPartitions(s, 16, true) },
	},
})

type partition struct{ rows chan uint64 }

type partitions struct {
	all      [16]*partition
	balanced bool
	stop     chan struct{}
}

func startPartitions(s *service, capacity int, balanced bool) {
	p := &partitions{balanced: balanced, stop: make(chan struct{})}
	for i := range p.all {
		p.all[i] = &partition{make(chan uint64, capacity)}
		go p.all[i].store(s.counter())
	}
	forever(12, p.write)
}

// of returns the partition of a row.
func (p *partitions) of(row uint64) *partition {
	if !p.balanced && row%3 != 0 {
		return p.all[5]
	}
	return p.all[row>>8%16]
}

func (p *partitions) write(i int) {
	for row := uint64(i); ; {
		row = grind(row, 50)
		select {
		case p.of(row).rows <- row:
		case <-p.stop:
			return
		}
	}
}

func (p *partition) store(done *counter) {
	for row := range p.rows {
		time.Sleep(500 * time.Microsecond)
		sink(row)
		done.add(1)
	}
}
