package main

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// queue is the number of values that each subscription queues.
const queue = 128

// A value is what is broadcast: a reference, as the usual code sends.
type value = *[2]uint64

// A way broadcasts. Its methods are called by one publisher, except for those of inbox.
type way interface {
	// publish sends v to all inboxes.
	publish(v value)
	// join adds an inbox.
	join() inbox
	// end makes the receives fail once the inboxes are drained.
	end()
}

// An inbox is where one subscriber receives.
type inbox interface {
	recv() (v value, ok bool)
}

// ways are the contenders. wait is whether publish waits for an inbox that is full; otherwise
// that inbox misses a value.
var ways = [...]struct {
	name string
	make func(wait bool) way
}{
	{"channels", func(wait bool) way { return &channels{wait: wait, subs: make(map[chan value]struct{})} }},
	{"rings", func(wait bool) way { return &rings{wait: wait, subs: make(map[*sluice.Bounded[value]]struct{})} }},
	{"hub", func(wait bool) way { return &hubs{wait: wait, h: hub.New[value](queue, nil)} }},
}

// channels is the usual code: a mutex and a map of channels.
type channels struct {
	mu   sync.Mutex
	wait bool
	subs map[chan value]struct{}
}

type channelInbox chan value

func (i channelInbox) recv() (value, bool) { v, ok := <-i; return v, ok }

func (c *channels) join() inbox {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan value, queue)
	c.subs[ch] = struct{}{}
	return channelInbox(ch)
}

func (c *channels) publish(v value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.subs {
		if c.wait {
			ch <- v
			continue
		}
		select {
		case ch <- v:
		default:
		}
	}
}

func (c *channels) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.subs {
		close(ch)
	}
}

// rings has a Bounded for each subscriber.
type rings struct {
	mu   sync.Mutex
	wait bool
	subs map[*sluice.Bounded[value]]struct{}
}

type ringInbox struct{ *sluice.Bounded[value] }

func (i ringInbox) recv() (value, bool) {
	v, err := i.Recv(context.Background())
	return v, err == nil
}

func (r *rings) join() inbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := &sluice.BoundedOptions[value]{SingleReceiver: true}
	if !r.wait {
		o.Overflow = sluice.DropOldest
	}
	b := sluice.NewBounded(queue, o)
	r.subs[b] = struct{}{}
	return ringInbox{b}
}

func (r *rings) publish(v value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for b := range r.subs {
		_ = b.Send(context.Background(), v)
	}
}

func (r *rings) end() {
	for b := range r.subs {
		b.Close()
	}
}

// hubs is package hub.
type hubs struct {
	h    *hub.Hub[value]
	wait bool
}

type hubInbox struct{ *hub.Subscription[value] }

func (i hubInbox) recv() (value, bool) {
	v, err := i.Recv(context.Background())
	return v, err == nil
}

func (h *hubs) join() inbox {
	o := &hub.SubscriptionOptions[value]{Overflow: sluice.DropOldest}
	if h.wait {
		o.Overflow = sluice.Block
	}
	s, err := h.h.Subscribe(o)
	if err != nil {
		panic(err)
	}
	return hubInbox{s}
}

func (h *hubs) publish(v value) { _ = h.h.Send(context.Background(), v) }

func (h *hubs) end() { h.h.Close() }
