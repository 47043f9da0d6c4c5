package sim

// A handoff is the engine of package internal/handoff: a nativeChan's state under a
// lock that backs off in a crowd. crowd, parallel and the yields are its mode (mode.go of
// that package): they decide whether a goroutine yields before it parks.
type handoff struct {
	lock      busyLock
	queues    Line // the ends of the wait queues, and the ring
	counts    Line // of the values sent and received
	capacity  int
	queued    int
	senders   []*handoffWaiter
	receivers []*handoffWaiter
	work      float64

	crowd, parallel int
	sendYields      yields
	recvYields      yields
}

const (
	crowdMemory    = 64
	parallelMemory = 255
	parkSlots      = 4
)

type handoffWaiter struct {
	core   *Core
	line   Line
	parked bool
	served bool
}

func newHandoff(capacity int, work float64) *handoff { return &handoff{capacity: capacity, work: work} }

func (h *handoff) Send(c *Core) { h.meet(c, &h.receivers, &h.senders, 1) }
func (h *handoff) Recv(c *Core) { h.meet(c, &h.senders, &h.receivers, -1) }

// meet serves the first waiter of the other side, or changes the queue by one value, or
// waits.
func (h *handoff) meet(c *Core, others, own *[]*handoffWaiter, change int) {
	c.Work(h.work)
	h.acquire(c)
	c.Write(&h.queues)
	c.Write(&h.counts)
	next := h.queued + change
	switch {
	case len(*others) > 0:
		first := (*others)[0]
		*others = (*others)[1:]
		c.Write(&first.line)
		first.served = true
		parked := first.parked
		h.lock.Unlock(c)
		if parked {
			c.Wake(first.core, goroutine)
		}
	case next >= 0 && next <= h.capacity:
		h.queued = next
		h.lock.Unlock(c)
	default:
		w := &handoffWaiter{core: c}
		*own = append(*own, w)
		learned := &h.recvYields
		if change > 0 {
			learned = &h.sendYields
		}
		yields := h.mayYield(len(*own), learned)
		w.parked = !yields
		h.lock.Unlock(c)
		h.wait(c, w, yields, learned)
	}
}

// acquire takes the lock.
func (h *handoff) acquire(c *Core) {
	if h.lock.acquire(c, h.crowd > 0) {
		h.parallel = parallelMemory
	}
}

// mayYield reports whether a goroutine yields before it parks, as the nth of its queue.
func (h *handoff) mayYield(n int, learned *yields) bool {
	crowd, parallel := h.crowd > 0, h.parallel > 0
	switch {
	case n > 1:
		h.crowd, crowd = crowdMemory, true
	case crowd:
		h.crowd--
	}
	if parallel {
		h.parallel--
	}
	switch {
	case crowd && parallel:
		return true
	case crowd && h.capacity < parkSlots, !crowd && !parallel:
		return learned.allow()
	}
	return false
}

func (h *handoff) wait(c *Core, w *handoffWaiter, yields bool, learned *yields) {
	if yields {
		c.Spin(yieldCost)
		h.acquire(c)
		c.Load(&w.line)
		w.parked = !w.served
		learned.record(w.served)
		h.lock.Unlock(c)
	}
	if w.parked {
		c.Sleep(goroutine)
		h.acquire(c)
		h.lock.Unlock(c)
	}
}

// A busyLock is a spin.BusyLock: it retries after 50 ns, backs off for microseconds in a
// crowd and retries without one, yields, and sleeps.
type busyLock struct {
	line   Line
	asleep []*Core
}

const (
	firstDelay  = 50
	backOff     = 12_000
	retryDelay  = 100
	maxBackOffs = 2
	maxRetries  = 60
)

func (l *busyLock) Lock(c *Core) { l.acquire(c, true) }

// acquire takes the lock. It reports whether another goroutine had it at first.
func (l *busyLock) acquire(c *Core, crowd bool) (taken bool) {
	if c.CAS(&l.line, unlocked, held) {
		return false
	}
	c.Spin(firstDelay)
	tries, delay := 0, float64(backOff)
	if !crowd {
		tries, delay = maxBackOffs-maxRetries, retryDelay
	}
	for ; ; tries++ {
		switch {
		case c.Load(&l.line) == unlocked:
			if c.CAS(&l.line, unlocked, held) {
				return true
			}
		case tries < maxBackOffs:
			c.Spin(delay)
		case tries < maxBackOffs+lockYields:
			c.Spin(yieldCost)
		default:
			l.asleep = append(l.asleep, c)
			c.Sleep(goroutine)
			tries = 0
		}
	}
}

func (l *busyLock) Unlock(c *Core) {
	c.Swap(&l.line, unlocked)
	if len(l.asleep) > 0 {
		first := l.asleep[0]
		l.asleep = l.asleep[1:]
		c.Wake(first, goroutine)
	}
}
