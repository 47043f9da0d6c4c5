package sim

// A patience is the progress of one call that cannot proceed: the turn of its engine, and
// its waitq.Wait.
type patience struct {
	spins   int // that found something
	yielded bool
	eager   bool // of a sharded channel: it accepts a lane without ample room

	state   waitState
	woken   bool // at least once
	accepts bool // a hand-off
	handed  bool // a value
	core    *Core
	line    *Line // of the waiter
}

type waitState uint8

const (
	idle waitState = iota
	queued
	holding // the queue's wake-up
	withdrawn
)

const (
	yieldCost    = 100  // of a Gosched with nothing else to run
	runDelay     = 1000 // spin.RunDelay
	slotDelay    = 16   // segqueue's delayPerSlot
	callSpins    = 8    // spin.maxCallSpins
	arrivalSpins = 8    // segqueue's
	goodRun      = 4    // spin.GoodRun
)

// step is one step of a call on a segqueue, which must poll again after it: side.step of
// package segqueue. accepts is whether the call may be handed a value.
func (s *segside) step(c *Core, p *patience, other *segside, queue, others *waitQueue, delay float64, accepts bool) {
	switch {
	case p.state == queued:
		queue.sleep(c, p)
	case p.state != idle:
		queue.comeBack(c, p)
	case s.spin(c, p, other, others, delay):
		p.spins++
	case s.yield(c, p, other):
	default:
		queue.join(c, p, accepts)
	}
}

// spin spins if that has paid lately. It reports whether the other side moved.
func (s *segside) spin(c *Core, p *patience, other *segside, others *waitQueue, delay float64) bool {
	budget, times := &s.spinBusy, 1
	if c.Load(&others.line) != nobody {
		budget, times = &s.spinWoken, arrivalSpins
	}
	if p.spins == callSpins || !budget.allows() {
		return false
	}
	moved := 0
	for before := index(c.Load(&other.word)); times > 0 && moved == 0; times-- {
		c.Spin(delay)
		moved = index(c.Load(&other.word)) - before
	}
	budget.record(moved >= goodRun)
	return moved > 0
}

// pays reports whether spins or yields have paid lately.
func (s *segside) pays() bool { return s.spinBusy.credit > 0 || s.yields.debt < maxDebt }

// yield yields, once per call and if that has paid lately. It reports whether the other
// side moved.
func (s *segside) yield(c *Core, p *patience, other *segside) bool {
	if p.yielded || !s.yields.allow() {
		return false
	}
	p.yielded = true
	before := index(c.Load(&other.word))
	c.Spin(yieldCost)
	moved := index(c.Load(&other.word)) - before
	s.yields.record(moved >= goodRun)
	return moved > 0
}

// stepSharded is one step of a call on a sharded channel: turn.step of package shard.
// found is how many values, or free slots, there are. The model does not charge for
// counting them: a spin is much longer.
func (p *patience) stepSharded(c *Core, queue *waitQueue, budget *budget, found func() int) {
	spin := func() bool {
		if p.spins == callSpins || !budget.allows() {
			return false
		}
		c.Spin(runDelay)
		c.turn()
		n := found()
		budget.record(n >= goodRun)
		return n > 0
	}
	switch {
	case p.state == queued:
		queue.sleep(c, p)
	case p.state != idle:
		queue.comeBack(c, p)
	case !p.yielded:
		p.yielded = true
		c.Spin(yieldCost)
	case spin():
		p.spins++
	case !p.eager:
		p.eager = true
	default:
		queue.join(c, p, false)
	}
}

// done ends the wait, and wakes another goroutine if that can proceed.
func (p *patience) done(c *Core, q *waitQueue, proceeds func() int) {
	if p.state != idle && q.leave(c, p) && proceeds() > 0 {
		q.wake(c)
	}
}

// A budget is a spin.Budget. Its line is not in the model: it changes rarely.
type budget struct {
	credit, probes int
}

func (b *budget) allows() bool {
	b.probes++
	return b.credit > 0 || b.probes%64 == 0
}

func (b *budget) record(paid bool) {
	switch {
	case paid && b.credit < 8:
		b.credit += 2
	case !paid && b.credit > 0:
		b.credit--
	}
}

// A yields is a spin.Yields: whether it pays to yield before a park. Its line is not in
// the model either.
type yields struct {
	debt, probes int
}

const (
	maxDebt    = 8
	failedDebt = 3
)

func (y *yields) allow() bool {
	y.probes++
	return y.debt < maxDebt || y.probes%64 == 0
}

func (y *yields) record(paid bool) {
	switch {
	case paid && y.debt > 0:
		y.debt--
	case !paid:
		y.debt = min(maxDebt, y.debt+failedDebt)
	}
}
