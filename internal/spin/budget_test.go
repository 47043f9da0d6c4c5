package spin

import "testing"

func TestBudgetAdapts(t *testing.T) {
	var b Budget
	tries := func() (n int) {
		for range 10 * probe {
			if b.Allows() {
				n++
			}
		}
		return n
	}
	if n := tries(); n != 10 {
		t.Errorf("without credit %d of %d waits spin, want 10", n, 10*probe)
	}
	b.Record(true)
	if n := tries(); n != 10*probe {
		t.Errorf("after a success %d of %d waits spin, want all", n, 10*probe)
	}
	for range 100 {
		b.Record(true)
	}
	for range maxCredit + 1 {
		b.Record(false)
	}
	if n := tries(); n != 10 {
		t.Errorf("after failures %d of %d waits spin, want 10", n, 10*probe)
	}
}
