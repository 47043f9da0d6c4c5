// Package sluicetest is the conformance suite for channels: it tests the kinds
// of package sluice and any other type with the same methods.
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
// # How the suite finds faults
//
// Four techniques do most of the work:
//
//   - Accounting. Every value is numbered. A value whose send returned nil is received
//     exactly once or counted by Len; a value whose send failed is never received.
//   - Quiescence. In a testing/synctest bubble, after each random step, no goroutine
//     may be parked if its operation could proceed. This needs no timeouts: a lost
//     wake-up is detected at the step that lost it.
//   - Chaos contexts. Their Done and Err methods yield the processor between the
//     check that an operation cannot proceed and the park.
//   - Weak pointers. The channel must not keep a value alive after it was received,
//     refused or dropped.
//
// No verdict depends on timing. A watchdog of two minutes turns a hang outside
// a bubble into a failure with the stacks of all goroutines. With -short, the
// same tests run fewer rounds, and for a Kind with Variant too; with
// SLUICE_TEST=long in the environment, variants run in full.
//
// The suite itself is tested with mutants: a correct channel with a single
// planted fault (package internal/mutant) must fail, and the same channel
// without a fault must pass. CHECKLIST.md maps the cases of Go's own channel
// tests, and of crossbeam's, to the tests here.
package sluicetest
