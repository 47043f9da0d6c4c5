package main

import (
	"context"
	"time"
)

// A goroutine leak in a send.
var _ = register(scenario{
	Name: "quotes",
	About: "A service requests a quote from two suppliers and takes the first response. The goroutine of " +
		"the slower one then blocks forever in a send on an unbuffered channel without a receiver.",
	Channels: true,
	Leak:     true,
	Sites:    []site{{send, "main.(*quotes).ask"}},
	Ask:      []string{"trace"},
	Right:    []string{cancelWait, buffer},
	builds: map[string]build{
		asFound: func(s *service) { startQuotes(s, 0) },
		cancelWait: func(s *service) {
			q := &quotes{giveUp: true}
			go q.serve(s.counter())
		},
		// Room for both responses: no send blocks, and the channel is
		// collected.
		buffer: func(s *service) { startQuotes(s, 2) },
	},
})

// A request arrives every quotesPause and takes a supplier about quotesTake.
const (
	quotesPause = 20 * time.Millisecond
	quotesTake  = 2 * time.Millisecond
)

type quotes struct {
	capacity int
	giveUp   bool // the goroutines end with the request
}

func startQuotes(s *service, capacity int) {
	q := &quotes{capacity: capacity}
	go q.serve(s.counter())
}

func (q *quotes) serve(done *counter) {
	for request := uint64(0); ; request++ {
		time.Sleep(quotesPause)
		if q.best(context.Background(), request) > 0 {
			done.add(1)
		}
	}
}

// best returns the first response.
func (q *quotes) best(ctx context.Context, request uint64) uint64 {
	answers := make(chan uint64, q.capacity)
	if q.giveUp {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go askOrLeave(ctx, answers, request, quotesTake)
		go askOrLeave(ctx, answers, request, 2*quotesTake)
		return <-answers
	}
	go q.ask(answers, request, quotesTake)
	go q.ask(answers, request, 2*quotesTake)
	select {
	case answer := <-answers:
		return answer
	case <-ctx.Done():
		return 0
	}
}

func (q *quotes) ask(answers chan<- uint64, request uint64, take time.Duration) {
	time.Sleep(take)
	answers <- grind(request, 100)
}

func askOrLeave(ctx context.Context, answers chan<- uint64, request uint64, take time.Duration) {
	time.Sleep(take)
	select {
	case answers <- grind(request, 100):
	case <-ctx.Done():
	}
}
