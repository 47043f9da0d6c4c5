package main

import (
	"container/list"
	"context"

	"github.com/sluice-go/sluice"
)

// An unbounded channel with a linked list and a context.
var _ = register(scenario{
	Name: "outbox",
	About: "A writer sends events to an outbox, whose goroutine keeps them in a linked list and sends them on, " +
		"in a select with a context. A publisher serializes each event for a microsecond.",
	HeldOut:  true,
	Channels: true,
	Sites: []site{{selecting, "main.(*outbox).loop"}, {selecting, "main.(*outbox).write"}, {send, "main.(*outbox).write"},
		{receive, "main.(*outbox).publish"}, {selecting, "main.(*outbox).publish"}},
	Right: []string{elastic},
	builds: map[string]build{
		asFound: func(s *service) { startOutbox(s, 0) },
		buffer:  func(s *service) { startOutbox(s, 64) },
		elastic: outboxElastic,
	},
})

// outboxAhead is the number of events that the writer is ahead at most.
const outboxAhead = 4096

type outbox struct {
	in, out chan uint64
}

func startOutbox(s *service, capacity int) {
	o := &outbox{in: make(chan uint64, capacity), out: make(chan uint64, capacity)}
	ctx := context.Background()
	turn := make(chan struct{}, 1)
	go o.loop(ctx)
	go o.publish(ctx, turn, s.counter())
	go o.write(ctx, turn)
}

// write sends events; after outboxAhead of them it waits for the publisher.
func (o *outbox) write(ctx context.Context, turn <-chan struct{}) {
	for n := uint64(1); ; n++ {
		select {
		case o.in <- grind(n, 200):
		case <-ctx.Done():
			return
		}
		if n%outboxAhead == 0 {
			<-turn
		}
	}
}

func (o *outbox) loop(ctx context.Context) {
	events := list.New()
	for {
		var out chan uint64
		var next uint64
		if first := events.Front(); first != nil {
			out, next = o.out, first.Value.(uint64)
		}
		select {
		case event := <-o.in:
			events.PushBack(event)
		case out <- next:
			events.Remove(events.Front())
		case <-ctx.Done():
			return
		}
	}
}

func (o *outbox) publish(ctx context.Context, turn chan<- struct{}, done *counter) {
	for n := 1; ; n++ {
		select {
		case event := <-o.out:
			sink(grind(event, 500))
			done.add(1)
		case <-ctx.Done():
			return
		}
		if n%outboxAhead == 0 {
			turn <- struct{}{}
		}
	}
}

func outboxElastic(s *service) {
	ctx := context.Background()
	queue := sluice.NewElastic[uint64](outboxAhead, nil)
	go func() {
		for n := uint64(1); ; n++ {
			if queue.Send(ctx, grind(n, 200)) != nil {
				return
			}
		}
	}()
	done := s.counter()
	go func() {
		for {
			event, err := queue.Recv(ctx)
			if err != nil {
				return
			}
			sink(grind(event, 500))
			done.add(1)
		}
	}()
}
