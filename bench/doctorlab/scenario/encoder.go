package main

// One CPU-bound receiver.
var _ = register(scenario{
	Name: "slow-encoder",
	About: "Eight sources wait for one encoder, which computes for a twentieth of a millisecond per item " +
		"and keeps one processor busy. The queue is always full, at any length.",
	Instead: slowStage,
	Sites:   []site{{send, "main.(*encoder).source"}, {receive, "main.(*encoder).encode"}},
	Right:   []string{moreReceivers},
	Harmful: []string{mutex},
	builds: map[string]build{
		asFound:       func(s *service) { startEncoder(s, 64, 1) },
		buffer:        func(s *service) { startEncoder(s, 4096, 1) },
		moreReceivers: func(s *service) { startEncoder(s, 64, 4) },
		batch:         encoderInBatches,
	},
})

const (
	encoderSources = 8
	encoderSteps   = 25_000
	encoderBatch   = 16
)

type encoder struct {
	items chan uint64
}

func startEncoder(s *service, capacity, encoders int) {
	e := &encoder{items: make(chan uint64, capacity)}
	for range encoders {
		go e.encode(s.counter())
	}
	forever(encoderSources, e.source)
}

func (e *encoder) source(i int) {
	for v := uint64(i); ; {
		v = grind(v, 200)
		e.items <- v
	}
}

func (e *encoder) encode(done *counter) {
	for v := range e.items {
		sink(grind(v, encoderSteps))
		done.add(1)
	}
}

func encoderInBatches(s *service) {
	batches := make(chan []uint64, 4)
	done := s.counter()
	go func() {
		for items := range batches {
			for _, v := range items {
				sink(grind(v, encoderSteps))
				done.add(1)
			}
		}
	}()
	forever(encoderSources, func(i int) {
		for v := uint64(i); ; {
			items := make([]uint64, encoderBatch)
			for at := range items {
				v = grind(v, 200)
				items[at] = v
			}
			batches <- items
		}
	})
}
