package spin

import "testing"

func TestBudgetAdapts(t *testing.T) {
	const waits = 1000 * probe
	var b Budget
	tries := func() (n int) {
		for range waits {
			if b.Allows() {
				n++
			}
		}
		return n
	}
	if n := tries(); n < 500 || n > 1500 { // 1000, with a standard deviation of 31
		t.Errorf("without credit %d of %d waits spin, want about 1000", n, waits)
	}
	b.Record(true)
	if n := tries(); n != waits {
		t.Errorf("after a success %d of %d waits spin, want all", n, waits)
	}
	for range 100 {
		b.Record(true)
	}
	for range maxCredit + 1 {
		b.Record(false)
	}
	if n := tries(); n < 500 || n > 1500 {
		t.Errorf("after failures %d of %d waits spin, want about 1000", n, waits)
	}
}
