package sim

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// two domains of two cores.
var small = Machine{Domain: 2, Near: 40, Far: 100}

// script runs one function on each core, in turn: each begins when the one before has
// ended.
func script(t *testing.T, m Machine, steps ...func(c *Core)) {
	t.Helper()
	next := 0
	var programs []Program
	for i, step := range steps {
		programs = append(programs, func(c *Core) {
			c.now = 1000 * float64(i+1)
			c.turn()
			step(c)
			next++
			for {
				c.Spin(100)
				c.turn()
			}
		})
	}
	if _, err := Run(m, programs, 1e5); err != nil || next != len(steps) {
		t.Fatalf("%d of %d steps: %v", next, len(steps), err)
	}
}

// took returns the time of f.
func took(c *Core, f func()) float64 {
	start := c.now
	f()
	return c.now - start
}

func TestTransfers(t *testing.T) {
	var l Line
	var got []float64
	record := func(f func(c *Core)) func(c *Core) {
		return func(c *Core) { got = append(got, took(c, func() { f(c) })) }
	}
	add := func(c *Core) { c.Add(&l, 1) }
	load := func(c *Core) { c.Load(&l) }
	script(t, small,
		record(add), // core 0: the line is in no cache
		record(add), // core 1, near core 0
		record(func(c *Core) { load(c); load(c) }), // core 2, from core 1; then a copy
		record(load), // core 3, from core 2, which is near
	)
	want := []float64{atomicHit, 40 + atomicHit, 100 + loadHit, 40}
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
		t.Errorf("%v ns, want %v", got, want)
	}
	if l.word != 2 || l.owner != 0 || l.copies != (cores{0b1110}) {
		t.Errorf("word %d, owner %d, copies %b", l.word, l.owner, l.copies)
	}
}

// TestInvalidation: a write waits for the farthest copy, and ends all copies.
func TestInvalidation(t *testing.T) {
	var l Line
	var ns float64
	load := func(c *Core) { c.Load(&l) }
	script(t, small, load, load, load, load)
	script(t, small, func(c *Core) { ns = took(c, func() { c.Swap(&l, 7) }) })
	if ns != 100+atomicHit || l.owner != 1 || !l.copies.empty() {
		t.Errorf("%v ns, owner %d, copies %b", ns, l.owner, l.copies)
	}
}

// TestQueueAtLine: requests that wait at a line are served one after another, each for
// half of a transfer.
func TestQueueAtLine(t *testing.T) {
	rate, err := total(Machine{Near: 40}, addPrograms(16, 0), 1e6)
	if want := 1 / (40*queuedPart + atomicHit); err != nil || math.Abs(rate/want-1) > 0.01 {
		t.Errorf("%v operations per ns, want %v (%v)", rate, want, err)
	}
}

func TestRunIsDeterministic(t *testing.T) {
	run := func() []float64 {
		rates, err := Run(small, stream(newSegqueue(64, 5), 2, 2), 1e5)
		if err != nil {
			t.Fatal(err)
		}
		return rates
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestRunFails(t *testing.T) {
	if _, err := Run(small, nil, 1e3); err == nil {
		t.Error("no error without a core")
	}
	if _, err := Run(small, make([]Program, maxCores+1), 1e3); err == nil {
		t.Error("no error with too many cores")
	}
	asleep := func(c *Core) { c.Sleep(goroutine) }
	if _, err := Run(small, each(2, asleep), 1e6); !errors.Is(err, errDeadlock) {
		t.Errorf("all sleep: %v", err)
	}
	if _, err := Run(small, []Program{func(*Core) {}}, 1e3); err == nil {
		t.Error("no error for a program that ends")
	}
}

// A pairLock is a busyLock that no crowd uses.
type pairLock struct{ *busyLock }

func (l pairLock) Lock(c *Core) { l.acquire(c, false) }

func TestLocksExclude(t *testing.T) {
	for name, lock := range map[string]Lock{
		"exchange": &exchangeLock{}, "spin": &spinLock{}, "ticket": &ticketLock{}, "tristate": newTristate(),
		"sleeping": &sleepingLock{}, "spinbit": &spinbitLock{}, "busy": &busyLock{}, "busy without a crowd": pairLock{&busyLock{}},
	} {
		inside, entered := 0, 0
		program := func(c *Core) {
			lock.Lock(c)
			if inside++; inside != 1 {
				t.Fatalf("%s: %d goroutines hold the lock", name, inside)
			}
			entered++
			c.Work(20)
			c.turn() // lets others run meanwhile
			inside--
			lock.Unlock(c)
			c.Work(5)
		}
		if _, err := Run(small, each(4, program), 2e5); err != nil || entered < 100 {
			t.Errorf("%s: entered %d times: %v", name, entered, err)
		}
	}
}

// TestChannelsKeepValues: no channel of the model receives more than was sent, or has
// more values than its limit; and values move.
func TestChannelsKeepValues(t *testing.T) {
	const limit = 16
	for name, ch := range map[string]channel{
		"native": newNative(&spinbitLock{}, limit, 5), "chain": newSegqueue(limit, 5), "hand-off": newHandoff(4, 5),
		"rendezvous": newHandoff(0, 5), "locked ring": newLockedRing(&sleepingLock{}, limit, 5),
		"FAA ring": newTurnRing(false, limit, 1, 5), "CAS ring": newTurnRing(true, limit, 4, 5),
	} {
		sent, received := 0, 0
		count := counted{ch, &sent, &received}
		if _, err := Run(small, stream(count, 2, 2), 2e5); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// A goroutine may be about to count.
		if received > sent+2 || sent > received+limit+2 || received < 50 {
			t.Errorf("%s: %d sent, %d received", name, sent, received)
		}
	}
}

// counted counts the finished operations of a channel.
type counted struct {
	channel
	sent, received *int
}

func (c counted) Send(core *Core) { c.channel.Send(core); *c.sent++ }
func (c counted) Recv(core *Core) { c.channel.Recv(core); *c.received++ }
