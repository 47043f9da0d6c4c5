package mutant

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A Fault is a defect of a Channel. A Channel has at most one.
type Fault string

// The faults. Each is one or two lines, modeled on defects of real channels.
const (
	None Fault = ""

	// A lost wake-up.
	MissedSender   Fault = "every third receive forgets a waiting sender"
	MissedReceiver Fault = "a send queues its value beside a waiting receiver"
	MissedReady    Fault = "every third value is not announced to Ready"
	ForgetsRest    Fault = "a receive that leaves values does not announce them"
	OneWake        Fault = "a batch wakes one receiver only"
	CloseWakesOne  Fault = "Close wakes one receiver only"

	// A canceled operation takes effect, or an operation is skipped.
	Ghost        Fault = "the value of a canceled sender is delivered later"
	CancelWins   Fault = "a cancellation takes effect after the waiter was served"
	ContextFirst Fault = "a done context stops a send that could proceed"
	AsksInLine   Fault = "a waiter calls its context while in the wait queue"
	NilError     Fault = "a canceled operation returns no error"

	// The wrong value, or the wrong goroutine.
	LIFO          Fault = "the newest value comes out first"
	LastComeFirst Fault = "the newest waiter is served first"
	BatchHog      Fault = "a batch returns to the head of the wait queue each time"
	ExtraSlot     Fault = "there is room for one value more"
	EarlyReturn   Fault = "Send returns before its value is queued or taken"
	BatchMiscount Fault = "a batch that ends early reports one value too few"
	Prefetch      Fault = "a loop takes a value before its body asks for it"
	SilentEnd     Fault = "a loop ended by its context reports no error"
	TryBatchOpen  Fault = "TryRecvBatch never reports that the channel is closed"
	TryBatchShort Fault = "TryRecvBatch leaves a value that fits"
	DrainPrefetch Fault = "Drain takes a value before its body asks for it"
	DrainChases   Fault = "Drain yields values sent while it runs"

	// Close.
	DropOnClose Fault = "Close drops queued values"
	DoubleClose Fault = "the second Close panics"
	DiscardOpen Fault = "Discard leaves the channel open"
	DiscardLess Fault = "Discard leaves a value"
	DiscardTold Fault = "Discard counts a sender that waits"

	// Memory and goroutines.
	Uncleared     Fault = "the slot of a received value is not cleared"
	KeptByWaiter  Fault = "the value of a canceled sender is not cleared"
	LeakedHelper  Fault = "each channel has a goroutine that never exits"
	LeakedWaiter  Fault = "each canceled wait leaves a goroutine behind"
	Hoarder       Fault = "the memory of a backlog is never released"
	Overgrown     Fault = "the queue grows too much"
	HeavyIdle     Fault = "a channel that was never used holds a page"
	Allocates     Fault = "operations allocate"
	SharedWaiters Fault = "waiters come from a process-wide pool"

	// Len, Stats and OnUndelivered.
	LyingLen    Fault = "Len counts the waiting senders"
	Timeless    Fault = "the duration of waits is not counted"
	AgeRemains  Fault = "an age is reported although no goroutine waits"
	AgeReused   Fault = "a wait inherits the age of the one before it"
	AgeOfLast   Fault = "the reported age belongs to the last sender in the wait queue"
	AgeStops    Fault = "the age of a sender stops growing at a second"
	Uncounted   Fault = "a rejected send is not counted"
	LateCount   Fault = "a value is counted as received only after it is gone"
	UnlockedLen Fault = "Len reads without the lock"
	DropTwice   Fault = "OnUndelivered sees each value twice"
	DropLocked  Fault = "OnUndelivered runs under the lock"
)

// Faults lists all faults.
var Faults = []Fault{
	MissedSender, MissedReceiver, MissedReady, ForgetsRest, OneWake, CloseWakesOne,
	Ghost, CancelWins, ContextFirst, AsksInLine, NilError,
	LIFO, LastComeFirst, BatchHog, ExtraSlot, EarlyReturn, BatchMiscount, Prefetch,
	SilentEnd, TryBatchOpen, TryBatchShort, DrainPrefetch, DrainChases,
	DropOnClose, DoubleClose, DiscardOpen, DiscardLess, DiscardTold,
	Uncleared, KeptByWaiter, LeakedHelper, LeakedWaiter, Hoarder, Overgrown, HeavyIdle,
	Allocates, SharedWaiters,
	LyingLen, Timeless, AgeRemains, AgeReused, AgeOfLast, AgeStops, LateCount, Uncounted, UnlockedLen,
	DropTwice, DropLocked,
}

func (c *Channel[T]) is(f Fault) bool { return c.fault == f }

// missed reports, if the fault is f, whether to make the mistake this time.
func (c *Channel[T]) missed(f Fault) bool {
	if !c.is(f) {
		return false
	}
	c.turn++
	return c.turn%3 == 0
}

// room returns the number of values that fit.
func (c *Channel[T]) room() int {
	if c.is(ExtraSlot) {
		return c.limit + 1
	}
	return c.limit
}

// begin is called at the end of New.
func (c *Channel[T]) begin() {
	switch c.fault {
	case LeakedHelper:
		go func() { select {} }()
	case HeavyIdle:
		c.idle = make([]byte, 4096)
	}
}

// end is called when the channel is closed, before the waiters are released.
func (c *Channel[T]) end() {
	if c.is(DropOnClose) {
		c.queue = nil
	}
}

func (c *Channel[T]) closeAgain() {
	if c.is(DoubleClose) {
		panic("close of closed channel")
	}
}

// leave is called when w was canceled.
func (c *Channel[T]) leave(w *waiter[T]) {
	switch c.fault {
	case KeptByWaiter:
		c.kept = append(c.kept, w.value)
	case LeakedWaiter:
		go func() { <-w.outcome }()
	}
}

// outcomes is a process-wide pool of outcome channels. This is a fault, because
// a channel made in a bubble must not be used outside of it.
var outcomes = sync.Pool{New: func() any { return make(chan error, 1) }}

func (c *Channel[T]) newWaiter(v T) *waiter[T] {
	if c.is(SharedWaiters) {
		return &waiter[T]{value: v, outcome: outcomes.Get().(chan error), began: time.Now()}
	}
	return &waiter[T]{value: v, outcome: make(chan error, 1), began: time.Now()}
}

// giveBack is called when w was served.
func (c *Channel[T]) giveBack(w *waiter[T]) {
	if c.is(SharedWaiters) {
		outcomes.Put(w.outcome)
	}
}

// pushSilently queues v, if there is room, without a wake-up.
func (c *Channel[T]) pushSilently(v T) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.queue) >= c.limit {
		return false
	}
	c.push(v)
	return true
}

// timed returns the duration of a wait that started at begin.
func (c *Channel[T]) timed(begin time.Time) time.Duration {
	if c.is(Timeless) {
		return 0
	}
	return time.Since(begin)
}

// oldest returns how long the first waiter has waited. last is when the waiter
// seen last began to wait.
func (c *Channel[T]) oldest(line []*waiter[T], last *time.Time) time.Duration {
	if len(line) == 0 {
		if c.is(AgeRemains) && !last.IsZero() {
			return time.Since(*last)
		}
		return 0
	}
	began, sends := line[0].began, last == &c.lastSender
	switch {
	case sends && c.is(AgeOfLast):
		began = line[len(line)-1].began
	case c.is(AgeReused) && !last.IsZero():
		began = *last
	}
	*last = began
	if sends && c.is(AgeStops) {
		return min(time.Second, time.Since(began))
	}
	return time.Since(began)
}

// dawdle is called by a canceled waiter: another goroutine may serve it
// meanwhile.
func (c *Channel[T]) dawdle() {
	for i := 0; i < 3 && c.is(CancelWins); i++ {
		runtime.Gosched()
	}
}

// over returns the error of a wait that ctx has ended.
func (c *Channel[T]) over(ctx context.Context) error {
	if c.is(NilError) {
		return ctx.Err()
	}
	return cmp.Or(ctx.Err(), context.Canceled)
}

// batch marks the context of every value of a batch after the first.
type batch struct{}

func (c *Channel[T]) inBatch(ctx context.Context, i int) context.Context {
	if c.is(BatchHog) && i > 0 {
		return context.WithValue(ctx, batch{}, true)
	}
	return ctx
}

// hog is called when a sender has joined the wait queue.
func (c *Channel[T]) hog(ctx context.Context) {
	if c.is(BatchHog) && ctx.Value(batch{}) != nil {
		last := len(c.senders) - 1
		c.senders = append([]*waiter[T]{c.senders[last]}, c.senders[:last]...)
	}
}

func (c *Channel[T]) countLate() {
	runtime.Gosched()
	c.mu.Lock()
	c.stats.Received++
	c.mu.Unlock()
}

// grow is called before a value is appended to the queue.
func (c *Channel[T]) grow() {
	if c.is(Overgrown) && len(c.queue) == cap(c.queue) {
		c.queue = slices.Grow(c.queue, 8*len(c.queue)+1)
	}
}
