package main

import "sync"

// An actor that owns a map, with requests over channels.
var _ = register(scenario{
	Name: "inventory",
	About: "One goroutine owns the stock. Twelve tills send it requests over a channel and wait for the " +
		"response on a channel in each request: two transfers and an allocation for one map access.",
	Channels: true,
	Sites: []site{
		{send, "main.(*inventory).take"}, {receive, "main.(*inventory).take"},
		{receive, "main.(*inventory).serve"}, {send, "main.(*inventory).serve"},
	},
	Right:   []string{mutex, batch},
	Harmful: []string{moreReceivers, shard},
	builds: map[string]build{
		asFound: func(s *service) { startInventory(s, 0) },
		buffer:  func(s *service) { startInventory(s, 64) },
		mutex:   inventoryLocked,
		batch:   inventoryInBatches,
	},
})

const (
	tills          = 12
	wares          = 1000
	inventoryBatch = 16
)

// A withdrawal requests one piece of an article.
type withdrawal struct {
	ware  uint64
	taken chan uint64 // number of pieces taken
}

type inventory struct {
	withdrawals chan withdrawal
	mu          sync.Mutex // replaces the goroutine that owns stock
	stock       map[uint64]uint64
}

func startInventory(s *service, capacity int) {
	v := &inventory{withdrawals: make(chan withdrawal, capacity), stock: make(map[uint64]uint64)}
	go v.serve()
	for i := range tills {
		go v.till(uint64(i), v.take, s.counter())
	}
}

func (v *inventory) till(n uint64, take func(uint64) uint64, done *counter) {
	for {
		n = grind(n, 20)
		sink(take(n%wares) + 1)
		done.add(1)
	}
}

func (v *inventory) take(ware uint64) uint64 {
	w := withdrawal{ware, make(chan uint64)}
	v.withdrawals <- w
	return <-w.taken
}

func (v *inventory) serve() {
	for w := range v.withdrawals {
		v.stock[w.ware]++
		w.taken <- v.stock[w.ware]
	}
}

func inventoryLocked(s *service) {
	v := &inventory{stock: make(map[uint64]uint64)}
	for i := range tills {
		go v.till(uint64(i), v.takeLocked, s.counter())
	}
}

func (v *inventory) takeLocked(ware uint64) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stock[ware]++
	return v.stock[ware]
}

// inventoryInBatches lets each till request several articles at a time.
func inventoryInBatches(s *service) {
	type withdrawals struct {
		wares []uint64 // replaced by the numbers taken
		done  chan struct{}
	}
	asked := make(chan withdrawals)
	go func() {
		stock := make(map[uint64]uint64)
		for w := range asked {
			for i, ware := range w.wares {
				stock[ware]++
				w.wares[i] = stock[ware]
			}
			w.done <- struct{}{}
		}
	}()
	forever(tills, func(i int) {
		w := withdrawals{make([]uint64, inventoryBatch), make(chan struct{})}
		count := s.counter()
		for n := uint64(i); ; {
			for at := range w.wares {
				n = grind(n, 20)
				w.wares[at] = n % wares
			}
			asked <- w
			<-w.done
			count.add(inventoryBatch)
		}
	})
}
