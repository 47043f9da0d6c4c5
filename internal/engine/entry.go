package engine

import (
	"errors"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// ErrHook is returned by HandoffEntry.Proceed.
var ErrHook = errors.New("sluice: a hook has to run first")

// An Entry is how a Select waits to send or receive one value: it has one for each
// case. An Entry belongs to one Select at a time.
//
// If the engine only wakes its waiters, it returns an Entry that is no
// HandoffEntry. The Select joins, polls by TryRecv or TrySend, and parks.
type Entry interface {
	// Join queues the Select, at the end the first time. From then on it keeps its
	// position until Leave: another Join only ensures that it is queued. The state
	// of s is polling.
	Join(s *selection.State, index int)
	// Leave removes the Select from the queue. It passes a wake-up on if necessary.
	Leave()
	// Tally returns the wait statistics of this side.
	Tally() *park.Tally
}

// A HandoffEntry is an Entry of an engine that completes the operations of its
// waiters. To complete exactly one operation, a Select polls all its HandoffEntries
// under their locks, joins them if none can proceed, and then accepts claims.
type HandoffEntry interface {
	Entry // Join is called with the lock held
	// Rank identifies the engine. Locks are taken in ascending order of ranks.
	Rank() uint64
	// Size returns the size of the value to send, after Prepare, or what orders values in the
	// engine. If a Select has several entries in one engine, a smaller value must not be behind
	// a larger one.
	Size() int64
	// Sized reports whether Prepare calls user code: without Prepare, CanProceed does not
	// know the size of the value.
	Sized() bool
	// Retrying reports whether the Select was dequeued and could not be claimed:
	// Join queues it at the front.
	Retrying() bool
	Lock()
	Unlock()
	// Prepare is called before the first Join, without the lock: it calls user code
	// if that is necessary.
	Prepare()
	// CanProceed reports whether Proceed would succeed, unless another queue claims
	// the partner first. The lock is held.
	CanProceed() bool
	// Proceed completes the operation if possible, and returns its error. It is
	// called with the lock held, and releases it. With ErrHook it has done nothing, since a hook
	// has to run first: the Select leaves all its queues, calls Finish, and begins again.
	Proceed() (done bool, err error)
	// Finish calls the hooks that the operation of this entry has to call: they may use channels,
	// so it is called when the Select has left all its queues.
	Finish()
	// Result is called after this entry's case was selected. It reports whether the
	// selector has completed the operation, with its error; otherwise the Select
	// must poll again.
	Result() (done bool, err error)
}
