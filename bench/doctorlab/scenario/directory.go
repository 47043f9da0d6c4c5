package main

import (
	"context"
	"sync"
)

// An owner of state that is asked in selects.
var _ = register(scenario{
	Name: "directory",
	About: "Ten sessions look names up in a table that one goroutine owns: each sends a request and waits for " +
		"the response, both in selects with a context. The goroutine also selects on updates.",
	HeldOut:  true,
	Channels: true,
	Sites: []site{{selecting, "main.(*directory).find"}, {selecting, "main.(*directory).serve"},
		{send, "main.(*directory).serve"}},
	Right: []string{mutex},
	builds: map[string]build{
		asFound: func(s *service) { startDirectory(s, 0) },
		buffer:  func(s *service) { startDirectory(s, 32) },
		mutex:   directoryLocked,
	},
})

// A nameRequest asks for the number of a name.
type nameRequest struct {
	name  uint64
	found chan uint64
}

type directory struct {
	requests chan nameRequest
	updates  chan uint64
	names    map[uint64]uint64
}

func startDirectory(s *service, capacity int) {
	d := &directory{make(chan nameRequest, capacity), make(chan uint64), map[uint64]uint64{}}
	for n := range uint64(300) {
		d.names[n] = n + 1
	}
	ctx := context.Background()
	go d.serve(ctx)
	forever(10, func(i int) {
		done, found := s.counter(), make(chan uint64, 1)
		for n := uint64(i); ; {
			n = grind(n, 60)
			number, err := d.find(ctx, n%300, found)
			if err != nil {
				return
			}
			sink(number)
			done.add(1)
		}
	})
}

func (d *directory) find(ctx context.Context, name uint64, found chan uint64) (uint64, error) {
	select {
	case d.requests <- nameRequest{name, found}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case number := <-found:
		return number, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (d *directory) serve(ctx context.Context) {
	for {
		select {
		case r := <-d.requests:
			r.found <- d.names[r.name]
		case name := <-d.updates:
			d.names[name]++
		case <-ctx.Done():
			return
		}
	}
}

func directoryLocked(s *service) {
	var mu sync.Mutex
	names := map[uint64]uint64{}
	for n := range uint64(300) {
		names[n] = n + 1
	}
	forever(10, func(i int) {
		done := s.counter()
		for n := uint64(i); ; {
			n = grind(n, 60)
			mu.Lock()
			number := names[n%300]
			mu.Unlock()
			sink(number)
			done.add(1)
		}
	})
}
