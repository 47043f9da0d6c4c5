package queue

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unique"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/logagg/parse"
)

const senders = 8

// each returns the number of events per sender; storing an event costs a sync.
func (k Kind) each() int {
	if k.Outside {
		return 200
	}
	return 2000
}

// TestAccount: with every channel, policy and batch size, each event is
// received once, rejected or dropped.
func TestAccount(t *testing.T) {
	for _, kind := range kinds {
		for _, policy := range kind.Policies {
			for _, batch := range []int{1, 16} {
				t.Run(fmt.Sprintf("%s/%v/%d", kind.Name, policy, batch), func(t *testing.T) {
					q, err := New(kind.Name, Options{Capacity: 32, Batch: batch, Overflow: policy})
					if err != nil {
						t.Fatal(err)
					}
					each := int64(kind.each())
					rejected, received := exchange(t, q, kind.each())
					if err := q.End(); err != nil {
						t.Error(err)
					}
					if sum := received + rejected + q.Dropped(); sum != senders*each {
						t.Errorf("%d events: %d received, %d rejected, %d dropped: %d in total", senders*each, received, rejected, q.Dropped(), sum)
					}
					if policy == sluice.Block && received != senders*each {
						t.Errorf("received %d of %d", received, senders*each)
					}
					if policy != sluice.Reject && rejected > 0 {
						t.Errorf("%d were rejected with %v", rejected, policy)
					}
					if policy != sluice.DropNewest && policy != sluice.DropOldest && q.Dropped() > 0 {
						t.Errorf("%d were dropped with %v", q.Dropped(), policy)
					}
				})
			}
		}
	}
}

// exchange sends events and ticks from many goroutines, and receives in one.
func exchange(t *testing.T, q Queue, each int) (rejected, received int64) {
	var running sync.WaitGroup
	refused := make([]int64, senders)
	for i := range senders {
		running.Go(func() {
			s := q.Sender()
			for n := range each {
				refused[i] += int64(s.Send(parse.Event{Status: uint16(i), Bytes: int64(n)}))
				if n%100 == 0 {
					refused[i] += int64(s.Send(parse.Event{Tick: true})) // may complete a batch of events
				}
			}
			refused[i] += int64(s.Flush())
		})
	}
	go func() {
		running.Wait()
		q.Close()
	}()
	seen := make([][]bool, senders)
	for i := range seen {
		seen[i] = make([]bool, each)
	}
	for events := range q.All() {
		if len(events) == 0 {
			t.Error("an empty slice was received")
		}
		for _, e := range events {
			if e.Tick {
				continue
			}
			received++
			if seen[e.Status][e.Bytes] {
				t.Errorf("event %d of sender %d was received twice", e.Bytes, e.Status)
			}
			seen[e.Status][e.Bytes] = true
		}
	}
	for _, n := range refused {
		rejected += n
	}
	return rejected, received
}

// TestFull: without a receiver, each policy acts exactly as documented, and Len
// returns the number of queued values.
func TestFull(t *testing.T) {
	const each = 32
	for _, kind := range kinds {
		capacity := each
		if kind.Name == "sharded" {
			capacity *= runtime.GOMAXPROCS(0) // the maximum number of lanes
		}
		sent := 3 * capacity
		for _, policy := range kind.Policies[1:] { // except Block, which waits
			for _, batch := range []int{1, 4} {
				q, err := New(kind.Name, Options{Capacity: each, Batch: batch, Overflow: policy})
				if err != nil {
					t.Fatal(err)
				}
				rejected, s := 0, q.Sender()
				for n := range sent {
					rejected += s.Send(parse.Event{Bytes: int64(n)})
				}
				rejected += s.Flush()
				queued := q.Len()
				if kind.Name == "native" {
					queued *= batch
				}
				lost := int(q.Dropped()) + rejected
				if queued != capacity || lost != sent-capacity || (rejected > 0) != (policy == sluice.Reject) {
					t.Errorf("%s, %v, batches of %d: %d queued, %d rejected, %d dropped", kind.Name, policy, batch, queued, rejected, q.Dropped())
				}
				q.Close()
				first, got := int64(sent), 0
				for events := range q.All() {
					got += len(events)
					for _, e := range events {
						first = min(first, e.Bytes)
					}
				}
				if got != capacity || (policy == sluice.DropOldest) != (first > 0) {
					t.Errorf("%s, %v, batches of %d: %d received, the first is %d", kind.Name, policy, batch, got, first)
				}
			}
		}
	}
}

// TestTicksDoNotCount: a rejected or dropped tick is not counted as a line.
func TestTicksDoNotCount(t *testing.T) {
	for _, kind := range kinds {
		for _, policy := range kind.Policies[1:] {
			for _, batch := range []int{1, 4} {
				q, err := New(kind.Name, Options{Capacity: 8, Batch: batch, Overflow: policy})
				if err != nil {
					t.Fatal(err)
				}
				s, rejected := q.Sender(), 0
				for range 100 {
					rejected += s.Send(parse.Event{Tick: true})
				}
				if rejected += s.Flush(); rejected > 0 || q.Dropped() > 0 {
					t.Errorf("%s, %v, batches of %d: %d rejected, %d dropped", kind.Name, policy, batch, rejected, q.Dropped())
				}
			}
		}
	}
}

// TestLeave: a loop that ends early leaves the rest to the next one.
func TestLeave(t *testing.T) {
	for _, name := range Names() {
		q, err := New(name, Options{Capacity: 8, Batch: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := q.Sender()
		s.Send(parse.Event{Service: unique.Make("a")})
		for range q.All() {
			break
		}
		s.Send(parse.Event{Service: unique.Make("b")})
		q.Close()
		for events := range q.All() {
			if len(events) != 1 || events[0].Service.Value() != "b" {
				t.Errorf("%s: got %v", name, events)
			}
		}
		if err := q.End(); err != nil {
			t.Error(err)
		}
	}
}

func TestRefuses(t *testing.T) {
	good := Options{Capacity: 64, Batch: 1}
	for _, test := range []struct {
		kind    string
		options Options
		says    string
	}{
		{"pipe", good, `unknown channel "pipe" (want native, bounded, elastic, sharded`},
		{"native", Options{Capacity: 64, Batch: 1, Overflow: sluice.DropOldest}, "does not support the overflow policy drop-oldest"},
		{"bounded", Options{Capacity: 0, Batch: 1}, "capacity 0"},
		{"bounded", Options{Capacity: maxCapacity + 1, Batch: 1}, "is out of range"},
		{"bounded", Options{Capacity: 64, Batch: 0}, "batch size 0"},
		{"bounded", Options{Capacity: 64, Batch: 65}, "batch size 65"},
	} {
		_, err := New(test.kind, test.options)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s, %v: got %v, want %q", test.kind, test.options, err, test.says)
		}
	}
	for name, want := range policies {
		if got, err := Policy(name); err != nil || got != want || policyName(got) != name {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if _, err := Policy("drop"); err == nil {
		t.Error("an unknown policy is accepted")
	}
}
