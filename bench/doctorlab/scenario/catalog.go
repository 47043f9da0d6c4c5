package main

import "sync"

// A mutex.
var _ = register(scenario{
	Name: "catalog",
	About: "Sixteen workers take queries from a channel, and each looks up and updates one map under one mutex, " +
		"a third of a microsecond at a time, forty times a query: they wait for the mutex. The channel carries little.",
	Instead: syncMutex,
	Right:   []string{nothing},
	builds: map[string]build{
		asFound: func(s *service) { startCatalog(s, 16) },
		buffer:  func(s *service) { startCatalog(s, 1024) },
	},
})

const (
	catalogWorkers = 16
	catalogLookups = 40
	catalogKeys    = 4096
)

type catalog struct {
	queries chan uint64
	mu      sync.Mutex
	hits    map[uint64]uint64
}

func startCatalog(s *service, capacity int) {
	c := &catalog{queries: make(chan uint64, capacity), hits: make(map[uint64]uint64)}
	for range catalogWorkers {
		go c.worker(s.counter())
	}
	go c.accept()
}

func (c *catalog) accept() {
	for n := uint64(1); ; n++ {
		c.queries <- n
	}
}

func (c *catalog) worker(done *counter) {
	for q := range c.queries {
		for i := range uint64(catalogLookups) {
			c.count(grind(q+i, 10) % catalogKeys)
		}
		done.add(1)
	}
}

// count does what belongs outside of the lock inside, as it happens.
func (c *catalog) count(key uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits[key] += grind(key, 200)
}
