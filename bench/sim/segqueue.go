package sim

// A segqueue is the chain engine of package internal/segqueue: two words, each in the
// first line of its side, with an index above a lock bit.
type segqueue struct {
	send, recv   segside
	slots        slots
	limit        int
	singleSender bool
	senders      *waitQueue // that wait for room here
	receivers    *waitQueue
	anySenders   *waitQueue // of a sharded channel
	lane         bool       // of a sharded channel: nothing is handed off
	hand         hand
	work         float64
}

// A hand is the line of the value that is handed off.
type hand struct{ Line }

func (h *hand) put(c *Core, to *patience) {
	c.Write(to.line)
	c.Write(&h.Line)
	to.handed = true
}

// A segside is one side.
type segside struct {
	word   Line
	bound  int // in the word's line
	asleep []*Core

	// Their line is not in the model: it changes rarely.
	spinBusy, spinWoken budget
	yields              yields
}

const (
	sideLocked = 1
	sideQuiet  = 2 // of receivers: look at the other word before locking
	sideOne    = 4 // index 1
)

func newSegqueue(limit int, work float64) *segqueue {
	return &segqueue{slots: newSlots(limit), limit: limit, work: work, senders: &waitQueue{}, receivers: &waitQueue{}}
}

func index(word uint64) int { return int(word / sideOne) }

const (
	lockSpins  = 16 // retries of a taken lock
	lockYields = 4
)

// lock takes the side's lock and returns the index.
func (s *segside) lock(c *Core) int {
	for tries := 0; ; tries++ {
		word := c.Load(&s.word)
		switch {
		case word&sideLocked == 0:
			if c.CAS(&s.word, word, word|sideLocked) {
				return index(word)
			}
		case tries < lockSpins:
			c.Spin(1)
		case tries < lockSpins+lockYields:
			c.Spin(yieldCost)
		default:
			s.asleep = append(s.asleep, c)
			c.Sleep(goroutine)
			tries = 0
		}
	}
}

// unlock moves the index and releases the lock.
func (s *segside) unlock(c *Core, index int) {
	c.Swap(&s.word, uint64(index)*sideOne)
	if len(s.asleep) > 0 {
		first := s.asleep[0]
		s.asleep = s.asleep[1:]
		c.Wake(first, goroutine)
	}
}

// trySend is a Send that does not wait.
func (q *segqueue) trySend(c *Core) bool {
	c.Work(q.work)
	word := c.Load(&q.send.word)
	locked := false
	if word&sideLocked == 0 && c.Load(&q.receivers.line) == wanted {
		if q.handToSeat(c, word) {
			return true
		}
		if locked = c.CAS(&q.send.word, word, word|sideLocked); locked && q.handToFirst(c, word) {
			return true
		}
	}
	at := index(word)
	if !locked && (!q.singleSender || at == q.send.bound) {
		at, locked = q.send.lock(c), true
	}
	if at == q.send.bound {
		q.send.bound = index(c.Load(&q.recv.word)) + q.limit
		if at == q.send.bound {
			q.send.unlock(c, at)
			return false
		}
	}
	c.Write(q.slots.at(at))
	if locked {
		q.send.unlock(c, at+1)
	} else {
		c.Add(&q.send.word, sideOne)
	}
	q.receivers.check(c)
	return true
}

// handToSeat hands a value to the only receiver that waits, if the channel is empty:
// sendToWaiter of package segqueue, without the lock. word is the send word.
func (q *segqueue) handToSeat(c *Core, word uint64) bool {
	if index(c.Load(&q.recv.word)) != index(word) || c.Load(&q.send.word) != word || !q.receivers.seated {
		return false
	}
	c.own(&q.receivers.line)
	if !q.receivers.seated {
		return false
	}
	first := q.receivers.take(c, true)
	q.hand.put(c, first)
	c.Wake(first.core, goroutine)
	return true
}

// handToFirst does the same for the first receiver that waits, with the lock, which it
// releases if it succeeds.
func (q *segqueue) handToFirst(c *Core, word uint64) bool {
	if index(c.Load(&q.recv.word)) != index(word) || q.lane {
		return false
	}
	c.own(&q.receivers.line)
	first := q.receivers.take(c, true)
	if first == nil {
		return false
	}
	q.hand.put(c, first)
	q.send.unlock(c, index(word))
	c.Wake(first.core, goroutine)
	return true
}

// tryRecv receives up to the given number of values, and does not wait.
func (q *segqueue) tryRecv(c *Core, most int) int {
	c.Work(q.work)
	if word := c.Load(&q.recv.word); word&(sideQuiet|sideLocked) == sideQuiet {
		if index(c.Load(&q.send.word)) == index(word) {
			return 0
		}
		c.CAS(&q.recv.word, word, word&^sideQuiet)
	}
	at := q.recv.lock(c)
	if at == q.recv.bound {
		q.recv.bound = index(c.Load(&q.send.word))
	}
	n := min(most, q.recv.bound-at)
	for i := range n {
		if i == 0 || (at+i)%slotsPerLine == 0 {
			c.Load(q.slots.at(at + i))
		}
		if i > 0 {
			c.Spin(copyCost)
		}
	}
	q.recv.unlock(c, at+n)
	if n > 0 {
		q.senders.check(c)
		if q.anySenders != nil {
			q.anySenders.check(c)
		}
	}
	return n
}

// len and room are the numbers of values and of free slots.
func (q *segqueue) len() int  { return index(q.send.word.word) - index(q.recv.word.word) }
func (q *segqueue) room() int { return q.limit - q.len() }

// copyCost is the time to copy one more value of a run.
const copyCost = 1

// delay is the engine's spinDelay.
func (q *segqueue) delay() float64 { return float64(min(q.limit, runDelay/slotDelay) * slotDelay) }

// Send waits for room.
func (q *segqueue) Send(c *Core) {
	var p patience
	for !q.trySend(c) {
		q.send.step(c, &p, &q.recv, q.senders, q.receivers, q.delay(), false)
		if p.state == queued && q.between(c) >= q.limit {
			q.senders.sleep(c, &p)
		}
	}
	p.done(c, q.senders, q.room)
}

// Recv waits for a value.
func (q *segqueue) Recv(c *Core) {
	var p patience
	for q.tryRecv(c, 1) == 0 {
		q.recv.step(c, &p, &q.send, q.receivers, q.senders, q.delay(), true)
		if p.state == queued {
			if q.between(c) > 0 {
				q.receivers.withdraw(c, &p)
			} else {
				q.receivers.sleep(c, &p)
			}
		}
		if p.handed {
			c.Load(&q.hand.Line)
			p.done(c, q.receivers, q.len)
			if p.line == &q.receivers.seat && !q.recv.pays() {
				q.keepQuiet(c)
			}
			return
		}
	}
	p.done(c, q.receivers, q.len)
}

// between is len or limit-room as a goroutine looks that was queued.
func (q *segqueue) between(c *Core) int {
	head := index(c.Load(&q.recv.word))
	return index(c.Load(&q.send.word)) - head
}

// keepQuiet sets the bit quiet after a hand-off in the seat, if the chain is unused.
func (q *segqueue) keepQuiet(c *Core) {
	if word := c.Load(&q.recv.word); word&(sideQuiet|sideLocked) == 0 && index(word) == index(q.send.word.word) {
		c.CAS(&q.recv.word, word, word|sideQuiet)
	}
}
