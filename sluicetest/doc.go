// Package sluicetest is the conformance suite of sluice: whatever calls itself
// a channel in the sense of that package, one of its kinds or one of yours, can
// be run against it.
//
//	func TestOwnKind(t *testing.T) {
//		const capacity = 8
//		sluicetest.Run(t, sluicetest.Kind{
//			Capacity: capacity,
//			Numbers:  func(func(uint64)) sluicetest.Channel[uint64] { return newMetered[uint64](capacity) },
//			Pointers: func() sluicetest.Channel[*sluicetest.Parcel] { return newMetered[*sluicetest.Parcel](capacity) },
//			Strings:  func() sluicetest.Channel[string] { return newMetered[string](capacity) },
//			Empties:  func() sluicetest.Channel[struct{}] { return newMetered[struct{}](capacity) },
//			Giants:   func() sluicetest.Channel[sluicetest.Giant] { return newMetered[sluicetest.Giant](capacity) },
//		})
//	}
//
// # How it finds faults
//
// Four ideas do most of the work:
//
//   - Accounting. Every value is numbered. A send that returned nil is received
//     exactly once or still counted by Len; one that failed is never seen.
//   - Quiescence. In a testing/synctest bubble, after each random step, nobody
//     may be parked whose operation could proceed. There are no timeouts: a lost
//     wake-up is seen at the step that lost it.
//   - Chaos contexts, whose Done and Err yield the processor, just between
//     'cannot proceed' and 'parked'.
//   - Retention by weak pointers: what was received, refused, or dropped must not
//     be kept alive by the channel.
//
// No verdict depends on time. A watchdog of two minutes turns a hang outside a
// bubble into a failure with the stacks of all goroutines. With -short there are
// fewer rounds of the same tests.
//
// The suite itself is tested by mutants: a correct channel with one fault each
// (package internal/mutant) must fail, and the same channel without a fault must
// pass. CHECKLIST.md says which case of Go's own channel tests, and of crossbeam's,
// is covered by which test here.
package sluicetest
