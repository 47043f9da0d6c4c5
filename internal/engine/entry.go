package engine

import (
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// A Place is where a Select waits to send or to receive one value, beside its
// other places: one for each case. It belongs to one Select at a time.
//
// An engine whose waiters look for themselves when they are woken offers no more
// than that. The Select joins, looks by TryRecv or TrySend, and sleeps.
type Entry interface {
	// Join puts the Select in line, at the end the first time. Once it has
	// joined it keeps its turn until Leave: Join after that only sees to it
	// that it is in line. The Choice is looking.
	Join(c *selection.State, number int)
	// Leave takes the Select out of the line, and passes on what it must.
	Leave()
	// Tally is where the waits of this side are counted.
	Tally() *park.Tally
}

// A Counter is a Place at an engine that serves its waiters: whoever comes by
// does the operation of the one who waits. So that exactly one operation of a
// Select happens, it looks into all its Counters under their locks, joins them
// if there is nothing to do, and then opens its Choice.
type HandoffEntry interface {
	Entry // Join is called under the lock
	// Rank is the same for all Counters of an engine, and of no other. Locks
	// are taken in ascending order of ranks.
	Rank() uint64
	// Size is that of the value to send, once Prepare has asked for it: of several
	// Counters of one engine the smaller must not stand behind the larger.
	Size() int
	// Returns reports whether the Select had its turn here, in vain: Join puts it
	// in front.
	Retrying() bool
	Lock()
	Unlock()
	// Prepare is called before the first Join, without the lock: it calls
	// what code of the user there is to call.
	Prepare()
	// Able reports whether Proceed would find something to do, but for what
	// another Select may take from it. The lock is held.
	CanProceed() bool
	// Proceed does the operation if it is possible, with the error that it
	// ends with. It is called with the lock held, and releases it.
	Proceed() (done bool, err error)
	// Served says what whoever chose this place has done: the operation, with
	// the error that it ended with, or nothing but wake the Select.
	Result() (done bool, err error)
}
