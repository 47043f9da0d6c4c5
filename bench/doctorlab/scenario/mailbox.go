package main

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice"
)

// An unbounded mailbox with many senders.
var _ = register(scenario{
	Name: "mailbox",
	About: "Six workers post messages of some work to an actor's unbounded mailbox: a goroutine that appends " +
		"what it receives to a slice and sends the first message of it to the actor.",
	Channels: true,
	Sites: []site{{selecting, "main.(*mailbox).run"}, {send, "main.(*mailbox).post"},
		{receive, "main.(*mailbox).actor"}, {selecting, "main.(*mailbox).post"}},
	Right: []string{elastic, mutex},
	builds: map[string]build{
		asFound: func(s *service) { startMailbox(s, 0) },
		buffer:  func(s *service) { startMailbox(s, 128) },
		elastic: mailboxElastic,
		mutex:   mailboxLocked,
	},
})

// The work per message: 0.5 µs for the worker and for the actor.
const (
	mailboxSteps   = 250
	mailboxWorkers = 6
	mailboxCredit  = 2000 // messages of a worker that the actor has not handled
)

type mailbox struct {
	in, out chan uint64
	credit  [mailboxWorkers]chan struct{}
}

func newMailbox(capacity int) *mailbox {
	m := &mailbox{in: make(chan uint64, capacity), out: make(chan uint64, capacity)}
	for i := range m.credit {
		m.credit[i] = make(chan struct{}, 1)
	}
	return m
}

func startMailbox(s *service, capacity int) {
	m := newMailbox(capacity)
	go m.run()
	go m.actor(s.counter())
	forever(mailboxWorkers, func(i int) { m.work(i, m.post) })
}

// work posts messages, and waits for the actor now and then, so that the
// mailbox stays small.
func (m *mailbox) work(i int, post func(uint64)) {
	for n := uint64(i); ; {
		for left := range mailboxCredit {
			n = grind(n, mailboxSteps)
			message := n &^ 15
			if left == mailboxCredit-1 {
				message |= uint64(i) + 1
			}
			post(message)
		}
		<-m.credit[i]
	}
}

func (m *mailbox) post(message uint64) { m.in <- message }

func (m *mailbox) run() {
	var queue []uint64
	for {
		var out chan uint64
		var first uint64
		if len(queue) > 0 {
			out, first = m.out, queue[0]
		}
		select {
		case message := <-m.in:
			queue = append(queue, message)
		case out <- first:
			queue = queue[1:]
		}
	}
}

func (m *mailbox) actor(done *counter) {
	for message := range m.out {
		m.handle(message)
		done.add(1)
	}
}

func (m *mailbox) handle(message uint64) {
	sink(grind(message, mailboxSteps))
	if worker := message & 15; worker > 0 {
		m.credit[worker-1] <- struct{}{}
	}
}

func mailboxElastic(s *service) {
	m, ctx := newMailbox(0), context.Background()
	queue := sluice.NewElastic[uint64](sluice.Unlimited, nil)
	forever(mailboxWorkers, func(i int) {
		m.work(i, func(message uint64) {
			if err := queue.Send(ctx, message); err != nil {
				panic("mailbox: " + err.Error())
			}
		})
	})
	done := s.counter()
	go func() {
		for {
			message, err := queue.Recv(ctx)
			if err != nil {
				return
			}
			m.handle(message)
			done.add(1)
		}
	}()
}

func mailboxLocked(s *service) {
	m := newMailbox(0)
	var mu sync.Mutex
	var queue []uint64
	filled := sync.NewCond(&mu)
	forever(mailboxWorkers, func(i int) {
		m.work(i, func(message uint64) {
			mu.Lock()
			queue = append(queue, message)
			mu.Unlock()
			filled.Signal()
		})
	})
	done := s.counter()
	go func() {
		var taken []uint64
		for {
			mu.Lock()
			for len(queue) == 0 {
				filled.Wait()
			}
			taken, queue = queue, taken[:0]
			mu.Unlock()
			for _, message := range taken {
				m.handle(message)
			}
			done.add(len(taken))
		}
	}()
}
