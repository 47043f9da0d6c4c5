package main

// One goroutine that answers requests with much work each.
var _ = register(scenario{
	Name: "ranker",
	About: "Sixteen handlers send a query to the only goroutine that ranks, and wait for its response. The " +
		"queue has room for all of them, so none waits to send. Ranking takes 20 µs and depends on " +
		"nothing but the query; the other cores are idle.",
	HeldOut: true,
	Instead: slowStage,
	Sites: []site{{send, "main.(*ranker).handle"}, {receive, "main.(*ranker).handle"},
		{receive, "main.(*ranker).loop"}},
	Right: []string{moreReceivers},
	builds: map[string]build{
		asFound:       func(s *service) { startRanker(s, 32, 1) },
		buffer:        func(s *service) { startRanker(s, 1024, 1) },
		moreReceivers: func(s *service) { startRanker(s, 32, 4) },
	},
})

// A ranking is a query and where its response goes.
type ranking struct {
	query uint64
	best  chan uint64
}

type ranker struct{ queries chan ranking }

func startRanker(s *service, capacity, receivers int) {
	r := &ranker{queries: make(chan ranking, capacity)}
	for range receivers {
		go r.loop()
	}
	for i := range 16 {
		go r.handle(uint64(i), s.counter())
	}
}

func (r *ranker) handle(query uint64, done *counter) {
	best := make(chan uint64, 1)
	for {
		query = grind(query, 100)
		r.queries <- ranking{query, best}
		sink(<-best)
		done.add(1)
	}
}

func (r *ranker) loop() {
	for q := range r.queries {
		q.best <- rank(q.query)
	}
}

func rank(query uint64) uint64 { return grind(query, 10_000) }
