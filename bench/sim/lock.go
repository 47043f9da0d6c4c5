package sim

// A Lock is a mutual exclusion.
type Lock interface {
	Lock(c *Core)
	Unlock(c *Core)
}

// The words of a lock.
const (
	unlocked = iota
	held
	contended // held, and a goroutine sleeps
)

// exchangeLock tries to exchange the word until that succeeds: test-and-set.
type exchangeLock struct{ line Line }

func (l *exchangeLock) Lock(c *Core) {
	for c.Swap(&l.line, held) != unlocked {
	}
}

func (l *exchangeLock) Unlock(c *Core) { c.Swap(&l.line, unlocked) }

// spinLock reads the word until it is free, and then tries: test and test-and-set.
type spinLock struct{ line Line }

func (l *spinLock) Lock(c *Core) {
	for c.Swap(&l.line, held) != unlocked {
		for c.Load(&l.line) != unlocked {
			c.Await(&l.line, held)
		}
	}
}

func (l *spinLock) Unlock(c *Core) { c.Swap(&l.line, unlocked) }

// ticketLock serves in order. Both counters are in one line, as they usually are.
type ticketLock struct{ line Line }

const ticket = 1 << 32 // the upper half counts tickets, the lower one turns

func (l *ticketLock) Lock(c *Core) {
	word := c.Add(&l.line, ticket)
	for mine := word/ticket - 1; word%ticket != mine; {
		word = c.Await(&l.line, word)
	}
}

func (l *ticketLock) Unlock(c *Core) { c.Add(&l.line, 1) }

// sleepers are the goroutines that sleep in the kernel until a lock is free.
type sleepers struct{ asleep []*Core }

func (s *sleepers) sleep(c *Core) {
	s.asleep = append(s.asleep, c)
	c.Sleep(thread)
}

func (s *sleepers) wake(c *Core) {
	if len(s.asleep) > 0 {
		first := s.asleep[0]
		s.asleep = s.asleep[1:]
		c.Wake(first, thread)
	}
}

// A sleepingLock spins a few times and then sleeps. With the figures of tristate it is
// the lock of Go's runtime up to 1.23; with no spins it is the mutex of C libraries.
type sleepingLock struct {
	sleepers
	line  Line
	spins int     // before it sleeps
	pause float64 // nanoseconds of a spin
}

// newTristate: four spins of 30 PAUSE instructions, and a yield.
func newTristate() *sleepingLock { return &sleepingLock{spins: 5, pause: 300} }

func (l *sleepingLock) Lock(c *Core) {
	word := c.Swap(&l.line, held)
	if word == unlocked {
		return
	}
	for take := word; ; {
		for range l.spins {
			for c.Load(&l.line) == unlocked {
				if c.CAS(&l.line, unlocked, take) {
					return
				}
			}
			c.Spin(l.pause)
		}
		if c.Swap(&l.line, contended) == unlocked {
			return
		}
		take = contended
		l.sleep(c)
	}
}

func (l *sleepingLock) Unlock(c *Core) {
	if c.Swap(&l.line, unlocked) == contended {
		l.wake(c)
	}
}

// A spinbitLock is the lock of Go's runtime from 1.24: one goroutine spins at a time,
// and unlocking wakes a sleeper only if none does. Bits of the word: see below.
type spinbitLock struct {
	sleepers
	line Line
}

const (
	spinbitHeld     = 1
	spinbitSpinning = 2
	spinbitAsleep   = 4
)

// spinbitPause is a spin of the goroutine that spins, of 30 PAUSE instructions.
const spinbitPause = 300

func (l *spinbitLock) Lock(c *Core) {
	spinner := false
	for {
		word := c.Load(&l.line)
		switch {
		case word&spinbitHeld == 0:
			next := word | spinbitHeld
			if spinner {
				next &^= spinbitSpinning
			}
			if c.CAS(&l.line, word, next) {
				return
			}
		case spinner:
			c.Spin(spinbitPause)
		case word&spinbitSpinning == 0:
			spinner = c.CAS(&l.line, word, word|spinbitSpinning)
		default:
			if word&spinbitAsleep != 0 || c.CAS(&l.line, word, word|spinbitAsleep) {
				l.sleep(c)
			}
		}
	}
}

func (l *spinbitLock) Unlock(c *Core) {
	c.own(&l.line)
	word := l.line.word
	wake := word&spinbitAsleep != 0 && word&spinbitSpinning == 0
	next := word &^ spinbitHeld
	if wake && len(l.asleep) <= 1 {
		next &^= spinbitAsleep
	}
	c.set(&l.line, next)
	if wake {
		l.wake(c)
	}
}
