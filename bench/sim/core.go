package sim

import (
	"container/heap"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
)

// A Core runs one program.
type Core struct {
	id     int
	now    float64 // the core's clock
	sim    *sim
	random *rand.Rand
	done   int // operations of the program
	yield  func(struct{}) bool
	next   func() (struct{}, bool)
	asleep bool
	woken  bool // before it slept
}

// A Program is what a core runs, forever. It calls Done after each operation.
type Program func(c *Core)

// sim is one run.
type sim struct {
	machine Machine
	all     []*Core
	ready   queue // cores that can run, and do not run now
	end     float64
}

// errDeadlock is the result of programs that all wait.
var errDeadlock = errors.New("sim: every core waits")

// ended unwinds a program when the run is over.
type ended struct{}

// Run runs one program on each core for the given time, in nanoseconds, and returns how
// many operations each core did per nanosecond. Operations of the first tenth of the
// time do not count. Equal arguments give equal results.
func Run(m Machine, programs []Program, duration float64) ([]float64, error) {
	if len(programs) == 0 || len(programs) > maxCores {
		return nil, fmt.Errorf("sim: %d cores (want 1 to %d)", len(programs), maxCores)
	}
	s := &sim{machine: m}
	for i, program := range programs {
		c := &Core{id: i, sim: s, random: rand.New(rand.NewPCG(1, uint64(i)))}
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			defer func() {
				if r := recover(); r != nil && r != (any)(ended{}) {
					panic(r)
				}
			}()
			c.yield = yield
			c.now = float64(i) * c.random.Float64()
			program(c)
		})
		defer stop()
		c.next = next
		s.all = append(s.all, c)
		heap.Push(&s.ready, c)
	}
	warm := duration / 10
	if err := s.until(warm); err != nil {
		return nil, err
	}
	before := make([]int, len(s.all))
	for i, c := range s.all {
		before[i] = c.done
	}
	if err := s.until(duration); err != nil {
		return nil, err
	}
	rates := make([]float64, len(s.all))
	for i, c := range s.all {
		rates[i] = float64(c.done-before[i]) / (duration - warm)
	}
	return rates, nil
}

// until runs all cores until their clocks have passed end.
func (s *sim) until(end float64) error {
	s.end = end
	for {
		if len(s.ready) == 0 {
			return errDeadlock
		}
		if s.ready[0].now >= end {
			return nil
		}
		c := heap.Pop(&s.ready).(*Core)
		if _, running := c.next(); !running {
			return fmt.Errorf("sim: the program of core %d has ended", c.id)
		}
		if !c.asleep {
			heap.Push(&s.ready, c)
		}
	}
}

// turn waits until no other core is behind this one, so that accesses happen in the
// order of time.
func (c *Core) turn() {
	for c.now >= c.sim.end || len(c.sim.ready) > 0 && c.sim.ready[0].now < c.now {
		c.leave()
	}
}

func (c *Core) leave() {
	if !c.yield(struct{}{}) {
		panic(ended{})
	}
}

// pause stops the core until rise.
func (c *Core) pause() {
	c.asleep = true
	c.leave()
}

// rise continues a core that pauses, not before the given time.
func (c *Core) rise(at float64) {
	if c.asleep {
		c.asleep = false
		c.now = max(c.now, at)
		heap.Push(&c.sim.ready, c)
	}
}

// Work is time that the core spends without shared memory: mean nanoseconds, from half
// of that to one and a half times as much.
func (c *Core) Work(mean float64) { c.now += mean * (0.5 + c.random.Float64()) }

// Spin is time that passes on the core, exactly.
func (c *Core) Spin(ns float64) { c.now += ns }

// Done counts n operations.
func (c *Core) Done(n int) { c.done += n }

// Sleep puts the core to sleep until Wake, which may have come before.
func (c *Core) Sleep(cost Sleep) {
	c.turn()
	c.now += cost.Fall
	if !c.woken {
		c.pause()
	}
	c.woken = false
}

// Wake wakes a core that sleeps, or is about to.
func (c *Core) Wake(other *Core, cost Sleep) {
	c.turn()
	c.now += cost.Wake
	other.woken = true
	if other.asleep {
		other.rise(c.now + cost.Rise)
	}
}

// queue is a heap of cores by their clocks.
type queue []*Core

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].now < q[j].now || q[i].now == q[j].now && q[i].id < q[j].id
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(c any)   { *q = append(*q, c.(*Core)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}
