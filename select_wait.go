package sluice

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// How a Select waits.
//
// The library has two ways to wait, and a Select may need both at once. In the segqueue
// engine, and for a foreign channel, a goroutine has an entry in a wait queue, is woken,
// and polls again (engine.Entry). In the locked engine its partner performs the operation
// for it (engine.HandoffEntry). All entries of a Select share one selection.State, which
// only one of them can select. Before it waits, a Select yields once and polls again,
// because a park costs more than everything else.
//
// One attempt:
//
//  1. The state becomes polling. The Select joins all wait queues and polls each channel
//     behind one: announce, then look. No partner may perform its operation meanwhile, or
//     it could receive one value by itself and be handed another.
//  2. It takes the locks of all locked engines, in ascending order of rank, and looks for
//     one that can proceed. If there is one, it releases the other locks and proceeds; that
//     fails only if the partner is another Select that was selected elsewhere: then it
//     looks again.
//  3. Otherwise the state accepts claims, unless a wait queue has notified it, and the
//     Select joins the locked engines under the same locks. A partner that came before was
//     seen; a partner that comes later sees the Select. If two Selects are on opposite
//     sides, the second to take the locks sees the first.
//  4. It parks.
//  5. The entry that was selected has performed the operation, or asks for a poll. After a
//     spurious wake-up the next attempt begins, unless the context is done; the Select
//     keeps its position in every queue.
//
// The linearization point is one operation: performed by the Select in 1, 2 or 5, where no
// partner can claim it, or by the partner that claimed it. Then the Select leaves all
// queues and passes on a wake-up that it holds: see waitq.Queue. Fairness: among several
// channels that can proceed in 1, or in 2, each is equally likely; in 5 the first partner
// wins.
//
// The entries belong to the cases, and the parker to the first case. So a wait allocates
// nothing, and no goroutine of another testing/synctest bubble can reach the parker.

// An attempt is what one call of Select knows about its cases while it waits.
type attempt struct {
	cases    []Case
	handoffs []int // indices of the cases with a HandoffEntry, in ascending order of rank
	d        dice
	joined   bool
}

// leave takes the Select out of all wait queues.
func (a *attempt) leave() {
	if !a.joined {
		return
	}
	a.joined = false
	for _, c := range a.cases {
		c.entry().entry.Leave()
	}
}

// wait is Select after the first poll has found nothing, and without a Default.
//
// The methods of the context are called before the goroutine joins a queue, and after it
// has left all: a context is code of the user, and may panic.
func wait(ctx context.Context, cases []Case) (Case, error) {
	if ctx.Err() != nil {
		return lastPoll(ctx, cases)
	}
	done := ctx.Done()
	if len(cases) == 0 {
		park.NewParker().Park(done)
		return nil, engine.ContextError(ctx)
	}
	runtime.Gosched()
	if chosen, err := poll(cases); chosen != nil {
		return chosen, err
	}
	taken := 0
	defer func() {
		for _, c := range cases[:taken] {
			c.entry().taken.Store(false)
		}
	}()
	for i, c := range cases {
		if !c.entry().taken.CompareAndSwap(false, true) {
			panic(fmt.Sprintf("sluice: Select: case %d is in use: in another Select, or twice in this one", i))
		}
		taken++
	}
	for _, c := range cases {
		if handoff := c.entry().handoff; handoff != nil {
			handoff.Prepare()
		}
	}
	var space [fewCases]int
	handoffs := space[:0]
	if len(cases) > fewCases {
		handoffs = spaceOf(cases, true)
	}
	a := attempt{cases: cases, handoffs: byRank(handoffs, cases)}
	defer a.leave() // if a channel of another package panics
	for {
		a.joined = true
		chosen, err := a.run(done)
		a.leave()
		switch {
		case chosen == nil:
			return lastPoll(ctx, cases)
		case chosen.entry().handoff == nil:
			return chosen, err
		}
		if chosen.entry().handoff.Finish(); err != engine.ErrHook {
			return chosen, err
		}
	}
}

// lastPoll polls once more after ctx was done: an operation that became possible before
// that must not be missed.
func lastPoll(ctx context.Context, cases []Case) (Case, error) {
	if chosen, err := poll(cases); chosen != nil {
		return chosen, err
	}
	return nil, engine.ContextError(ctx)
}

// byRank appends to the empty slice at the indices of the cases with a HandoffEntry, in
// ascending order of rank, and of size among equal ranks. It is not a method of attempt,
// and state is not a field: either would move the caller's space to the heap.
func byRank(at []int, cases []Case) []int {
	for i, c := range cases {
		if c.entry().handoff != nil {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(i, k int) int {
		a, b := cases[i].entry().handoff, cases[k].entry().handoff
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()), cmp.Compare(a.Size(), b.Size()))
	})
	return at
}

// state returns the state of the call, which is kept in the first case.
func (a *attempt) state() *selection.State { return &a.cases[0].entry().state }

// handoff returns the HandoffEntry at a position in the order of ranks.
func (a *attempt) handoff(at int) engine.HandoffEntry { return a.cases[a.handoffs[at]].entry().handoff }

// run returns the case that has proceeded, or has to call a hook before (with ErrHook), or nil if
// done was closed first.
func (a *attempt) run(done <-chan struct{}) (Case, error) {
	a.state().Start()
	for {
		a.state().BeginPoll()
		if c, err := a.joinQueues(); c != nil {
			return c, err
		}
		if c, err := a.joinHandoffs(); c != nil {
			return c, err
		}
		if a.state().PrepareToPark() && !a.park(done) {
			return nil, nil
		}
		c := a.cases[a.state().Selected()]
		var performed bool
		var err error
		if handoff := c.entry().handoff; handoff != nil {
			performed, err = handoff.Result()
		} else {
			performed, err = c.try()
		}
		if performed {
			return c, err
		}
		// A queue may notify the Select before each park, so the park that would notice done
		// never happens. The Done channel is read, not the context: no code of the user runs
		// while the Select is in a queue.
		select {
		case <-done:
			return nil, nil
		default:
		}
	}
}

// joinQueues joins the wait queues whose waiters poll for themselves, and polls.
func (a *attempt) joinQueues() (Case, error) {
	if len(a.handoffs) == len(a.cases) {
		return nil, nil
	}
	var space [fewCases]int
	order := space[:0]
	if len(a.cases) > fewCases {
		order = spaceOf(a.cases, false)
	}
	for i, c := range a.cases {
		if e := c.entry(); e.handoff == nil {
			e.entry.Join(a.state(), i)
			order = append(order, i)
		}
	}
	for i := range order {
		j := i + a.d.below(len(order)-i)
		order[i], order[j] = order[j], order[i]
		c := a.cases[order[i]]
		if done, err := c.try(); done {
			return c, err
		}
	}
	return nil, nil
}

// joinHandoffs performs an operation that is possible in a locked engine. Otherwise it
// joins these engines and accepts claims, unless a queue has notified the Select.
func (a *attempt) joinHandoffs() (Case, error) {
	if len(a.handoffs) == 0 {
		return nil, nil
	}
	for {
		a.lock()
		able := a.able()
		if able < 0 {
			break
		}
		c := a.cases[a.handoffs[able]]
		a.unlockExcept(able)
		if done, err := c.entry().handoff.Proceed(); done || err == engine.ErrHook {
			return c, err
		}
	}
	if a.state().AcceptClaims() {
		for at, i := range slices.Backward(a.handoffs) { // each in front of the next
			if a.handoff(at).Retrying() {
				a.handoff(at).Join(a.state(), i)
			}
		}
		for at, i := range a.handoffs {
			a.handoff(at).Join(a.state(), i)
		}
	}
	a.unlockExcept(-1)
	return nil, nil
}

// able returns a random position among those that can proceed, or -1. The locks are held.
func (a *attempt) able() int {
	able, n := -1, 0
	for at := range a.handoffs {
		if a.handoff(at).CanProceed() {
			if n++; a.d.below(n) == 0 {
				able = at
			}
		}
	}
	return able
}

// lock takes the lock of each locked engine once.
func (a *attempt) lock() {
	for at := range a.handoffs {
		if a.leads(at) {
			a.handoff(at).Lock()
		}
	}
}

// unlockExcept releases the lock of each engine except the one at position keep.
func (a *attempt) unlockExcept(keep int) {
	for at := range a.handoffs {
		if a.leads(at) && (keep < 0 || a.handoff(at).Rank() != a.handoff(keep).Rank()) {
			a.handoff(at).Unlock()
		}
	}
}

// leads reports whether a position is the first of its engine.
func (a *attempt) leads(at int) bool {
	return at == 0 || a.handoff(at-1).Rank() != a.handoff(at).Rank()
}

// park parks, and counts a wait in each queue. It returns false if done was closed first.
func (a *attempt) park(done <-chan struct{}) bool {
	start := a.state().Since().Begin()
	for _, c := range a.cases {
		c.entry().entry.Tally().CountSelect(start)
	}
	woken, spent := a.state().Park(done, start)
	if spent > 0 {
		for _, c := range a.cases {
			c.entry().entry.Tally().Spend(spent)
		}
	}
	return woken
}
