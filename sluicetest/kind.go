package sluicetest

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// A Channel is a channel that the suite can test. If it also has the methods
// Values, TryRecvBatch or Drain of [sluice.Channel], or Discard of the kinds of package
// sluice, the suite tests them too.
type Channel[T any] interface {
	sluice.BatchSender[T]
	sluice.BatchReceiver[T]
	Ready() <-chan struct{}
	Len() int
	Cap() int
	Stats() sluice.Stats
}

// A Kind describes the kind under test: its guarantees, and how to make a
// channel. The zero values describe a rendezvous with the policy Block that
// serves waiters in strict order.
type Kind struct {
	// Capacity is the maximum number of queued values: 0 for a rendezvous.
	Capacity int
	// Order is the order in which values come out.
	Order Order
	// Lanes is the number of queues that values may spread over; 0 means 1.
	// Stats.HighWater then refers to the fullest one.
	Lanes int
	// Overflow is the policy with which the makers below make channels.
	Overflow sluice.Overflow
	// OneSender and OneReceiver restrict sending, or receiving, to one
	// goroutine at a time. The suite complies.
	OneSender, OneReceiver bool
	// MaxBypass is how many later operations may be served before a parked one.
	// 0 guarantees strict order: parked goroutines are served in the order in
	// which they parked, and no running goroutine barges in. NoBound guarantees
	// nothing.
	MaxBypass int
	// Allocates is set if operations allocate in steady state. The kinds of
	// package sluice do not.
	Allocates bool
	// InFlight is set if a value takes up room until the operation that received it has
	// returned, because that operation acknowledges it. Such a value cannot be dropped, so
	// under DropOldest a TrySend beside a receive may return ErrFull.
	InFlight bool
	// Keeps is how many values that were received the channel may keep alive, because
	// it keeps them for other receivers.
	Keeps int
	// Remote is set if values leave the process, for example to a server, so
	// that an operation may wait for events outside the process. No test of
	// such a kind runs in a bubble. Only the tests in remotely run, with fewer
	// rounds; they poll for state that may lag behind, such as Len or a value
	// just sent; and because every send waits, they do not expect a send to
	// succeed with a done context.
	Remote bool
	// Memory, if set, contains the kind's limits on memory.
	Memory *Memory
	// Variant is set for one of several configurations of the same code, of which another
	// runs in full: the suite takes as few rounds as with -short, unless the environment
	// has SLUICE_TEST=long.
	Variant bool

	// Timeout is the time after which a test of the suite counts as hung, which
	// ends the process. 0 means two minutes.
	Timeout time.Duration

	// The makers return a new, empty channel. All are required, because the
	// size of the element type and its pointers make a difference to a channel.
	// Numbers gets the function to call with each dropped value; it is nil for
	// policies that drop nothing.
	Numbers  func(onDrop func(uint64)) Channel[uint64]
	Pointers func() Channel[*Parcel]
	Strings  func() Channel[string]
	Empties  func() Channel[struct{}]
	Giants   func() Channel[Giant]
}

// NoBound as Kind.MaxBypass means that a parked operation may wait forever.
const NoBound = -1

// An Order describes how much of the order of sending is preserved.
type Order uint8

const (
	// FIFO: values come out in the order of sending.
	FIFO Order = iota
	// PerSender: the values of one goroutine come out in the order of sending;
	// the values of several goroutines interleave.
	PerSender
	// AnyOrder: no order.
	AnyOrder
)

// A Parcel is an element that contains a pointer. It is too large for the tiny
// allocator, so the collector frees each Parcel individually and tests can
// observe it.
type Parcel struct {
	ID   uint64
	Next *Parcel
	_    [6]uint64
}

// A Giant is an element that is expensive to copy.
type Giant = [1 << 16]byte

// Memory contains limits on memory, in bytes of live heap.
type Memory struct {
	// Idle limits an empty channel that was never used.
	Idle float64
	// Queued limits the bytes per value when a million uint64 are queued, and
	// QueuedPeak the bytes per value at any moment while they are sent. 0 means
	// no limit.
	Queued, QueuedPeak float64
	// Drained limits what remains after a backlog was received. 0 means no
	// limit.
	Drained float64
}

// A test is one sub-test of the suite.
type test struct {
	name string
	// applies reports for which kinds the test makes sense; nil means all.
	applies func(Kind) bool
	run     func(t *testing.T, k Kind)
}

// tests is the suite. Exact tests come first: when a basic guarantee is broken,
// its own test reports it before a storm does.
var tests = []test{
	{"Blocking", Kind.blocks, testBlocking},
	{"Sequence", nil, testSequence},
	{"Context", nil, testContext},
	{"ContextLate", nil, testContextLate},
	{"ContextBreaks", nil, testContextBreaks},
	{"Close", nil, testClose},
	{"CloseParked", nil, testCloseParked},
	{"Discard", Kind.hasDiscard, testDiscard},
	{"Rendezvous", Kind.isRendezvous, testRendezvous},
	{"ServiceOrder", Kind.servesInOrder, testServiceOrder},
	{"Starvation", Kind.servesAll, testStarvation},
	{"StarvedTruth", nil, testStarvedTruth},
	{"Batches", nil, testBatches},
	{"TryBatches", Kind.hasTryBatches, testTryBatches},
	{"Values", nil, testValues},
	{"Drain", Kind.hasDrain, testDrain},
	{"Ready", nil, testReady},
	{"Overflow", Kind.overflows, testOverflow},
	{"Stats", nil, testStats},
	{"Quiescence", nil, testQuiescence},
	{"Elements", nil, testElements},
	{"Flow", nil, testFlow},
	{"ReadyFlow", nil, testReadyFlow},
	{"Oneshot", nil, testOneshot},
	{"Pipelines", Kind.waits, testPipelines},
	{"TryContention", nil, testTryContention},
	{"Barging", Kind.canBeBarged, testBarging},
	{"CloseStorm", nil, testCloseStorm},
	{"CancelStorm", nil, testCancelStorm},
	{"ChaosContext", nil, testChaosContext},
	{"HappensBefore", nil, testHappensBefore},
	{"Bubbles", nil, testBubbles},
	{"Retention", nil, testRetention},
	{"Goroutines", nil, testGoroutines},
	{"Allocations", Kind.promisesNoAllocation, testAllocations},
	{"Memory", Kind.promisesMemory, testMemory},
}

// remotely lists the tests that have a part for remote kinds. The others need a
// bubble, or would count a server's resources in this process.
var remotely = []string{
	"Sequence", "Close", "ReadyFlow", "Elements", "Flow", "Oneshot", "TryContention",
	"CloseStorm", "CancelStorm", "ChaosContext", "HappensBefore",
}

// Run runs every test of the suite that applies to k as a subtest of t. It must
// not run in parallel with other tests: some of its tests count goroutines and
// measure the heap.
func Run(t *testing.T, k Kind) {
	t.Helper()
	if k.Numbers == nil || k.Pointers == nil || k.Strings == nil || k.Empties == nil || k.Giants == nil {
		t.Fatal("sluicetest.Run: every maker of Kind must be set")
	}
	if k.Capacity < 0 || k.MaxBypass < NoBound || k.Lanes < 0 || k.Keeps < 0 {
		t.Fatalf("sluicetest: Run: Capacity is %d, MaxBypass %d, Lanes %d, Keeps %d", k.Capacity, k.MaxBypass, k.Lanes, k.Keeps)
	}
	for _, test := range tests {
		if test.applies != nil && !test.applies(k) || k.Remote && !slices.Contains(remotely, test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			defer watch(t, k.Timeout)()
			test.run(t, k)
		})
	}
}

// fillable is the largest capacity that tests fill completely.
const fillable = 4096

// waits reports whether a send may wait; blocks, whether tests can make it
// wait.
func (k Kind) waits() bool { return k.Overflow == sluice.Block }

func (k Kind) blocks() bool { return k.waits() && k.Capacity <= fillable }

// canBeBarged reports whether waiting senders can be passed over, but not
// forever.
func (k Kind) canBeBarged() bool {
	return k.blocks() && k.servesAll() && !k.OneSender && k.Capacity <= 64
}

func (k Kind) isRendezvous() bool { return k.Capacity == 0 }

func (k Kind) servesInOrder() bool {
	return k.MaxBypass == 0 && (!k.OneSender || !k.OneReceiver)
}

func (k Kind) servesAll() bool { return k.MaxBypass != NoBound }

func (k Kind) drops() bool {
	return k.Overflow == sluice.DropNewest || k.Overflow == sluice.DropOldest
}

// refusesBesideReceives reports whether a TrySend that is not alone may return ErrFull with
// a policy that drops.
func (k Kind) refusesBesideReceives() bool { return k.InFlight && k.Overflow == sluice.DropOldest }

func (k Kind) overflows() bool { return k.Overflow != sluice.Block && k.Capacity <= fillable }

func (k Kind) promisesNoAllocation() bool { return !k.Allocates && !suite.Race }

func (k Kind) promisesMemory() bool { return k.Memory != nil }

func (k Kind) hasTryBatches() bool {
	c := k.Numbers(nil)
	defer c.Close()
	_, ok := c.(tryBatcher)
	return ok
}

func (k Kind) hasDrain() bool {
	c := k.Numbers(nil)
	defer c.Close()
	_, ok := c.(drainer)
	return ok
}

func (k Kind) hasDiscard() bool {
	c := k.Numbers(nil)
	defer c.Close()
	_, ok := c.(discarder)
	return ok
}

// numbers makes a channel of numbers.
func (k Kind) numbers(t *testing.T) Channel[uint64] { return k.dropping(t, nil) }

// dropping makes a channel of numbers that reports each drop to onDrop. It is
// closed at the end of t, so that a failed test leaves no parked goroutine,
// which would be fatal to a bubble.
func (k Kind) dropping(t *testing.T, onDrop func(uint64)) Channel[uint64] {
	if !k.drops() {
		onDrop = nil
	}
	c := k.Numbers(onDrop)
	t.Cleanup(c.Close)
	return c
}

// senders and receivers limit a number of goroutines to what k allows.
func (k Kind) senders(n int) int {
	if k.OneSender {
		return 1
	}
	return n
}

func (k Kind) receivers(n int) int {
	if k.OneReceiver {
		return 1
	}
	return n
}

// quick reports whether the suite takes few rounds.
func (k Kind) quick() bool {
	return testing.Short() || k.Variant && !suite.Long()
}

// rounds returns n, or a tenth of it for a quick run.
func (k Kind) rounds(n int) int {
	if k.quick() {
		return max(1, n/10)
	}
	return n
}

// fewer returns n rounds; for a remote kind, whose rounds take a hundred times
// as long, the number for a quick run.
func (k Kind) fewer(n int) int {
	switch {
	case !k.Remote:
		return n
	case k.quick():
		return max(1, n/10)
	}
	return max(1, n/100)
}

// has reports whether Len of c is n; for a remote kind, it waits until it is.
func (k Kind) has(c interface{ Len() int }, n int) bool {
	for k.Remote && c.Len() != n {
		runtime.Gosched()
	}
	return c.Len() == n
}

// tryRecv calls TryRecv for a value that was sent; for a remote kind, it
// retries until the value is visible.
func tryRecv[T any](k Kind, c Channel[T]) (T, error) {
	for {
		v, err := c.TryRecv()
		if !k.Remote || err != sluice.ErrEmpty {
			return v, err
		}
		runtime.Gosched()
	}
}

// inBothWorlds runs f as two subtests, in a bubble and outside. A bubble
// detects a hang at once; outside, operations wait the way they do in a
// program. A remote kind runs only outside.
func (k Kind) inBothWorlds(t *testing.T, f func(t *testing.T)) {
	if k.Remote {
		t.Run("plain", f)
		return
	}
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, f) })
	if !t.Failed() {
		t.Run("plain", f)
	}
}
