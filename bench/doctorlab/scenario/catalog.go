package main

import "sync"

// A contended mutex.
var _ = register(scenario{
	Name: "catalog",
	About: "Sixteen workers receive queries from a channel. For each, they access one map under one mutex " +
		"forty times, for a third of a microsecond: they wait for the mutex, and the channel carries " +
		"little.",
	Instead: syncMutex,
	Right:   []string{noChange},
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

// count works inside the lock although it need not, a common mistake.
func (c *catalog) count(key uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits[key] += grind(key, 200)
}
