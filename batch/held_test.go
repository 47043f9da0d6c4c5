package batch

import "testing"

// TestAmount: the sums of sizes stay within 64 bits.
func TestAmount(t *testing.T) {
	const largest = 1<<63 - 1 // as a limit
	limit := amount{10, largest}
	for _, test := range []struct {
		a    amount
		size uint64
		want bool
	}{
		{amount{0, 0}, largest, true},
		{amount{9, largest - 1}, 1, true},
		{amount{10, 0}, 0, false},
		{amount{1, largest}, 1, false},
		{amount{1, 2 * largest}, largest, false},
	} {
		if got := test.a.leaves(limit, test.size); got != test.want {
			t.Errorf("%v leaves room for %d: %v", test.a, test.size, got)
		}
	}
	if d := limit.doubled(); d != (amount{20, 2 * largest}) {
		t.Errorf("doubled: %v", d)
	}
	if d := (amount{5, 1<<64 - 1}).doubled(); d != (amount{10, 1<<64 - 1}) {
		t.Errorf("doubled without a limit in bytes: %v", d)
	}
}
