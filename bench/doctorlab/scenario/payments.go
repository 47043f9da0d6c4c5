package main

import (
	"context"

	"github.com/sluice-go/sluice"
)

// A full queue of sluice with one slow worker.
var _ = register(scenario{
	Name: "payments",
	About: "Three tills send payments into a sluice.Bounded with a name. One worker checks a signature for twenty " +
		"microseconds each: the queue is full, the tills wait to send, and the other core is idle.",
	Instead: slowStage,
	Sites:   []site{{send, "main.(*payments).till"}, {receive, "main.(*payments).check"}},
	Right:   []string{moreReceivers},
	builds: map[string]build{
		asFound:       func(s *service) { startPayments(s, 256, 1, (*payments).check) },
		buffer:        func(s *service) { startPayments(s, 4096, 1, (*payments).check) },
		batch:         func(s *service) { startPayments(s, 256, 1, (*payments).checkBatches) },
		moreReceivers: func(s *service) { startPayments(s, 256, 2, (*payments).check) },
	},
})

const (
	tillCount  = 3
	tillSteps  = 200
	checkSteps = 10_000
)

type payments struct {
	queue *sluice.Bounded[uint64]
}

func startPayments(s *service, slots, workers int, check func(*payments, *counter)) {
	s.mapped = true
	p := &payments{sluice.NewBounded[uint64](slots, &sluice.BoundedOptions[uint64]{Name: "payments"})}
	for range workers {
		done := s.counter()
		go check(p, done)
	}
	forever(tillCount, p.till)
}

func (p *payments) till(i int) {
	for payment := uint64(i); ; {
		payment = grind(payment, tillSteps)
		if p.queue.Send(context.Background(), payment) != nil {
			return
		}
	}
}

func (p *payments) check(done *counter) {
	for {
		payment, err := p.queue.Recv(context.Background())
		if err != nil {
			return
		}
		sink(grind(payment, checkSteps))
		done.add(1)
	}
}

// checkBatches receives many payments at a time.
func (p *payments) checkBatches(done *counter) {
	var values [64]uint64
	for {
		n, err := p.queue.RecvBatch(context.Background(), values[:])
		if err != nil {
			return
		}
		for _, payment := range values[:n] {
			sink(grind(payment, checkSteps))
		}
		done.add(n)
	}
}
