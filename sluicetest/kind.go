package sluicetest

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// A Channel is what the suite can test: all that the kinds of sluice do.
type Channel[T any] interface {
	sluice.Chan[T]
	All(ctx context.Context) iter.Seq[T]
}

// A Kind describes the kind of channel under test: what it promises, and how to
// make one. Its zero properties are those of a rendezvous under the policy
// Block, with strict order of service.
type Kind struct {
	// Capacity is the most values that can be queued: 0 for a rendezvous.
	Capacity int
	// Order is the order in which values come out.
	Order Order
	// Lanes is over how many queues the values may spread; 0 stands for 1. What
	// Stats calls HighWater is that of the fullest.
	Lanes int
	// Overflow is the policy with which the makers below make channels.
	Overflow sluice.Overflow
	// OneSender and OneReceiver say that at no time two goroutines may send,
	// or receive. The suite keeps to it.
	OneSender, OneReceiver bool
	// PassedOver is how many operations that came later may be served before
	// a parked one. 0 promises that parked goroutines are served in the order
	// in which they parked, and before whoever comes by; NoBound, nothing.
	PassedOver int
	// Allocates says that operations allocate. Those of a channel of this
	// library do not, in steady state.
	Allocates bool
	// Remote says that values leave the process, for a server perhaps: what an
	// operation waits for can be nothing that the process sees. So no test of such a
	// kind runs in a bubble, only those of remotely do, with fewer rounds; what may
	// lag behind is waited for, such as Len and the sight of a value sent; and a send
	// always waits, so that none is expected to succeed under a context that is done.
	Remote bool
	// Memory, if set, is what the kind promises about its use of memory.
	Memory *Memory

	// Patience is how long one test of the suite may take before it counts as
	// hung, which ends the process. 0 stands for two minutes.
	Patience time.Duration

	// The makers return a new, empty channel. All are required: the size and
	// the pointers of a type make a difference to a channel. Numbers is given
	// the function to call with each dropped value; it is nil for the
	// policies that drop nothing.
	Numbers  func(onDrop func(uint64)) Channel[uint64]
	Pointers func() Channel[*Parcel]
	Strings  func() Channel[string]
	Empties  func() Channel[struct{}]
	Giants   func() Channel[Giant]
}

// NoBound as Kind.PassedOver says that a parked operation may wait for ever.
const NoBound = -1

// An Order is how much of the order of sending survives.
type Order uint8

const (
	// FIFO: values come out in the order in which they were sent.
	FIFO Order = iota
	// PerSender: values of one goroutine come out in the order in which it
	// sent them; those of several mix.
	PerSender
	// AnyOrder: no order at all.
	AnyOrder
)

// A Parcel is an element with a pointer in it, too large for the allocator to
// share its memory with another: when it is collected can be observed.
type Parcel struct {
	ID   uint64
	Next *Parcel
	_    [6]uint64
}

// A Giant is an element that is costly to copy.
type Giant = [1 << 16]byte

// Memory is what a kind promises about memory, in bytes of live heap.
type Memory struct {
	// Idle is the most that an empty channel holds that was never used.
	Idle float64
	// Queued is the most held for each value when a million uint64 are queued,
	// and QueuedPeak the most for each at any moment while they are sent. 0
	// promises nothing.
	Queued, QueuedPeak float64
	// Drained is the most that is left after many were queued and received. 0
	// promises nothing.
	Drained float64
}

// A test is one sub-test of the suite.
type test struct {
	name string
	// applies says for which kinds there is something to test; nil: for all.
	applies func(Kind) bool
	run     func(t *testing.T, k Kind)
}

// tests is the suite. Those that are exact come first: when a basic promise is
// broken, its own test says so before a storm does.
var tests = []test{
	{"Blocking", Kind.blocks, testBlocking},
	{"Sequence", nil, testSequence},
	{"Context", nil, testContext},
	{"ContextLate", nil, testContextLate},
	{"ContextBreaks", nil, testContextBreaks},
	{"Close", nil, testClose},
	{"CloseParked", nil, testCloseParked},
	{"Rendezvous", Kind.isRendezvous, testRendezvous},
	{"ServiceOrder", Kind.servesInOrder, testServiceOrder},
	{"Starvation", Kind.servesAll, testStarvation},
	{"StarvedTruth", nil, testStarvedTruth},
	{"Batches", nil, testBatches},
	{"All", nil, testAll},
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

// remotely are the tests that have a part to which a remote kind can be held. The
// others need a bubble, or count what of a server is in this process too.
var remotely = []string{
	"Sequence", "Close", "ReadyFlow", "Elements", "Flow", "Oneshot", "TryContention",
	"CloseStorm", "CancelStorm", "ChaosContext", "HappensBefore",
}

// Run runs the suite against k, each test of it as a sub-test of t. Tests of
// promises that k does not make are left out. It must not run in parallel with
// other tests: some of its tests count goroutines and measure the heap.
func Run(t *testing.T, k Kind) {
	t.Helper()
	if k.Numbers == nil || k.Pointers == nil || k.Strings == nil || k.Empties == nil || k.Giants == nil {
		t.Fatal("sluicetest: Run: every maker of Kind must be set")
	}
	if k.Capacity < 0 || k.PassedOver < NoBound || k.Lanes < 0 {
		t.Fatalf("sluicetest: Run: Capacity is %d, PassedOver %d, Lanes %d", k.Capacity, k.PassedOver, k.Lanes)
	}
	for _, test := range tests {
		if test.applies != nil && !test.applies(k) || k.Remote && !slices.Contains(remotely, test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			defer watch(t, k.Patience)()
			test.run(t, k)
		})
	}
}

// fillable is the largest capacity that tests fill to its end.
const fillable = 4096

// waits tells whether a send may wait, and blocks whether tests can make it.
func (k Kind) waits() bool { return k.Overflow == sluice.Block }

func (k Kind) blocks() bool { return k.waits() && k.Capacity <= fillable }

// canBeBarged tells whether senders that wait can be overtaken, but not for ever.
func (k Kind) canBeBarged() bool {
	return k.blocks() && k.servesAll() && !k.OneSender && k.Capacity <= 64
}

func (k Kind) isRendezvous() bool { return k.Capacity == 0 }

func (k Kind) servesInOrder() bool {
	return k.PassedOver == 0 && (!k.OneSender || !k.OneReceiver)
}

func (k Kind) servesAll() bool { return k.PassedOver != NoBound }

func (k Kind) drops() bool {
	return k.Overflow == sluice.DropNewest || k.Overflow == sluice.DropOldest
}

func (k Kind) overflows() bool { return k.Overflow != sluice.Block && k.Capacity <= fillable }

func (k Kind) promisesNoAllocation() bool { return !k.Allocates && !raceEnabled }

func (k Kind) promisesMemory() bool { return k.Memory != nil }

// numbers makes a channel of numbers that reports no drops.
func (k Kind) numbers(t *testing.T) Channel[uint64] { return k.dropping(t, nil) }

// dropping makes a channel of numbers that reports each drop to onDrop. It is
// closed at the end of t, so that a test that failed leaves nobody parked: that
// would be fatal to a bubble.
func (k Kind) dropping(t *testing.T, onDrop func(uint64)) Channel[uint64] {
	if !k.drops() {
		onDrop = nil
	}
	c := k.Numbers(onDrop)
	t.Cleanup(c.Close)
	return c
}

// senders and receivers cap a wanted number of goroutines at what k allows.
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

// rounds is n, or a tenth of it with -short.
func rounds(n int) int {
	if testing.Short() {
		return max(1, n/10)
	}
	return n
}

// fewer is n, a number of rounds; of a remote kind, for which one takes a hundred times
// as long, as few as with -short.
func (k Kind) fewer(n int) int {
	switch {
	case !k.Remote:
		return n
	case testing.Short():
		return max(1, n/10)
	}
	return max(1, n/100)
}

// has tells whether Len of c is n; of a remote kind, it waits until it is.
func (k Kind) has(c interface{ Len() int }, n int) bool {
	for k.Remote && c.Len() != n {
		runtime.Gosched()
	}
	return c.Len() == n
}

// tryRecv is TryRecv of a value that was sent; of a remote kind, once it is seen.
func tryRecv[T any](k Kind, c Channel[T]) (T, error) {
	for {
		v, err := c.TryRecv()
		if !k.Remote || err != sluice.ErrEmpty {
			return v, err
		}
		runtime.Gosched()
	}
}

// inBothWorlds runs f as two sub-tests, in a bubble and outside. A goroutine
// that hangs is seen at once in a bubble; outside, waiting is what users get. A
// remote kind is there only.
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
