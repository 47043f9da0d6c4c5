package main

import (
	"context"

	"github.com/sluice-go/sluice"
)

// A healthy pipeline on channels of sluice.
var _ = register(scenario{
	Name: "billing",
	About: "A reader sends usage records through a sluice.Bounded to four raters, which compute a price for thirty " +
		"microseconds each and send it through another sluice.Bounded to a writer. CPU is the limit, and no change " +
		"of the channels helps.",
	Instead: cpuBound,
	Right:   []string{noChange},
	builds: map[string]build{
		asFound:       func(s *service) { startBilling(s, 64, 4) },
		buffer:        func(s *service) { startBilling(s, 4096, 4) },
		moreReceivers: func(s *service) { startBilling(s, 64, 16) },
	},
})

const (
	ratingSteps  = 15_000
	readingSteps = 200
)

type billing struct {
	records, prices *sluice.Bounded[uint64]
}

func startBilling(s *service, slots, raters int) {
	b := &billing{sluice.NewBounded[uint64](slots, nil), sluice.NewBounded[uint64](slots, nil)}
	go b.read()
	for range raters {
		go b.rate()
	}
	go b.write(s.counter())
}

func (b *billing) read() {
	for record := uint64(1); ; {
		record = grind(record, readingSteps)
		if b.records.Send(context.Background(), record) != nil {
			return
		}
	}
}

func (b *billing) rate() {
	for {
		record, err := b.records.Recv(context.Background())
		if err != nil {
			return
		}
		if b.prices.Send(context.Background(), grind(record, ratingSteps)) != nil {
			return
		}
	}
}

func (b *billing) write(done *counter) {
	for {
		price, err := b.prices.Recv(context.Background())
		if err != nil {
			return
		}
		sink(grind(price, readingSteps))
		done.add(1)
	}
}
