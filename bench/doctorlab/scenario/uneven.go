package main

import "math/rand/v2"

// Two stages with varying work.
var _ = register(scenario{
	Name: "uneven-stages",
	About: "Two stages of equal mean work but varying times are connected by an unbuffered channel, so the " +
		"faster one waits for the other. A fifth of the processors is idle although there is work.",
	Channels: true,
	Sites:    []site{{send, "main.(*uneven).render"}, {receive, "main.(*uneven).ship"}},
	Ask:      []string{"trace"},
	Right:    []string{buffer},
	builds: map[string]build{
		asFound: func(s *service) { startUneven(s, 0) },
		buffer:  func(s *service) { startUneven(s, 64) },
		batch:   unevenInBatches,
	},
})

const (
	unevenSteps = 5000 // mean work of a stage, in steps of grind
	unevenBatch = 16
)

type uneven struct {
	pages chan uint64
}

func startUneven(s *service, capacity int) {
	u := &uneven{pages: make(chan uint64, capacity)}
	go u.render()
	go u.ship(s.counter())
}

// steps is the work for an item in a stage, which varies as widely as the sizes
// of pages.
func steps(rng *rand.Rand) int { return int(unevenSteps * rng.ExpFloat64()) }

func (u *uneven) render() {
	rng := rand.New(rand.NewPCG(1, 1))
	for {
		u.pages <- grind(1, steps(rng))
	}
}

func (u *uneven) ship(done *counter) {
	rng := rand.New(rand.NewPCG(2, 2))
	for page := range u.pages {
		sink(grind(page, steps(rng)))
		done.add(1)
	}
}

func unevenInBatches(s *service) {
	batches := make(chan []uint64)
	go func() {
		rng := rand.New(rand.NewPCG(1, 1))
		for {
			pages := make([]uint64, unevenBatch)
			for i := range pages {
				pages[i] = grind(1, steps(rng))
			}
			batches <- pages
		}
	}()
	done := s.counter()
	go func() {
		rng := rand.New(rand.NewPCG(2, 2))
		for pages := range batches {
			for _, page := range pages {
				sink(grind(page, steps(rng)))
			}
			done.add(len(pages))
		}
	}()
}
