package sim

// The states of a wait queue: see package waitq.
const (
	nobody uint64 = iota
	wanted        // a goroutine waits, and no wake-up is in flight
	waking
)

// A waitQueue is a waitq.Queue: its signal and its lock are in one line.
type waitQueue struct {
	line     Line
	seat     Line // of the waiter in the seat
	waiting  []*patience
	inFlight bool
	seated   bool // the only waiter is in the seat: no goroutine has taken the lock since
}

// publish sets the signal. The caller owns the line.
func (q *waitQueue) publish(c *Core) {
	signal := nobody
	switch {
	case q.inFlight:
		signal = waking
	case len(q.waiting) > 0:
		signal = wanted
	}
	c.set(&q.line, signal)
}

// join appends a goroutine. It must look at the channel before it sleeps. accepts is
// whether it may be handed a value: then it sits, if it is the only one.
func (q *waitQueue) join(c *Core, p *patience, accepts bool) {
	c.own(&q.line)
	q.seated = accepts && len(q.waiting) == 0 && !q.inFlight
	if p.line = &q.seat; !q.seated {
		p.line = new(Line)
	}
	p.core, p.accepts, p.state = c, accepts, queued
	q.waiting = append(q.waiting, p)
	q.publish(c)
}

// comeBack queues a goroutine that has polled without success: at the front if it was
// woken, and it ends its wake-up.
func (q *waitQueue) comeBack(c *Core, p *patience) {
	c.own(&q.line)
	if q.seated = false; p.state == holding {
		q.inFlight = false
	}
	if p.woken {
		q.waiting = append([]*patience{p}, q.waiting...)
	} else {
		q.waiting = append(q.waiting, p)
	}
	p.state = queued
	q.publish(c)
}

// sleep parks a queued goroutine until it is woken or handed a value.
func (q *waitQueue) sleep(c *Core, p *patience) {
	c.Sleep(goroutine)
	p.state, p.woken = holding, true
	if p.accepts {
		c.Load(p.line)
	}
}

// withdraw removes a queued goroutine, unless it was woken or handed a value.
func (q *waitQueue) withdraw(c *Core, p *patience) {
	c.own(&q.line)
	if q.remove(p) {
		p.state = withdrawn
		q.publish(c)
		return
	}
	q.sleep(c, p) // its token is there, or will be
}

// remove reports whether p was in the queue.
func (q *waitQueue) remove(p *patience) bool {
	for i, w := range q.waiting {
		if w == p {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			q.seated = false
			return true
		}
	}
	return false
}

// leave ends a wait. It reports whether others wait.
func (q *waitQueue) leave(c *Core, p *patience) (others bool) {
	if p.state == queued {
		if q.withdraw(c, p); p.state == withdrawn {
			p.state = idle
			return c.Load(&q.line) == wanted
		}
	}
	if p.handed {
		c.Write(p.line)
	}
	c.own(&q.line)
	if p.state == holding {
		q.inFlight = false
	}
	p.state = idle
	q.publish(c)
	return q.line.word == wanted
}

// check wakes the first waiter if one waits: one load if none does.
func (q *waitQueue) check(c *Core) {
	if c.Load(&q.line) == wanted {
		q.wake(c)
	}
}

func (q *waitQueue) wake(c *Core) {
	c.own(&q.line)
	if first := q.take(c, false); first != nil {
		c.Wake(first.core, goroutine)
	}
}

// take dequeues the first waiter, unless a wake-up is in flight. For a hand-off that
// waiter must accept one. The caller owns the line.
func (q *waitQueue) take(c *Core, handOff bool) *patience {
	if q.inFlight || len(q.waiting) == 0 || handOff && !q.waiting[0].accepts {
		c.set(&q.line, q.line.word)
		return nil
	}
	first := q.waiting[0]
	q.waiting = q.waiting[1:]
	if q.inFlight, q.seated = true, false; handOff {
		q.line.writes++ // they are counted in the signal's word
	}
	q.publish(c)
	return first
}
