package sim

// Queues of other libraries whose scaling was published. They do not sleep.

// A lockedRing is a ring under one lock. It polls.
type lockedRing struct {
	lock           Lock
	counters       Line
	slots          slots
	capacity       int
	sent, received int
	work           float64
}

func newLockedRing(lock Lock, capacity int, work float64) *lockedRing {
	return &lockedRing{lock: lock, slots: newSlots(capacity), capacity: capacity, work: work}
}

func (r *lockedRing) Send(c *Core) {
	r.poll(c, func() bool {
		if r.sent-r.received == r.capacity {
			return false
		}
		c.Write(r.slots.at(r.sent))
		r.sent++
		return true
	})
}

func (r *lockedRing) Recv(c *Core) {
	r.poll(c, func() bool {
		if r.sent == r.received {
			return false
		}
		c.Load(r.slots.at(r.received))
		r.received++
		return true
	})
}

func (r *lockedRing) poll(c *Core, try func() bool) {
	c.Work(r.work)
	for done := false; !done; {
		r.lock.Lock(c)
		if done = try(); done {
			c.Write(&r.counters)
		}
		r.lock.Unlock(c)
		if !done {
			c.Work(pollPause)
		}
	}
}

// pollPause is how long a goroutine waits that found the ring empty, or full, in
// nanoseconds. With a shorter pause it often gets the lock again before the other side.
const pollPause = 200

// A turnRing is a ring whose slots have a turn: the word of slot i is the number of
// operations on it, so it is even if a sender may write. A goroutine takes an index of
// its side by fetch-and-add and waits for its turn; or, with cas, takes it by
// compare-and-swap when it is its turn (Vyukov's bounded queue).
type turnRing struct {
	cas        bool
	tail, head Line
	slots      []Line // the first word of a line stands for all of its slots
	turns      []uint64
	perLine    int
	work       float64
}

func newTurnRing(cas bool, capacity, perLine int, work float64) *turnRing {
	return &turnRing{cas: cas, slots: make([]Line, capacity/perLine), turns: make([]uint64, capacity), perLine: perLine, work: work}
}

func (r *turnRing) Send(c *Core) { r.pass(c, &r.tail, 0) }
func (r *turnRing) Recv(c *Core) { r.pass(c, &r.head, 1) }

// pass moves one value through the end of the ring that index counts.
func (r *turnRing) pass(c *Core, index *Line, side uint64) {
	c.Work(r.work)
	size := uint64(len(r.turns))
	var at uint64
	if r.cas {
		for {
			at = c.Load(index)
			line := r.line(at)
			word := c.Load(line)
			want := 2*(at/size) + side
			if turn := r.turns[at%size]; turn == want {
				if c.CAS(index, at, at+1) {
					break
				}
			} else if turn < want { // full, or empty
				c.Await(line, word)
			}
		}
	} else {
		at = c.Add(index, 1) - 1
	}
	line := r.line(at)
	for r.turns[at%size] != 2*(at/size)+side {
		word := c.Load(line)
		if r.turns[at%size] != 2*(at/size)+side {
			c.Await(line, word)
		}
	}
	c.Add(line, 1)
	r.turns[at%size]++
}

func (r *turnRing) line(at uint64) *Line {
	return &r.slots[at%uint64(len(r.turns))/uint64(r.perLine)]
}

// A lanesQueue has a lane for each sender, and receivers that take from all, as
// moodycamel::ConcurrentQueue does: two counters that receivers increment, and one that
// the sender writes.
type lanesQueue struct {
	lanes []*queueLane
	work  float64
}

type queueLane struct {
	tail, claimed, head Line
	slots               slots
	sent, received      int
}

// queueTurn is how many values a receiver takes from a lane in a row.
const queueTurn = 256

func newLanesQueue(senders int, work float64) *lanesQueue {
	q := &lanesQueue{work: work}
	for range senders {
		q.lanes = append(q.lanes, &queueLane{slots: newSlots(1024)})
	}
	return q
}

// programs returns the programs of a sender for each lane and of the receivers.
func (q *lanesQueue) programs(receivers int) []Program {
	var programs []Program
	for i, lane := range q.lanes {
		programs = append(programs, loop(func(c *Core) {
			c.Work(q.work)
			if lane.sent-lane.received >= len(lane.slots)*slotsPerLine {
				c.Await(&lane.head, c.Load(&lane.head)) // it would grow
				return
			}
			c.Write(lane.slots.at(lane.sent))
			lane.sent++
			c.Add(&lane.tail, 1)
		}))
		if i < receivers {
			programs = append(programs, q.receiver(i))
		}
	}
	return programs
}

func (q *lanesQueue) receiver(at int) Program {
	return func(c *Core) {
		for ; ; at++ {
			lane := q.lanes[at%len(q.lanes)]
			for range queueTurn {
				if c.Load(&lane.tail) == c.Load(&lane.claimed) {
					break
				}
				c.Work(q.work)
				c.Add(&lane.claimed, 1)
				if lane.sent == lane.received {
					c.Add(&lane.claimed, ^uint64(0))
					break
				}
				lane.received++
				index := c.Add(&lane.head, 1)
				c.Write(lane.slots.at(int(index)))
				c.Done(1)
			}
		}
	}
}
