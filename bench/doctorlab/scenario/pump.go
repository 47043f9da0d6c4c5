package main

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice"
)

// An unbounded channel made of two channels and a goroutine.
var _ = register(scenario{
	Name: "pump",
	About: "Events go through the usual unbounded channel: a goroutine receives each from one channel, " +
		"keeps it in a slice, and sends it on another. Each event is transferred twice.",
	Channels: true,
	Sites: []site{
		{selecting, "main.(*pump).run"}, {send, "main.(*pump).run"}, {receive, "main.(*pump).run"},
		{send, "main.(*events).emit"}, {receive, "main.(*events).consume"},
	},
	Right: []string{elastic, mutex},
	builds: map[string]build{
		asFound: func(s *service) { startPump(s, 0) },
		buffer:  func(s *service) { startPump(s, 128) },
		elastic: pumpElastic,
		mutex:   pumpMutex,
	},
})

// pumpBurst is the number of events that the producer sends before it waits
// until all are consumed. Without it, an unbounded channel would fill the
// memory.
const pumpBurst = 10_000

// pumpSteps is the work per event at each end, in steps of grind.
const pumpSteps = 60

// events is the two ends of the service, the same for each kind of channel.
type events struct {
	in       chan<- uint64
	out      <-chan uint64
	consumed chan struct{} // once per burst
}

func (e *events) emit() {
	for n := uint64(0); ; {
		for range pumpBurst {
			e.in <- grind(n, pumpSteps)
			n++
		}
		<-e.consumed
	}
}

func (e *events) consume(done *counter) {
	left := pumpBurst
	for v := range e.out {
		sink(grind(v, pumpSteps))
		done.add(1)
		if left--; left == 0 {
			e.consumed <- struct{}{}
			left = pumpBurst
		}
	}
}

// A pump is an unbounded channel.
type pump struct {
	in, out chan uint64
}

func (p *pump) run() {
	var queue []uint64
	for {
		if len(queue) == 0 {
			queue = append(queue, <-p.in)
		}
		select {
		case v := <-p.in:
			queue = append(queue, v)
		case p.out <- queue[0]:
			queue = queue[1:]
		}
	}
}

func startPump(s *service, capacity int) {
	p := &pump{in: make(chan uint64, capacity), out: make(chan uint64, capacity)}
	e := &events{in: p.in, out: p.out, consumed: make(chan struct{}, 1)}
	go p.run()
	go e.emit()
	go e.consume(s.counter())
}

// pumpElastic uses an unbounded channel without a goroutine.
func pumpElastic(s *service) {
	ctx := context.Background()
	queue := sluice.NewElastic[uint64](sluice.Unlimited, nil)
	consumed := make(chan struct{}, 1)
	go func() {
		for n := uint64(0); ; {
			for range pumpBurst {
				if queue.Send(ctx, grind(n, pumpSteps)) != nil {
					return
				}
				n++
			}
			<-consumed
		}
	}()
	done := s.counter()
	go func() {
		for {
			for range pumpBurst {
				v, err := queue.Recv(ctx)
				if err != nil {
					return
				}
				sink(grind(v, pumpSteps))
				done.add(1)
			}
			consumed <- struct{}{}
		}
	}()
}

// pumpMutex uses a slice under a mutex; the consumer takes all events at once.
func pumpMutex(s *service) {
	var mu sync.Mutex
	var queue []uint64
	filled := sync.NewCond(&mu)
	consumed := make(chan struct{}, 1)
	go func() {
		for n := uint64(0); ; {
			for range pumpBurst {
				v := grind(n, pumpSteps)
				n++
				mu.Lock()
				queue = append(queue, v)
				mu.Unlock()
				filled.Signal()
			}
			<-consumed
		}
	}()
	done := s.counter()
	go func() {
		var taken []uint64
		left := pumpBurst
		for {
			mu.Lock()
			for len(queue) == 0 {
				filled.Wait()
			}
			taken, queue = queue, taken[:0]
			mu.Unlock()
			for _, v := range taken {
				sink(grind(v, pumpSteps))
			}
			done.add(len(taken))
			if left -= len(taken); left == 0 {
				consumed <- struct{}{}
				left = pumpBurst
			}
		}
	}()
}
