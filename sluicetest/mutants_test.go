package sluicetest_test

import "github.com/sluice-go/sluice/sluicetest/internal/mutant"

// A mutantRow lists, for a fault and the kind in which it shows, the tests that
// must catch it and a pattern for their messages.
type mutantRow struct {
	fault    mutant.Fault
	kind     string // subtest of TestReference
	caughtBy []string
	says     string // regular expression
}

// hang is the message of a bubble in which a goroutine waits forever.
const hang = "panic: deadlock: "

var mutants = []mutantRow{
	// A lost wake-up.
	{mutant.MissedSender, "Block 2", []string{"Quiescence"}, `parked with [01] of 2 queued`},
	{mutant.MissedSender, "Block 2", []string{"ServiceOrder"}, `took the room that a parked sender was waiting for`},
	{mutant.MissedSender, "Block 2", []string{"Starvation"}, `others took their room`},
	{mutant.MissedReceiver, "Block 2", []string{"Quiescence"}, `parked with \d+`},
	{mutant.MissedReceiver, "Block 2", []string{"Oneshot", "Pipelines"}, hang},
	{mutant.MissedReady, "Block 2", []string{"Ready"}, `a select on Ready with values queued still waits`},
	{mutant.MissedReady, "Block 0", []string{"ReadyFlow"}, hang},
	{mutant.ForgetsRest, "Block 64", []string{"Ready"}, `Ready of a channel with a value queued is not readable`},
	{mutant.OneWake, "Block 64", []string{"Quiescence"}, `parked with \d+`},
	{mutant.CloseWakesOne, "Block 2", []string{"CloseParked"}, `a receive that Close released still waits`},
	{mutant.CloseWakesOne, "Block 2", []string{"CloseStorm"}, hang},

	// A canceled operation takes effect, or an operation is skipped.
	{mutant.Ghost, "Block 2", []string{"Quiescence"}, `seed \d+`},
	{mutant.Ghost, "Block 2", []string{"Context"}, `TryRecv`},
	{mutant.Ghost, "Block 2", []string{"CancelStorm", "ChaosContext"}, `it had already been received or dropped`},
	{mutant.CancelWins, "Block 2", []string{"Quiescence"}, `seed \d+`},
	{mutant.CancelWins, "Block 2", []string{"CancelStorm", "ChaosContext"}, `had already been|are lost|after its value|` + hang},
	{mutant.ContextFirst, "Block 2", []string{"Context"}, `want it to proceed`},
	{mutant.AsksInLine, "Block 2", []string{"ContextBreaks"}, `sWaiting is 1, want 0`},
	{mutant.NilError, "Block 2", []string{"Context"}, `returns no error returned <nil>`},
	{mutant.ContextFirst, "Block 2", []string{"ContextLate"}, `with room before the context was done`},
	{mutant.ContextFirst, "Block 2", []string{"Quiescence"}, `it could have proceeded`},

	// The wrong value, the wrong goroutine, the wrong moment.
	{mutant.LIFO, "Block 2", []string{"Sequence"}, `not in the order of sending`},
	{mutant.LIFO, "Block 64", []string{"Quiescence"}, `came out before|out of order`},
	{mutant.LIFO, "Block 64", []string{"Barging"}, `came out before`},
	{mutant.LIFO, "Block 64", []string{"Flow"}, `after its value`},
	{mutant.LastComeFirst, "Block 2", []string{"ServiceOrder"}, `the receiver that waited longest still waits`},
	{mutant.LastComeFirst, "Block 2", []string{"Quiescence"}, `was served before`},
	{mutant.BatchHog, "Block 2", []string{"Starvation"}, `a sender behind a batch of \d+ still waits`},
	{mutant.ExtraSlot, "Block 2", []string{"Blocking"}, `TrySend to a full channel`},
	{mutant.ExtraSlot, "Block 2", []string{"Quiescence"}, `seed \d+`},
	{mutant.ExtraSlot, "Block 2", []string{"Stats"}, `capacity 2|with senders parked`},
	{mutant.ExtraSlot, "Block 0", []string{"Rendezvous"}, `want it to wait`},
	{mutant.EarlyReturn, "Block 0", []string{"Rendezvous"}, `want it to wait`},
	{mutant.EarlyReturn, "Block 2", []string{"HappensBefore"}, `ended before receive|completed`},
	{mutant.BatchMiscount, "Block 2", []string{"Batches"}, `SendBatch into room for 2`},
	{mutant.BatchMiscount, "Block 2", []string{"Quiescence"}, `seed \d+`},
	{mutant.Prefetch, "Block 64", []string{"Values"}, `the loop and its successor saw`},
	{mutant.SilentEnd, "Block 2", []string{"Values"}, `Err of a canceled loop is <nil>`},
	{mutant.TryBatchOpen, "Block 2", []string{"TryBatches"}, `TryRecvBatch of a closed and drained channel`},
	{mutant.TryBatchShort, "Block 64", []string{"TryBatches"}, `TryRecvBatch into \d+ with \d+ queued`},
	{mutant.DrainPrefetch, "Block 64", []string{"Drain"}, `Drain with 5 values queued yields \[0 2 4\]`},
	{mutant.DrainChases, "Block 64", []string{"Drain"}, `values queued yields`},

	// Close.
	{mutant.DropOnClose, "Block 2", []string{"Close"}, `Len is 0 after Close with 1 queued`},
	{mutant.DropOnClose, "Block 64", []string{"CloseStorm"}, `sent before Close`},
	{mutant.DropOnClose, "Block 64", []string{"Quiescence"}, `seed \d+`},
	{mutant.DoubleClose, "Block 2", []string{"Close"}, `close of closed channel`},
	{mutant.DiscardOpen, "Block 2", []string{"Discard"}, `after Close: <nil>`},
	{mutant.DiscardLess, "Block 64", []string{"Discard"}, `Discard with 1 queued returned 0`},
	{mutant.DiscardTold, "Block 2", []string{"Discard"}, `Discard of a full channel with senders parked returned 3`},

	// Memory and goroutines.
	{mutant.Uncleared, "Block 64", []string{"Retention"}, `values are kept alive`},
	{mutant.KeptByWaiter, "Block 2", []string{"Retention"}, `values are kept alive`},
	{mutant.LeakedHelper, "Block 2", []string{"Goroutines"}, `\d+ goroutines, \d+ before`},
	{mutant.LeakedWaiter, "Block 2", []string{"Goroutines"}, `\d+ goroutines, \d+ before`},
	{mutant.Hoarder, "Block 1073741824", []string{"Memory"}, `are held after a drain`},
	{mutant.Overgrown, "Block 1073741824", []string{"Memory"}, `at the peak while filling`},
	{mutant.HeavyIdle, "Block 1073741824", []string{"Memory"}, `an idle channel holds`},
	{mutant.SharedWaiters, "Block 2", []string{"Bubbles"}, `synctest`},

	// Len, Stats and OnUndelivered.
	{mutant.LyingLen, "Block 2", []string{"Stats"}, `with senders parked`},
	{mutant.LyingLen, "Block 2", []string{"Quiescence"}, `seed \d+`},
	{mutant.Timeless, "Block 2", []string{"Stats"}, `WaitTime is 0s`},
	{mutant.AgeRemains, "Block 2", []string{"Stats"}, `OldestReceiver is .* when the last waiter was served`},
	{mutant.AgeReused, "Block 2", []string{"Stats"}, `OldestReceiver is 1h3m0s when the second of two waits`},
	{mutant.AgeOfLast, "Block 2", []string{"Stats"}, `OldestSender is 1m0s when two wait`},
	{mutant.AgeStops, "Block 2", []string{"Stats"}, `OldestSender is 1s when one waits`},
	{mutant.Uncounted, "Block 2", []string{"Stats"}, `after sends without room: Stats: got`},
	{mutant.LateCount, "Block 2", []string{"Stats"}, `Stats are inconsistent`},
	{mutant.DropTwice, "DropOldest 2", []string{"Overflow"}, `OnUndelivered saw`},
	{mutant.DropTwice, "DropOldest 2", []string{"Quiescence"}, `seed \d+`},
	{mutant.DropLocked, "DropOldest 2", []string{"Overflow"}, `hangs`},
}

// unracedMutants are visible only without the race detector, which allocates
// itself; racedMutants only with it.
var (
	unracedMutants = []mutantRow{
		{mutant.Allocates, "Block 2", []string{"Allocations"}, `a round trip allocates`},
	}
	racedMutants = []mutantRow{
		{mutant.UnlockedLen, "Block 2", []string{"Stats"}, `DATA RACE`},
	}
)
