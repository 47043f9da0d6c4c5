package main

import (
	"context"
	"time"

	"github.com/sluice-go/sluice"
)

// A growing queue of sluice.
var _ = register(scenario{
	Name: "journal",
	About: "Two sources send entries into a sluice.Elastic without a limit, together about twice as fast as one writer " +
		"stores them: it waits for the disk for each. CPU is idle, and the queue grows until memory ends.",
	Instead: growingQueue,
	Sites:   []site{{receive, "main.(*journal).write"}, {send, "main.(*journal).source"}},
	Right:   []string{moreReceivers, batch},
	builds: map[string]build{
		asFound:       func(s *service) { startJournal(s, 1, (*journal).write) },
		moreReceivers: func(s *service) { startJournal(s, 2, (*journal).write) },
		batch:         func(s *service) { startJournal(s, 1, (*journal).writeBatches) },
		shard:         journalInLanes,
	},
})

const (
	journalSources = 2
	journalDisk    = time.Millisecond
)

type journal struct {
	entries *sluice.Elastic[uint64]
}

func startJournal(s *service, writers int, write func(*journal, *counter)) {
	s.mapped = true
	j := &journal{sluice.NewElastic[uint64](sluice.Unlimited, &sluice.ElasticOptions[uint64]{Name: "entries"})}
	for range writers {
		go write(j, s.counter())
	}
	forever(journalSources, j.source)
}

func (j *journal) source(i int) {
	for entry := uint64(i); ; {
		entry = grind(entry, 1000)
		if j.entries.Send(context.Background(), entry) != nil {
			return
		}
		time.Sleep(journalDisk)
	}
}

func (j *journal) write(done *counter) {
	for entry := range j.entries.Values(context.Background()).All() {
		sink(grind(entry, 1000))
		time.Sleep(journalDisk) // the disk
		done.add(1)
	}
}

// writeBatches waits for the disk once for all entries that are there.
func (j *journal) writeBatches(done *counter) {
	var entries [64]uint64
	for {
		n, err := j.entries.RecvBatch(context.Background(), entries[:])
		if err != nil {
			return
		}
		for _, entry := range entries[:n] {
			sink(grind(entry, 1000))
		}
		time.Sleep(journalDisk)
		done.add(n)
	}
}

// journalInLanes does not help the one writer.
func journalInLanes(s *service) {
	s.mapped = true
	ctx := context.Background()
	entries := sluice.NewSharded[uint64](1<<20, &sluice.ShardedOptions[uint64]{Name: "entries"})
	done := s.counter()
	go func() {
		for entry := range entries.Values(ctx).All() {
			sink(grind(entry, 1000))
			time.Sleep(journalDisk)
			done.add(1)
		}
	}()
	forever(journalSources, func(i int) {
		for entry := uint64(i); ; {
			entry = grind(entry, 1000)
			if entries.Send(ctx, entry) != nil {
				return
			}
			time.Sleep(journalDisk)
		}
	})
}
