package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/kelindar/event"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/hub"
)

// subscriberQueue is how many values each subscription queues, and eventQueue how many
// each one of kelindar/event does.
const subscriberQueue, eventQueue = 128, 50_000

// broadcasts compares ways to send each value to all subscribers. None of them drops
// values here: the publisher waits for a subscriber that is full.
func broadcasts(procs []int) section {
	rows := []row{
		{name: nothing},
		{name: "map of chans", waits: parks, ctx: no, close: last, open: openChannels, note: "under a mutex; one chan of 128 for each subscriber"},
		{name: "sluice hub", ours: true, waits: parks, ctx: yes, close: anybody, amid: true, open: openHub(subscriberQueue)},
		{name: "sluice hub, queue of 50,000", ours: true, waits: parks, ctx: yes, close: anybody, amid: true, open: openHub(eventQueue)},
		{name: "kelindar/event", waits: sleeps, ctx: no, close: anybody, open: openEvent,
			note: "queues 50,000 for each subscriber; its Close leaves queued values behind"},
		{name: "watermill GoChannel", waits: parks, ctx: yes, close: anybody, open: openGoChannel,
			note: "a goroutine for each value, which waits for its Ack; queued values end with Close"},
	}
	var columns []column
	for _, n := range []int{10, 100} {
		columns = append(columns, timed(procs, fmt.Sprintf("to %d", n), isSink, func(r row, values uint64) (workload.Result, error) {
			return broadcast(r.open, n, max(20, values/uint64(n)))
		})...)
	}
	return section{"broadcast", rows, append(columns, waiting(10, 10, 1000)...)}
}

// broadcast sends each of the values to n subscribers. An item is a value for one of them.
func broadcast(open opener, n int, values uint64) (workload.Result, error) {
	var all sync.WaitGroup
	all.Add(n)
	counts := make([]count, n)
	s := open(n, func(i int, _ uint64) {
		if counts[i].n++; counts[i].n == values {
			all.Done()
		}
	})
	result, err := clocked(values*uint64(n), func() error {
		for v := range values {
			if !s.Put(v) {
				return fmt.Errorf("a publish failed")
			}
		}
		all.Wait()
		return nil
	})
	s.Close()
	return result, err
}

// openChannels is the usual code: a mutex and a map of channels.
func openChannels(n int, take func(int, uint64)) paced.Sink {
	var mu sync.Mutex
	subscribers := map[chan uint64]struct{}{}
	all := new(sync.WaitGroup)
	for i := range n {
		c := make(chan uint64, subscriberQueue)
		subscribers[c] = struct{}{}
		all.Go(func() {
			for v := range c {
				take(i, v)
			}
		})
	}
	return paced.SinkOf(func(v uint64) bool {
		mu.Lock()
		defer mu.Unlock()
		for c := range subscribers {
			c <- v
		}
		return true
	}, func() {
		mu.Lock()
		defer mu.Unlock()
		for c := range subscribers {
			close(c)
		}
	}, all)
}

// openHub is package hub, with subscriptions that queue so many values.
func openHub(queue int) opener {
	return func(n int, take func(int, uint64)) paced.Sink { return startHub(queue, n, take) }
}

func startHub(queue, n int, take func(int, uint64)) paced.Sink {
	h := hub.New[uint64](queue, nil)
	all := new(sync.WaitGroup)
	for i := range n {
		s, err := h.Subscribe(&hub.SubscriptionOptions[uint64]{Overflow: sluice.Block})
		if err != nil {
			panic(err) // of a hub that is not closed
		}
		all.Go(func() {
			for {
				v, err := s.Recv(cancelable)
				if err != nil {
					return
				}
				take(i, v)
			}
		})
	}
	return paced.SinkOf(func(v uint64) bool { return h.Send(cancelable, v) == nil }, h.Close, all)
}

// published is the event of openEvent.
type published struct{ v uint64 }

func (published) Type() uint32 { return 1 }

// openEvent is kelindar/event. Its handlers stop when they are unsubscribed, which does
// not wait for them: those that are asleep never see it.
func openEvent(n int, take func(int, uint64)) paced.Sink {
	d := event.NewDispatcher()
	var unsubscribe []context.CancelFunc
	for i := range n {
		unsubscribe = append(unsubscribe, event.Subscribe(d, func(p published) { take(i, p.v) }))
	}
	return paced.SinkOf(func(v uint64) bool {
		event.Publish(d, published{v})
		return true
	}, func() {
		_ = d.Close()
		for _, end := range unsubscribe {
			end()
		}
	}, nil)
}

// openGoChannel is watermill's broadcast inside a process.
func openGoChannel(n int, take func(int, uint64)) paced.Sink {
	const topic = "values"
	g := gochannel.NewGoChannel(gochannel.Config{OutputChannelBuffer: subscriberQueue}, watermill.NopLogger{})
	all := new(sync.WaitGroup)
	for i := range n {
		messages, err := g.Subscribe(cancelable, topic)
		if err != nil {
			panic(err) // of a GoChannel that is not closed
		}
		all.Go(func() {
			for m := range messages {
				take(i, binary.LittleEndian.Uint64(m.Payload))
				m.Ack()
			}
		})
	}
	return paced.SinkOf(func(v uint64) bool {
		m := message.NewMessage(watermill.NewUUID(), binary.LittleEndian.AppendUint64(nil, v))
		return g.Publish(topic, m) == nil
	}, func() { _ = g.Close() }, all)
}
