package main

import (
	"context"
	"reflect"
)

// Forwarders around a select with cases that are only known at run time.
var _ = register(scenario{
	Name: "mux",
	About: "A multiplexer waits with reflect.Select for any of 56 streams and for its context, and forwards " +
		"each frame to a channel that two goroutines read.",
	Channels: true,
	Sites: []site{{selecting, "main.(*mux).run"}, {send, "main.(*mux).run"}, {selecting, "main.(*mux).stream"},
		{receive, "main.(*mux).drain"}},
	Right: []string{mergeChannels},
	builds: map[string]build{
		asFound: func(s *service) { startMux(s, 2) },
		buffer:  func(s *service) { startMux(s, 256) },
		mergeChannels: func(s *service) {
			m := &mux{out: make(chan uint64, 128)}
			go m.drain(s.counter())
			go m.drain(s.counter())
			forever(56, func(i int) { m.stream(context.Background(), uint64(i), m.out) })
		},
	},
})

type mux struct {
	streams []chan uint64
	out     chan uint64
}

func startMux(s *service, capacity int) {
	ctx, cancel := context.WithCancel(context.Background())
	_ = context.AfterFunc(ctx, cancel)
	m := &mux{out: make(chan uint64, 128)}
	for i := range 56 {
		m.streams = append(m.streams, make(chan uint64, capacity))
		go m.stream(ctx, uint64(i), m.streams[i])
	}
	go m.run(ctx)
	go m.drain(s.counter())
	go m.drain(s.counter())
}

func (m *mux) stream(ctx context.Context, frame uint64, frames chan<- uint64) {
	for {
		frame = grind(frame, 40)
		select {
		case frames <- frame:
		case <-ctx.Done():
			return
		}
	}
}

func (m *mux) run(ctx context.Context) {
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
	for _, frames := range m.streams {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(frames)})
	}
	for {
		i, frame, _ := reflect.Select(cases)
		if i == 0 {
			return
		}
		m.out <- frame.Uint()
	}
}

func (m *mux) drain(done *counter) {
	for frame := range m.out {
		sink(grind(frame, 20))
		done.add(1)
	}
}
