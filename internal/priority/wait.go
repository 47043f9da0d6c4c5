package priority

import (
	"context"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

type waiters = waitq.Queue

// A turn is the progress of one call.
type turn[T any] struct {
	wait    waitq.Wait
	attempt attempt
	level   int           // of a send
	at      time.Duration // of a send into a schedule: when the value is due
	ticket  Ticket        // of the last value sent
	losses  int           // spurious wake-ups
	rest    bool          // of a batch: see sendBatch
	request *request[T]   // nil unless it starves

	// With a backlog: see debt.go.
	selects bool // it polls for a Select in the queue
	holds   bool // the Select holds the wake-up
	debt    debt[T]
}

// An attempt is what a call did before it joined a wait queue.
type attempt struct {
	spin.Attempt
	spun, yielded bool // since its last poll
}

// A tactic is what one side has learned about spins and yields.
type tactic struct {
	spins  spin.Budget
	yields spin.Yields
}

// poll records whether the step before this poll has paid: it brought enough values, or
// room for them.
func (c *tactic) poll(a *attempt, found int) {
	if a.spun {
		a.spun = false
		c.spins.Record(found >= spin.GoodRun)
	}
	if a.yielded {
		a.yielded = false
		c.yields.Record(found >= spin.GoodRun)
	}
}

// step is called without the lock when the operation cannot proceed. It does one of the
// following, in this order: spin, yield, join the wait queue, and then the steps of a
// waitq.Wait. The call must poll again after each. It reports whether the call has joined.
//
// With one P nothing else runs during a spin; with several a yield gives the P to a goroutine
// of the same side, or takes the goroutine to another P, which costs more than it brings.
//
// The context is asked before the goroutine is queued, and again when it has left: a context
// is code of the user, and may panic.
func (t *turn[T]) step(ctx context.Context, c *tactic, queue *waiters) (joined bool) {
	switch {
	case t.wait.Joined():
		t.wait.Step()
	case ctx.Err() != nil:
		t.wait.Cancel()
	case t.attempt.MaySpin() && c.spins.Allows():
		_ = spin.Delay(spin.RunDelay)
		t.attempt.Spun()
		t.attempt.spun = true
	case !t.attempt.Yielded() && runtime.GOMAXPROCS(0) == 1 && c.yields.Allow():
		t.attempt.Yield()
		t.attempt.yielded = true
	default:
		t.wait.Join(queue, ctx.Done())
		return true
	}
	return false
}

func (e *Engine[T]) waitForRoom(ctx context.Context, t *turn[T]) {
	if t.step(ctx, &e.sending, &e.levels[t.level].senders) {
		e.asleep.Add(1)
	}
}

func (e *Engine[T]) waitForValue(ctx context.Context, t *turn[T]) {
	_ = t.step(ctx, &e.receiving, &e.receivers)
}

// leaveSender ends the wait of a send. If there is room and other senders wait, one of them
// is woken in its place.
func (e *Engine[T]) leaveSender(t *turn[T]) {
	if !t.wait.Joined() {
		return
	}
	t.wait.Leave()
	e.asleep.Add(-1)
	e.passOn()
	e.disarmRoom()
}

// passOn wakes a sender if there is room. Otherwise it sets the timer for those that wait.
func (e *Engine[T]) passOn() {
	if e.asleep.Load() == 0 {
		return
	}
	e.acquire()
	if !e.tick() {
		e.armRoom()
	}
	e.unlockAndWake()
}

// unlockAndWake releases the lock, and wakes the sender whose turn it is if there is room.
func (e *Engine[T]) unlockAndWake() {
	queue := e.senderToWake()
	e.lock.Unlock()
	if queue != nil {
		queue.Wake()
	}
}

// leaveReceiver ends the wait of a receive, in the same way.
func (e *Engine[T]) leaveReceiver(t *turn[T]) {
	joined := t.wait.Joined()
	if t.wait.Leave() && e.isAble() {
		e.receivers.Wake()
	}
	if joined {
		e.disarm()
	}
}

// backOff is for how long, nearly in nanoseconds, a goroutine that finds the lock taken leaves
// it to the other side: long enough for some fifty operations with the lock and the values in
// the cache of one core. Without it each operation would fetch them. See ADR 23.
const (
	backOff  = 1500
	backOffs = 2
)

// acquire takes the lock.
func (e *Engine[T]) acquire() {
	if !e.lock.TryLock() {
		e.acquireTaken()
	}
}

func (e *Engine[T]) acquireTaken() {
	for range backOffs {
		if runtime.GOMAXPROCS(0) > 1 {
			_ = spin.Delay(backOff)
		}
		if e.lock.TryLock() {
			return
		}
	}
	e.lock.Wait(true)
}
