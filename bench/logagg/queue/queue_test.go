package queue

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unique"

	"github.com/sluice-go/sluice/bench/logagg/parse"
	"github.com/sluice-go/sluice/internal/suite"
)

const senders = 8

// each returns the number of events per sender; storing an event costs a sync.
func (k Kind) each() int {
	if k.Outside {
		return 200
	}
	return 2000
}

// TestAccount: with every channel and batch size, each event is received once.
func TestAccount(t *testing.T) {
	for _, kind := range kinds {
		for _, batch := range []int{1, 16} {
			t.Run(fmt.Sprintf("%s/%d", kind.Name, batch), func(t *testing.T) {
				if kind.Outside {
					suite.Needs(t, "a disk or a server")
				}
				q, err := New(kind.Name, Options{Capacity: 32, Batch: batch})
				if err != nil {
					t.Fatal(err)
				}
				rejected, received := exchange(t, q, kind.each())
				if err := q.End(); err != nil {
					t.Error(err)
				}
				if want := int64(senders * kind.each()); received != want || rejected > 0 {
					t.Errorf("%d events: %d received, %d rejected", want, received, rejected)
				}
			})
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
					q.Tick()
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
}
