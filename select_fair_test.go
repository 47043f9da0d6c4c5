package sluice_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
)

// TestSelectIsFair: each case that can proceed is chosen equally often, whatever its
// position among the others.
func TestSelectIsFair(t *testing.T) {
	const n = 40_000
	for _, ready := range []string{"1111", "1", "11", "0101", "1100", "10000001", "011010", "111111111111", "100000000011"} {
		times := make([]int, len(ready))
		cases := make([]sluice.Case, len(ready))
		for i := range ready {
			c := sluice.NewBounded[int](1+19*(i%2), nil) // both engines
			if ready[i] == '1' {
				c.Close()
			}
			cases[i] = sluice.OnRecv[int](c)
		}
		for range n {
			chosen, _ := sluice.Select(unusedContext{}, cases...)
			for i, c := range cases {
				if c == chosen {
					times[i]++
				}
			}
		}
		// Six standard deviations are less than a tenth here.
		want := n / strings.Count(ready, "1")
		for i := range ready {
			if got := times[i]; ready[i] == '1' && (got < want-want/10 || got > want+want/10) || ready[i] == '0' && got != 0 {
				t.Errorf("%s: chosen %v times", ready, times)
				break
			}
		}
	}
}

// TestSelectIsFairAmongMany: among many cases each one that can proceed is equally
// likely.
func TestSelectIsFairAmongMany(t *testing.T) {
	const n = 100_000
	cases := make([]sluice.Case, 128)
	for i := range cases {
		c := sluice.NewBounded[int](20, nil)
		if i == 94 || i == 78 {
			c.Close()
		}
		cases[i] = sluice.OnRecv[int](c)
	}
	first := 0
	for range n {
		if chosen, _ := sluice.Select(context.Background(), cases...); chosen == cases[94] {
			first++
		}
	}
	if first < n/2-n/50 || first > n/2+n/50 {
		t.Errorf("two cases can proceed: one was chosen %d of %d times", first, n)
	}
}
