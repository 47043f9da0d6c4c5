package main

import "sync"

// An actor, with a map of its own and requests over channels.
var _ = register(scenario{
	Name: "inventory",
	About: "One goroutine owns the stock. Twelve tills ask it over a channel and wait for the answer on a channel that " +
		"each request brings along: two hand-overs and an allocation for a look into a map.",
	Channels: true,
	Sites: []site{
		{send, "main.(*inventory).take"}, {receive, "main.(*inventory).take"},
		{receive, "main.(*inventory).serve"}, {send, "main.(*inventory).serve"},
	},
	Right: []string{mutex, batch},
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

// A withdrawal asks for one piece of a ware.
type withdrawal struct {
	ware  uint64
	taken chan uint64 // how many have been taken
}

type inventory struct {
	withdrawals chan withdrawal
	mu          sync.Mutex // in place of the goroutine that owns stock
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

// inventoryInBatches lets each till ask for several wares at a time.
func inventoryInBatches(s *service) {
	type withdrawals struct {
		wares []uint64 // replaced by how many have been taken
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
