package locked

import (
	"math"
	"math/bits"
)

// Turns decide which of several levels is served next: the most urgent one, but a level is
// passed over at most a bounded number of times.
//
// A level waits from begin, or from the last time it was served, while it has something to
// serve. It was passed over as often as other levels were served since. It is due once that
// is maxPassed or more. If levels are due, the one that has waited longest is served, among
// equals the most urgent one; otherwise the most urgent level.
//
// The bound: a level that waits is passed over at most maxPassed + levels - 1 times in a row.
//
//   - Once level i is due, only levels that are due are served before it, which have waited at
//     least as long.
//   - Each of them, when it was served, waits from then on: less long than level i, which is
//     therefore served before it is served again. So each of the other levels - 1 levels is
//     served at most once after level i is due.
//   - Before it was due it was passed over maxPassed times.
//
// So if p values of its level are ahead of it, a value is received after at most
// p + (p+1)*(maxPassed+levels-1) others.
//
// Turns belong to the holder of the engine's lock. So do the times since which the levels wait:
// they are in the levels, beside what else an operation changes.
type turns struct {
	count     uint64 // how often a level was served
	due       uint64 // no level is due before count is that
	maxPassed uint64
}

// Never as maxPassed means that no level is ever due.
const Never = math.MaxUint64 / 2

// begin records that a level, which had nothing to serve, now has. since is the value of count
// when it began to wait.
func (t *turns) begin(since *uint64) {
	*since = t.count
	t.due = min(t.due, t.count+t.maxPassed)
}

// next returns the level of the set to serve. The set is not empty, and contains each level
// that waits.
func (t *turns) next(set uint64, since func(level int) uint64) int {
	if t.count >= t.due {
		if i := t.overdue(set, since); i >= 0 {
			return i
		}
	}
	return bits.TrailingZeros64(set)
}

// overdue returns the level that is due and has waited longest, or -1. It finds when the
// next one is due.
func (t *turns) overdue(set uint64, since func(level int) uint64) int {
	longest, waits := -1, uint64(0)
	t.due = Never
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		began := since(i)
		due := began + t.maxPassed
		t.due = min(t.due, due)
		if due <= t.count && (longest < 0 || began < waits) {
			longest, waits = i, began
		}
	}
	return longest
}

// served records that a level was served. If it has more, it waits from now on.
func (t *turns) served(since *uint64) {
	t.count++
	t.begin(since)
}
