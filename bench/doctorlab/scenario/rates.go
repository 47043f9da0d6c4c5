package main

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice"
)

// Request/response over buffered channels that never hold more than one value.
var _ = register(scenario{
	Name: "rates",
	About: "A till requests the rate of a currency and waits for the response before the next sale. Both " +
		"channels have 128 slots, of which one is used: each request costs two parks and two wake-ups, " +
		"whatever the capacity.",
	Channels: true,
	Sites: []site{
		{send, "main.(*rates).of"}, {receive, "main.(*rates).of"},
		{receive, "main.(*rates).answer"}, {send, "main.(*rates).answer"},
	},
	Right:   []string{mutex},
	Harmful: []string{moreReceivers, shard},
	builds: map[string]build{
		asFound: func(s *service) { startRates(s, 128) },
		buffer:  func(s *service) { startRates(s, 4096) },
		handOff: ratesHandedOff,
		mutex: func(s *service) {
			r := new(rates)
			go r.till(r.lookLocked, s.counter())
		},
	},
})

type rates struct {
	questions, answers chan uint64
	mu                 sync.Mutex // replaces the goroutine that owns table
	table              [32]uint64
}

func startRates(s *service, capacity int) {
	r := &rates{questions: make(chan uint64, capacity), answers: make(chan uint64, capacity)}
	go r.answer()
	go r.till(r.of, s.counter())
}

func (r *rates) till(of func(uint64) uint64, done *counter) {
	for sale := uint64(1); ; sale++ {
		sink(grind(sale, 30) ^ of(sale%32) | 1)
		done.add(1)
	}
}

func (r *rates) of(currency uint64) uint64 {
	r.questions <- currency
	return <-r.answers
}

func (r *rates) answer() {
	for currency := range r.questions {
		r.answers <- r.look(currency)
	}
}

// look returns a rate, which changes a little each time.
func (r *rates) look(currency uint64) uint64 {
	r.table[currency] = grind(r.table[currency], 20)
	return r.table[currency]
}

func (r *rates) lookLocked(currency uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.look(currency)
}

// ratesHandedOff has unbuffered channels made for hand-offs.
func ratesHandedOff(s *service) {
	r := new(rates)
	ctx := context.Background()
	questions, answers := sluice.NewRendezvous[uint64](nil), sluice.NewRendezvous[uint64](nil)
	go func() {
		for {
			currency, err := questions.Recv(ctx)
			if err != nil || answers.Send(ctx, r.look(currency)) != nil {
				return
			}
		}
	}()
	go r.till(func(currency uint64) uint64 {
		if questions.Send(ctx, currency) != nil {
			return 0
		}
		rate, err := answers.Recv(ctx)
		if err != nil {
			return 0
		}
		return rate
	}, s.counter())
}
