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
// There are two ways to wait in this package, and a Select may need both at once.
// At a chain a goroutine stands in a waitq.Queue, is woken, and looks for itself. At
// a handoff it is served: whoever comes by does its operation (engine.HandoffEntry).
// All places of a Select share one selection.State, which only one of them can choose.
//
// Before all that it yields once and tries again, as a park costs more than
// everything else. Tried: to yield in 4, as handoff does, when it can be served
// meanwhile: 4 Rendezvous then take 315 ns a value instead of 250 (GOMAXPROCS=2),
// 4 Bounded 44 instead of 36 (GOMAXPROCS=1; built-in select 265 and 99;
// 2026-11-21, AMD EPYC VM with 2 cores, Go 1.26.8). Both: no better.
//
// A round:
//
//  1. The choice becomes looking, the Select joins all lines, and looks at each
//     channel behind one: announce, look again. Nobody may serve it meanwhile: it
//     could have received a value by itself then, and have been handed another.
//  2. It takes the locks of all Counters, in the order of their ranks, and looks
//     there. If one is able to proceed, it releases the other locks and proceeds;
//     that fails only if it was to meet another Select that has been served
//     elsewhere, and then it looks again.
//  3. If there is nothing, it becomes open, unless a line has woken it, and joins
//     the Counters under the same locks. Partners that came before were seen,
//     those that come later see the Select. Two Selects that face each other: the
//     second to take the locks sees the first.
//  4. It sleeps.
//  5. Whoever chose it has done its operation, or woken it to look. If that look
//     is in vain, the next round begins, unless the context is done; it keeps its
//     turn everywhere.
//
// Of several channels behind lines that can proceed when it looks in 1, and of
// several Counters in 2, each is as likely as any other. In 5 there is no choice:
// the first one to come has made it.
//
// What is done is done at one point: by itself, in 1, 2 or 5, where nobody else
// can choose it for an operation; or by a partner that has won the choice. After
// it, the Select takes itself out of all lines, and passes on a wake-up that it
// holds: see waitq.Queue.
//
// The case belongs to the call, so its waiters do, too: nothing is allocated for
// a wait, and no goroutine of another testing/synctest bubble can come by the
// parker. It is that of the first case.

// A round is what one call of Select knows of its cases while it waits.
type round struct {
	cases    []Case
	counters []int // the cases at Counters, in the order of their ranks
	d        dice
	joined   bool
}

// leave takes the Select out of all wait queues.
func (r *round) leave() {
	if !r.joined {
		return
	}
	r.joined = false
	for _, c := range r.cases {
		c.entry().place.Leave()
	}
}

// wait is Select once nothing can proceed and there is no Default.
//
// The context is asked before the goroutine is in any line, and again when it
// has left all: a context is a user's code, and may panic.
func wait(ctx context.Context, cases []Case) (Case, error) {
	if ctx.Err() != nil {
		return lastLook(ctx, cases)
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
		if counter := c.entry().counter; counter != nil {
			counter.Prepare()
		}
	}
	var space [few]int
	counters := space[:0]
	if len(cases) > few {
		counters = spaceOf(cases, true)
	}
	r := round{cases: cases, counters: byRank(counters, cases), joined: true}
	defer r.leave() // if a channel of another package panics
	chosen, err := r.run(done)
	r.leave()
	if chosen == nil {
		return lastLook(ctx, cases)
	}
	return chosen, err
}

// lastLook is for when ctx is done: what became possible before that must not be
// missed.
func lastLook(ctx context.Context, cases []Case) (Case, error) {
	if chosen, err := poll(cases); chosen != nil {
		return chosen, err
	}
	return nil, engine.ContextError(ctx)
}

// byRank appends to the empty slice at the indices of the cases at Counters, in
// the order of their ranks, and of their sizes among equals. It is no method of
// round, and choice no field: either would move the caller's space to the heap.
func byRank(at []int, cases []Case) []int {
	for i, c := range cases {
		if c.entry().counter != nil {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(i, k int) int {
		a, b := cases[i].entry().counter, cases[k].entry().counter
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()), cmp.Compare(a.Size(), b.Size()))
	})
	return at
}

// choice returns that of the call: the first case's.
func (r *round) choice() *selection.State { return &r.cases[0].entry().choice }

// counter returns the Counter at a position of the order of ranks.
func (r *round) counter(at int) engine.HandoffEntry { return r.cases[r.counters[at]].entry().counter }

// run returns the case that has proceeded, nil if done was closed first.
func (r *round) run(done <-chan struct{}) (Case, error) {
	r.choice().Start()
	for {
		r.choice().BeginPoll()
		if c, err := r.joinLines(); c != nil {
			return c, err
		}
		if c, err := r.joinCounters(); c != nil {
			return c, err
		}
		if r.choice().PrepareToPark() && !r.sleep(done) {
			return nil, nil
		}
		c := r.cases[r.choice().Selected()]
		var served bool
		var err error
		if counter := c.entry().counter; counter != nil {
			served, err = counter.Result()
		} else {
			served, err = c.try()
		}
		if served {
			return c, err
		}
		// The sleep that would notice this comes to nothing while a line is faster,
		// again and again. The channel is asked: no code of a user runs in line.
		select {
		case <-done:
			return nil, nil
		default:
		}
	}
}

// joinLines puts the Select in line where waiters look for themselves, and looks.
func (r *round) joinLines() (Case, error) {
	if len(r.counters) == len(r.cases) {
		return nil, nil
	}
	var space [few]int
	order := space[:0]
	if len(r.cases) > few {
		order = spaceOf(r.cases, false)
	}
	for i, c := range r.cases {
		if e := c.entry(); e.counter == nil {
			e.place.Join(r.choice(), i)
			order = append(order, i)
		}
	}
	for i := range order {
		j := i + r.d.below(len(order)-i)
		order[i], order[j] = order[j], order[i]
		c := r.cases[order[i]]
		if done, err := c.try(); done {
			return c, err
		}
	}
	return nil, nil
}

// joinCounters does what there is to do at the Counters, or else joins them and
// opens the choice, unless a line has chosen.
func (r *round) joinCounters() (Case, error) {
	if len(r.counters) == 0 {
		return nil, nil
	}
	for {
		r.lock()
		able := r.able()
		if able < 0 {
			break
		}
		c := r.cases[r.counters[able]]
		r.unlockBut(able)
		if done, err := c.entry().counter.Proceed(); done {
			return c, err
		}
	}
	if r.choice().AcceptClaims() {
		for at, i := range slices.Backward(r.counters) { // each in front of the next
			if r.counter(at).Retrying() {
				r.counter(at).Join(r.choice(), i)
			}
		}
		for at, i := range r.counters {
			r.counter(at).Join(r.choice(), i)
		}
	}
	r.unlockBut(-1)
	return nil, nil
}

// able returns a random position among those that can proceed, -1 if there is
// none. The locks are held.
func (r *round) able() int {
	able, n := -1, 0
	for at := range r.counters {
		if r.counter(at).CanProceed() {
			if n++; r.d.below(n) == 0 {
				able = at
			}
		}
	}
	return able
}

// lock takes the lock of each engine, once.
func (r *round) lock() {
	for at := range r.counters {
		if r.leads(at) {
			r.counter(at).Lock()
		}
	}
}

// unlockBut releases the lock of each engine but that at position keep.
func (r *round) unlockBut(keep int) {
	for at := range r.counters {
		if r.leads(at) && (keep < 0 || r.counter(at).Rank() != r.counter(keep).Rank()) {
			r.counter(at).Unlock()
		}
	}
}

// leads reports whether a position is the first one of its engine.
func (r *round) leads(at int) bool {
	return at == 0 || r.counter(at-1).Rank() != r.counter(at).Rank()
}

// sleep parks, and counts that as a wait on each side. It returns false if done
// was closed first.
func (r *round) sleep(done <-chan struct{}) bool {
	for _, c := range r.cases {
		c.entry().place.Tally().CountSelect()
	}
	woken, spent := r.choice().Park(done)
	if spent > 0 {
		for _, c := range r.cases {
			c.entry().place.Tally().Spend(spent)
		}
	}
	return woken
}
