package park

import (
	"sync/atomic"
	"time"
)

// A Choice is one goroutine that waits in several places at once, for whichever
// comes first: it is what the waiters have in common that a Select puts into
// lines. Its zero value is ready to use.
//
// A place either wakes the goroutine, which then looks for itself (a Line does),
// or serves it, which does its operation for it (the engine handoff does). So
// that one operation happens and no other, all this is decided by one word:
//
//	awake    nobody may choose: the goroutine has no places, or its context ended
//	looking  a line may wake it; nobody may serve it, as it may be about to
//	         find something to do by itself
//	open     it has found nothing: a line may wake it, an engine may serve it
//	asleep   the same, and it is parked: whoever chooses puts the token down
//	chosen   by the place whose number is added; nobody else may any more
//
// Each step is one CAS, or a Swap by the goroutine when it has seen who has
// chosen. looking becomes open under the locks of all engines that may serve
// it, after a look into each under these locks: so a partner that came before
// was found, and one that comes later finds it open.
//
// Why no token is ever left behind: only whoever turns asleep into chosen puts
// one down, and the goroutine does not go on without having taken it. If its
// context ends, it turns asleep into awake, and none will come; if that fails, it
// waits for the one that must. Thus a token cannot reach a later wait, and the
// parker's one slot is never full when a token comes.
//
// Why no choice is lost: a line that cannot wake the goroutine wakes the one
// behind it, an engine serves the one behind it; and the goroutine looks at all
// its places after it has become looking again.
type Choice struct {
	state  atomic.Uint32
	parker Parker
	naps   uint64
	since  Since // of the call, as its waiters tell it
}

const (
	awake uint32 = iota
	looking
	open
	asleep
	chosen // and up: plus the number of a place
)

// Start begins a call: none of its places has joined yet.
func (c *Choice) Start() { c.since.Reset() }

// Since is when the call began to wait.
func (c *Choice) Since() *Since { return &c.since }

// Look makes the goroutine one that lines may wake. It has no token to come.
func (c *Choice) Look() {
	if c.parker.token == nil {
		c.parker = NewParker()
	}
	c.state.Swap(looking)
}

// Parker returns what a place unparks that was told to. It is there after Look.
func (c *Choice) Parker() Parker { return c.parker }

// Open lets engines serve the goroutine. It fails if a line has chosen. The
// caller holds the locks of all these engines, and has looked into each.
func (c *Choice) Open() bool { return c.state.CompareAndSwap(looking, open) }

// Doze announces that the goroutine will sleep. It fails if a place has chosen:
// then there is no token to come.
func (c *Choice) Doze() bool {
	for {
		state := c.state.Load()
		if state >= chosen {
			return false
		}
		if c.state.CompareAndSwap(state, asleep) {
			return true
		}
	}
}

// Sleep waits until a place has chosen, or done is closed: then it returns
// false, and no place will choose any more. It follows a Doze that succeeded.
// spent is what to add to the time of waits, by the sampling of a Tally.
func (c *Choice) Sleep(done <-chan struct{}) (woken bool, spent time.Duration) {
	c.naps++
	weight := weightOf(c.naps)
	start := c.since.Begin()
	woken = c.sleep(done)
	if weight > 0 {
		spent = (Now() - start) * time.Duration(weight)
	}
	return woken, spent
}

func (c *Choice) sleep(done <-chan struct{}) bool {
	if c.parker.Park(done) {
		return true
	}
	if c.state.CompareAndSwap(asleep, awake) {
		return false
	}
	return c.parker.Park(nil) // chosen meanwhile: the token is on its way
}

// Chosen returns the number of the place that has chosen. There is one.
func (c *Choice) Chosen() int { return int(c.state.Load() - chosen) }

// Serve chooses for an engine that will do the operation of place number, and
// reports whether it may. unpark says that the goroutine sleeps.
func (c *Choice) Serve(number int) (may, unpark bool) { return c.choose(number, open) }

// Servable reports whether Serve may succeed.
func (c *Choice) Servable() bool {
	state := c.state.Load()
	return state == open || state == asleep
}

// choose chooses place number unless the state is below from, or chosen.
func (c *Choice) choose(number int, from uint32) (may, unpark bool) {
	for {
		state := c.state.Load()
		if state < from || state >= chosen {
			return false, false
		}
		if c.state.CompareAndSwap(state, chosen+uint32(number)) {
			return true, state == asleep
		}
	}
}
