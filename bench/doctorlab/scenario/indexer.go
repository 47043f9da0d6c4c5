package main

import "context"

// One receiver that computes, in a select.
var _ = register(scenario{
	Name: "indexer",
	About: "Three crawlers send documents to one goroutine that indexes them for ten microseconds each, in " +
		"a select that also watches a context. All four are started by the same helper, which waits for " +
		"them. One core computes, and the others are idle.",
	Instead: slowStage,
	Sites:   []site{{selecting, "main.(*indexer).crawl"}, {selecting, "main.(*indexer).run"}},
	Right:   []string{moreReceivers},
	builds: map[string]build{
		asFound:       func(s *service) { startIndexer(s, 64, 1) },
		buffer:        func(s *service) { startIndexer(s, 4096, 1) },
		moreReceivers: func(s *service) { startIndexer(s, 64, 4) },
	},
})

// A group starts goroutines, as errgroup.Group does.
type group struct{ errs chan error }

// Go starts f in a goroutine.
func (g *group) Go(f func() error) {
	go func() {
		if err := f(); err != nil {
			g.errs <- err
		}
	}()
}

type indexer struct {
	documents chan uint64
}

func startIndexer(s *service, capacity, receivers int) {
	ctx := context.Background()
	x := &indexer{documents: make(chan uint64, capacity)}
	g := &group{make(chan error, 1)}
	for range receivers {
		done := s.counter()
		g.Go(func() error { return x.run(ctx, done) })
	}
	for i := range 3 {
		g.Go(func() error { return x.crawl(ctx, uint64(i)) })
	}
}

func (x *indexer) crawl(ctx context.Context, document uint64) error {
	for {
		document = grind(document, 400)
		select {
		case x.documents <- document:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (x *indexer) run(ctx context.Context, done *counter) error {
	for {
		select {
		case document := <-x.documents:
			x.index(document)
			done.add(1)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (x *indexer) index(document uint64) { sink(grind(document, 5000)) }
