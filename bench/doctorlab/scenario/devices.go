package main

import (
	"hash/fnv"
	"strconv"
	"sync"
	"time"
)

// Three hundred goroutines with little to do.
var _ = register(scenario{
	Name: "devices",
	About: "A gateway has a goroutine for each of three hundred devices, which selects on commands, its " +
		"keep-alive ticker and the end. A client sends a hundred commands per second and waits for each " +
		"response. All goroutines wait nearly all the time, because there is hardly any load.",
	HeldOut: true,
	Instead: idle,
	Right:   []string{noChange},
	finite: map[string]finiteRun{
		asFound: func(s *service, items int) uint64 { return newGateway(0).run(s, items) },
		buffer:  func(s *service, items int) uint64 { return newGateway(32).run(s, items) },
	},
})

const (
	deviceCount  = 300
	commandPause = 10 * time.Millisecond
	keepAlive    = 5 * time.Second
)

// An instruction is for one device, which responds on the channel in the
// instruction.
type instruction struct {
	text   string
	answer chan uint64
}

type device struct {
	number   int
	commands chan instruction
	alive    int // keep-alives
}

type gateway struct {
	devices [deviceCount]device
	quit    chan struct{}
}

func newGateway(capacity int) *gateway {
	g := &gateway{quit: make(chan struct{})}
	for i := range g.devices {
		g.devices[i] = device{number: i, commands: make(chan instruction, capacity)}
	}
	return g
}

func (g *gateway) run(s *service, items int) uint64 {
	var running sync.WaitGroup
	for i := range g.devices {
		running.Go(func() { g.devices[i].session(g.quit) })
	}
	defer running.Wait()
	defer close(g.quit)
	return g.operate(s.counter(), items)
}

// operate sends commands at a fixed rate.
func (g *gateway) operate(done *counter, items int) (digest uint64) {
	pause := time.NewTicker(commandPause)
	defer pause.Stop()
	answers := make(chan uint64, 1)
	for n := range items {
		<-pause.C
		g.devices[n%deviceCount].commands <- instruction{text: "set " + strconv.Itoa(n), answer: answers}
		digest = digest*31 + <-answers
		done.add(1)
	}
	return digest
}

func (d *device) session(quit <-chan struct{}) {
	ticker := time.NewTicker(keepAlive)
	defer ticker.Stop()
	for {
		select {
		case c := <-d.commands:
			c.answer <- d.obey(c.text)
		case <-ticker.C:
			d.alive++
		case <-quit:
			return
		}
	}
}

func (d *device) obey(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	h.Write(strconv.AppendInt(nil, int64(d.number), 10))
	return grind(h.Sum64(), 1000)
}
