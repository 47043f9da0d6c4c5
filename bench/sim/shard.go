package sim

// A sharded is the engine of package internal/shard: several segqueues.
type sharded struct {
	set       Line // the pointer to the set of lanes: read by every operation
	hints     Line // stands for the table of hints: read by every operation
	lanes     []*segqueue
	receivers *waitQueue
	senders   *waitQueue
	budget    budget // of senders
	values    budget // of receivers
	work      float64
}

// laneWork is the work of a lane's operation, below the channel's.
const laneWork = 2

func newSharded(lanes, limit int, work float64) *sharded {
	s := &sharded{receivers: &waitQueue{}, senders: &waitQueue{}, work: work}
	for range lanes {
		lane := newSegqueue(limit, laneWork)
		lane.receivers, lane.anySenders, lane.lane = s.receivers, s.senders, true
		s.lanes = append(s.lanes, lane)
	}
	return s
}

// A laneChoice says in which lane a sender sends its next value, and learns whether the
// lane's lock was taken.
type laneChoice interface {
	next(c *Core) int
	result(c *Core, contended bool)
}

// affinity is a lane for each core, as affinity.go of package shard approximates it
// after its hints have settled. token is the time to find the core out, if the hint
// cannot be trusted: 0 or tokenCost.
type affinity struct {
	lane  int
	token float64
}

// tokenCost is a Get and a Put of a sync.Pool, and the slow path around them, in
// nanoseconds (2026-11-22, AMD EPYC VM, Go 1.26.8).
const tokenCost = 25

func (a affinity) next(c *Core) int {
	if a.token > 0 {
		c.Work(a.token)
	}
	return a.lane
}
func (affinity) result(*Core, bool) {}

// fixedLane is one lane per goroutine, by a hash of its stack's address. A core runs a
// goroutine for a number of values and continues with another one.
type fixedLane struct {
	lanes, values int
	sent, lane    int
	moves         bool // to another lane if the lock was taken
}

func (f *fixedLane) next(c *Core) int {
	if f.sent%f.values == 0 {
		f.lane = c.random.IntN(f.lanes)
	}
	f.sent++
	return f.lane
}

func (f *fixedLane) result(c *Core, contended bool) {
	if contended && f.moves {
		f.lane = c.random.IntN(f.lanes)
	}
}

// sender returns the program of a sender.
func (s *sharded) sender(choice laneChoice) Program {
	return loop(func(c *Core) {
		var p patience
		for {
			c.Work(s.work)
			c.Load(&s.set)
			c.Load(&s.hints)
			at := choice.next(c)
			lane := s.lanes[at]
			contended := lane.send.word.word&sideLocked != 0 || lane.send.word.free > c.now
			sent := lane.trySend(c)
			choice.result(c, contended)
			for i := 1; !sent && i < len(s.lanes); i++ {
				other := s.lanes[(at+i)%len(s.lanes)]
				room := c.Load(&other.recv.word)/sideOne + uint64(other.limit) - c.Load(&other.send.word)/sideOne
				if room >= uint64(max(1, other.limit/4)) || p.eager && room > 0 {
					sent = other.trySend(c)
				}
			}
			if sent {
				break
			}
			p.stepSharded(c, s.senders, &s.budget, s.room)
		}
		p.done(c, s.senders, s.room)
	})
}

// programs returns the programs of senders and of receivers of runs of up to most
// values. Both are spread evenly over the cores. Without a choice, each sender has a lane.
func (s *sharded) programs(senders, receivers, most int, choose func(sender, lanes int) laneChoice) []Program {
	var all []Program
	for i, j := 0, 0; i < senders || j < receivers; {
		if i == senders || j*senders < i*receivers {
			all = append(all, s.receiver(j*len(s.lanes)/receivers, most))
			j++
			continue
		}
		program := loop(s.lanes[i%len(s.lanes)].Send)
		if choose != nil {
			program = s.sender(choose(i, len(s.lanes)))
		}
		all = append(all, program)
		i++
	}
	return all
}

// laneTurn is how many values of a lane are received in a row.
const laneTurn = 256

// receiver returns the program of a receiver whose cursor begins at a lane and that
// receives runs of up to most values.
func (s *sharded) receiver(at, most int) Program {
	return func(c *Core) {
		var p patience
		for turn := 0; ; {
			c.Work(s.work)
			c.Load(&s.set)
			lane := s.lanes[at%len(s.lanes)]
			n := 0
			if turn < laneTurn {
				n = lane.tryRecv(c, most)
			}
			for i := 1; n == 0 && i <= len(s.lanes); i++ {
				at, turn = at+1, 0
				lane = s.lanes[at%len(s.lanes)]
				if c.Load(&lane.recv.word)/sideOne != c.Load(&lane.send.word)/sideOne {
					n = lane.tryRecv(c, most)
				}
			}
			if n > 0 {
				p.done(c, s.receivers, s.len)
				p = patience{}
				turn += n
				c.Done(n)
				continue
			}
			p.stepSharded(c, s.receivers, &s.values, s.len)
		}
	}
}

// len and room are the numbers of values and of free slots in all lanes. The model
// does not charge for counting them: a spin is much longer.
func (s *sharded) len() (n int) {
	for _, lane := range s.lanes {
		n += lane.len()
	}
	return n
}

func (s *sharded) room() (n int) {
	for _, lane := range s.lanes {
		n += lane.room()
	}
	return n
}
