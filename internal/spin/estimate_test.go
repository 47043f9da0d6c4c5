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
	for range most + 1 {
		b.Record(false)
	}
	if n := tries(); n < 500 || n > 1500 {
		t.Errorf("after failures %d of %d waits spin, want about 1000", n, waits)
	}
}

// TestYieldsAdapt: yields are allowed at first and while more than three of four pay. When
// they do not, about one in 64 is allowed, until one pays.
func TestYieldsAdapt(t *testing.T) {
	const waits = 1000 * probe
	var y Yields
	allowed := func() (n int) {
		for range waits {
			if y.Allow() {
				n++
			}
		}
		return n
	}
	if n := allowed(); n != waits {
		t.Errorf("at first %d of %d waits yield, want all", n, waits)
	}
	for i := range 1000 {
		y.Record(i%5 > 0)
	}
	if n := allowed(); n != waits {
		t.Errorf("while four of five pay %d of %d waits yield, want all", n, waits)
	}
	for i := range 1000 {
		y.Record(i%3 > 0)
	}
	y.Record(false)
	if n := allowed(); n < 500 || n > 1500 { // 1000, with a standard deviation of 31
		t.Errorf("while two of three pay %d of %d waits yield, want about 1000", n, waits)
	}
	y.Record(true)
	if n := allowed(); n != waits {
		t.Errorf("when one has paid %d of %d waits yield, want all", n, waits)
	}
}
