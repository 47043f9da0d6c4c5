package main

import (
	"container/heap"
	"io"
	"log"
	"net"
	"net/rpc"
	"sync"
)

// A healthy CPU-bound server.
var _ = register(scenario{
	Name: "routes",
	About: "A route planner serves package net/rpc over TCP with shortest paths in a grid. It logs over a " +
		"channel that drops lines when the writer is behind, ends over another, and each call of its " +
		"eight clients waits on a channel. All of that costs almost nothing compared with the planning.",
	HeldOut: true,
	Instead: cpuBound,
	Right:   []string{noChange},
	finite: map[string]finiteRun{
		asFound:       func(s *service, items int) uint64 { return runRoutes(s, items, 8, 64) },
		buffer:        func(s *service, items int) uint64 { return runRoutes(s, items, 8, 8192) },
		moreReceivers: func(s *service, items int) uint64 { return runRoutes(s, items, 32, 64) },
	},
})

const gridSide = 32 // crossings on each side of the map

// A Trip connects two crossings.
type Trip struct{ From, To int }

// A Planner is the service. It is exported because net/rpc requires that.
type Planner struct {
	toll [gridSide * gridSide]int // of entering each crossing
	log  *lineLog
}

// Plan returns the smallest sum of tolls on the way.
func (p *Planner) Plan(trip *Trip, sum *int) error {
	*sum = p.shortest(trip.From, trip.To)
	p.log.line(trip)
	return nil
}

func (p *Planner) shortest(from, to int) int {
	best := make([]int, len(p.toll))
	for i := range best {
		best[i] = -1
	}
	open := &crossings{{at: from}}
	for open.Len() > 0 {
		next := heap.Pop(open).(crossing)
		if best[next.at] >= 0 {
			continue
		}
		best[next.at] = next.sum
		if next.at == to {
			break
		}
		steps, n := neighbors(next.at)
		for _, step := range steps[:n] {
			if best[step] < 0 {
				heap.Push(open, crossing{step, next.sum + p.toll[step]})
			}
		}
	}
	return best[to]
}

// neighbors returns the crossings next to one.
func neighbors(at int) (found [4]int, n int) {
	x, y := at%gridSide, at/gridSide
	add := func(is bool, neighbour int) {
		if is {
			found[n] = neighbour
			n++
		}
	}
	add(x > 0, at-1)
	add(x < gridSide-1, at+1)
	add(y > 0, at-gridSide)
	add(y < gridSide-1, at+gridSide)
	return found, n
}

// A crossing and the tolls on the way to it.
type crossing struct{ at, sum int }

// crossings are a heap, the nearest first.
type crossings []crossing

func (c crossings) Len() int           { return len(c) }
func (c crossings) Less(i, j int) bool { return c[i].sum < c[j].sum }
func (c crossings) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *crossings) Push(x any)        { *c = append(*c, x.(crossing)) }
func (c *crossings) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// A lineLog writes lines in its own goroutine.
type lineLog struct {
	lines chan *Trip
	quit  chan struct{}
}

// line drops the line if the writer is behind.
func (l *lineLog) line(trip *Trip) {
	select {
	case l.lines <- trip:
	default:
	}
}

func (l *lineLog) write(to *log.Logger) {
	for {
		select {
		case trip := <-l.lines:
			to.Printf("from %d to %d", trip.From, trip.To)
		case <-l.quit:
			return
		}
	}
}

func runRoutes(s *service, items, clients, capacity int) uint64 {
	planner := &Planner{log: &lineLog{lines: make(chan *Trip, capacity), quit: make(chan struct{})}}
	for i := range planner.toll {
		planner.toll[i] = int(grind(uint64(i+1), 5) % 9)
	}
	go planner.log.write(log.New(io.Discard, "", log.LstdFlags))
	defer close(planner.log.quit)
	listener := servePlans(planner)
	defer listener.Close()
	digests := make([]uint64, clients)
	var running sync.WaitGroup
	for i := range digests {
		done := s.counter()
		running.Go(func() { digests[i] = travel(listener.Addr().String(), i, items, clients, done) })
	}
	running.Wait()
	return total(digests)
}

func servePlans(planner *Planner) net.Listener {
	server := rpc.NewServer()
	if err := server.Register(planner); err != nil {
		panic("routes: " + err.Error())
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic("routes: it cannot listen: " + err.Error())
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go server.ServeConn(conn)
		}
	}()
	return listener
}

// travel is a client that requests every n-th trip.
func travel(address string, first, items, clients int, done *counter) (digest uint64) {
	client, err := rpc.Dial("tcp", address)
	if err != nil {
		panic("routes: it does not answer: " + err.Error())
	}
	defer client.Close()
	for n := first; n < items; n += clients {
		var sum int
		trip := Trip{From: n % (gridSide * gridSide), To: n * 31 % (gridSide * gridSide)}
		if err := client.Call("Planner.Plan", &trip, &sum); err != nil {
			panic("routes: it does not answer: " + err.Error())
		}
		digest += uint64(n) * uint64(sum+1)
		done.add(1)
	}
	return digest
}
