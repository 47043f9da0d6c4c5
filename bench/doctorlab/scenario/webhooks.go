package main

import (
	"encoding/json"
	"runtime/debug"
	"strconv"
	"sync"
)

// Garbage collection with a low GOGC. BenchmarkInstead measures the gain of the
// default.
var _ = register(scenario{
	Name: "webhooks",
	About: "Four workers receive deliveries from a channel, decode their JSON and keep the latest ten " +
		"thousand. GOGC was set to 8 when memory was short: garbage collection marks all of them over " +
		"and over, and takes most of the processors. The channel has almost no part in it.",
	HeldOut: true,
	Instead: garbageCollection,
	Right:   []string{noChange},
	finite: map[string]finiteRun{
		asFound:       func(s *service, items int) uint64 { return runWebhooks(s, items, webhookGC, 4, 32) },
		buffer:        func(s *service, items int) uint64 { return runWebhooks(s, items, webhookGC, 4, 4096) },
		moreReceivers: func(s *service, items int) uint64 { return runWebhooks(s, items, webhookGC, 16, 32) },
	},
})

const (
	webhookGC   = 8 // percent of the live heap
	usualGC     = 100
	webhookKept = 10_000
)

// A delivery is the JSON of a webhook.
type delivery map[string]any

// digest covers the fields that all deliveries have.
func (d delivery) digest() uint64 {
	id, _ := d["id"].(string)
	lines, _ := d["lines"].([]any)
	return checksumOf([]byte(id)) + uint64(len(lines))
}

type webhooks struct {
	bodies chan []byte
	mu     sync.Mutex
	kept   [webhookKept]delivery
	next   int
}

func runWebhooks(s *service, items, gc, workers, capacity int) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(gc))
	w := &webhooks{bodies: make(chan []byte, capacity)}
	digests := make([]uint64, workers)
	var running sync.WaitGroup
	for i := range digests {
		done := s.counter()
		running.Go(func() { digests[i] = w.work(done) })
	}
	for n := range items {
		w.bodies <- webhookBody(n)
	}
	close(w.bodies)
	running.Wait()
	return total(digests)
}

func webhookBody(n int) []byte {
	body := strconv.AppendInt([]byte(`{"id":"delivery-`), int64(n), 10)
	body = append(body, `","event":"order.paid","lines":[`...)
	for i := range 6 {
		if i > 0 {
			body = append(body, ',')
		}
		body = strconv.AppendInt(append(body, `{"sku":"article-`...), int64(n+i), 10)
		body = append(body, `","count":2,"price":{"cents":1999,"currency":"EUR"}}`...)
	}
	return append(body, `],"customer":{"name":"somebody","tags":["new","web","mail"]}}`...)
}

func (w *webhooks) work(done *counter) (digest uint64) {
	for body := range w.bodies {
		var d delivery
		if err := json.Unmarshal(body, &d); err != nil {
			continue
		}
		w.keep(d)
		digest += d.digest()
		done.add(1)
	}
	return digest
}

// keep replaces the oldest delivery.
func (w *webhooks) keep(d delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept[w.next%webhookKept] = d
	w.next++
}
