package sim

// A channel moves values between cores. Send and Recv wait.
type channel interface {
	Send(c *Core)
	Recv(c *Core)
}

// slotsPerLine is how many values of 8 bytes a cache line holds.
const slotsPerLine = 8

// slots is a ring of values.
type slots []Line

func newSlots(capacity int) slots { return make(slots, max(1, capacity/slotsPerLine)) }

// at returns the line of the value with the given index.
func (s slots) at(index int) *Line { return &s[index/slotsPerLine%len(s)] }

// criticalWork is the most work of an operation under a lock, in nanoseconds.
const criticalWork = 10

// A nativeChan is Go's channel: runtime/chan.go. The first line of an hchan has its
// counters; the second one the wait queues and the lock.
type nativeChan struct {
	lock      Lock
	counters  Line
	slots     slots
	capacity  int
	sent      int
	received  int
	senders   []*Core
	receivers []*Core
	work      float64
}

func newNative(lock Lock, capacity int, work float64) *nativeChan {
	return &nativeChan{lock: lock, slots: newSlots(capacity), capacity: capacity, work: work}
}

func (n *nativeChan) critical() float64 { return min(criticalWork, n.work/2) }

func (n *nativeChan) Send(c *Core) {
	c.Work(n.work - n.critical())
	n.lock.Lock(c)
	c.Work(n.critical())
	switch {
	case len(n.receivers) > 0:
		first := n.receivers[0]
		n.receivers = n.receivers[1:]
		n.lock.Unlock(c)
		c.Wake(first, goroutine)
	case n.sent-n.received < n.capacity:
		c.Write(n.slots.at(n.sent))
		c.Write(&n.counters)
		n.sent++
		n.lock.Unlock(c)
	default:
		n.senders = append(n.senders, c)
		n.lock.Unlock(c)
		c.Sleep(goroutine)
	}
}

func (n *nativeChan) Recv(c *Core) {
	c.Work(n.work - n.critical())
	n.lock.Lock(c)
	c.Work(n.critical())
	switch {
	case n.sent > n.received:
		c.Write(n.slots.at(n.received)) // clears it
		c.Write(&n.counters)
		n.received++
		if len(n.senders) == 0 {
			n.lock.Unlock(c)
			return
		}
		c.Write(n.slots.at(n.sent))
		n.sent++
		fallthrough
	case len(n.senders) > 0:
		first := n.senders[0]
		n.senders = n.senders[1:]
		n.lock.Unlock(c)
		c.Wake(first, goroutine)
	default:
		n.receivers = append(n.receivers, c)
		n.lock.Unlock(c)
		c.Sleep(goroutine)
	}
}

// takeTurns returns programs that each send and then receive a few values, as many as
// the channel has room for. A received value counts as the given number of operations.
func takeTurns(ch channel, cores, values, operations int) []Program {
	return each(cores, func(c *Core) {
		for range values {
			ch.Send(c)
		}
		for range values {
			ch.Recv(c)
			c.Done(operations)
		}
	})
}

// stream returns programs of senders and receivers. A value is counted when it is
// received.
func stream(ch channel, senders, receivers int) []Program {
	send := loop(ch.Send)
	recv := loop(func(c *Core) {
		ch.Recv(c)
		c.Done(1)
	})
	var programs []Program
	for s, r := 0, 0; s < senders || r < receivers; { // spread evenly over the domains
		if r*senders < s*receivers || s == senders {
			programs, r = append(programs, recv), r+1
		} else {
			programs, s = append(programs, send), s+1
		}
	}
	return programs
}
