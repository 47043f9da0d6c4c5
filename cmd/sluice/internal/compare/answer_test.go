package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The first line of the text is the answer, in at most 80 columns.
func TestAnswer(t *testing.T) {
	unit := func(header, unit string, v float64, n int) string {
		return run(header, line{"Elastic", unit, around(v, n)})
	}
	wild := []float64{1, 1.2, 3, 8, 15, 30}
	scattered := func(header string, factors ...float64) string {
		var lines []line
		for i, f := range factors {
			l := line{fmt.Sprintf("Elastic/n=%d", i), "ns/op", slices.Clone(wild)}
			for j := range l.values {
				l.values[j] *= f
			}
			lines = append(lines, l)
		}
		return run(header, lines...)
	}
	for _, tt := range []struct{ was, is, want string }{
		{many(header, 37), many(later, 37, 3), "REGRESSION: 1 of 37 points is 3.0 times slower."},
		{many(header, 37), many(later, 37, 1.4, 30), "REGRESSION: 2 of 37 points are slower, the worst by 30 times."},
		{many(header, 37), many(later, 37, 1.4), "REGRESSION: 1 of 37 points is 40% slower."},
		{unit(header, "M/s", 100, 6), unit(later, "M/s", 25, 6), "REGRESSION: 1 of 1 point is 4.0 times slower."},
		{unit(header, "B/op", 100, 6), unit(later, "B/op", 250, 6), "REGRESSION: 1 of 1 point is 2.5 times worse."},
		{unit(header, "allocs/op", 0, 6), unit(later, "allocs/op", 2, 6), "REGRESSION: 1 of 1 point is worse: from 0 to 2.000."},
		{many(header, 37), many(later, 37), "No regression: none of 37 points is slower beyond noise."},
		{many(header, 37), many(later, 37, 0.3), "No regression: none of 37 points is slower beyond noise."},
		{many(header, 37), many(later, 37, 1.03, 1.04), "No regression: 2 of 37 points are slower, but no more than noise or threshold."},
		{unit(header, "ns/op", 100, 3), unit(later, "ns/op", 300, 3), "UNDECIDED: no point has enough repetitions to tell a change from noise."},
		{unit(header, "widgets", 100, 6), unit(later, "widgets", 300, 6), "UNDECIDED: it is unknown for each unit whether more is better."},
		{scattered(header, 1), scattered(later, 3), "UNDECIDED: 1 of 1 point looks 3.0 times slower, but noise may do that."},
		{scattered(header, 1, 1), scattered(later, 3, 2.5), "UNDECIDED: 2 of 2 points look up to 3.0 times slower, but noise may do that."},
		{many(header, 9), many(later, 9, slices.Repeat([]float64{1.3}, 9)...), "UNDECIDED: nearly all points are 30% slower: the code or the machine."},
		{scattered(header, 1, 1.01, 1.3), scattered(later, 1.01, 1, 1.2), "UNDECIDED: too much noise: a point 3 times slower could hide in it."},
	} {
		c := compared(t, tt.was, tt.is, Defaults)
		var b strings.Builder
		if err := c.WriteText(&b, false); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(b.String(), "\n"); got != tt.want || utf8.RuneCountInString(got) > textWidth {
			t.Errorf("the first line is\n%s\nwant\n%s", got, tt.want)
		}
		narrow(t, b.String())
	}
}

// The answer never denies what the summary of a unit counts.
func TestAnswerAgreesWithSummary(t *testing.T) {
	for _, slower := range [][]float64{nil, {1.03}, {1.1, 1.1, 1.1, 1.1, 1.1}, {3}} {
		c := compared(t, many(header, 37), many(later, 37, slower...), Defaults)
		if none, n := strings.Contains(c.answer(), "none of"), c.Units[0].Counts[Worse]; none != (n == 0) {
			t.Errorf("%q, but %q", c.answer(), c.Units[0].sentence(c.Points))
		}
	}
}

// The text names the regressions, and what counts as one in these runs.
func TestListing(t *testing.T) {
	c := compared(t, many(header, 37), many(later, 37, slices.Repeat([]float64{2, 3}, 8)...), Defaults)
	got := c.listing()
	if rows := strings.Count(got, "GOMAXPROCS"); rows != listed || !strings.Contains(got, "… and 6 more") {
		t.Errorf("%d rows:\n%s", rows, got)
	}
	if first, _, _ := strings.Cut(got, ":"); first != "  elastic, n=1, GOMAXPROCS 1, sec/op" {
		t.Errorf("the first row is %q", first)
	}
	if !strings.Contains(got, "100.0n, now 300.0n (3.0 times)") {
		t.Errorf("no figures:\n%s", got)
	}
}

// What a reader can do depends on the outcome.
func TestBasis(t *testing.T) {
	few := func(header string, v float64) string { return run(header, line{"Elastic", "ns/op", around(v, 3)}) }
	widgets := run("experiment:\n", line{"Write", "widgets", around(3, 6)})
	for _, tt := range []struct{ was, is, says string }{
		{many(header, 37), many(later, 37), "in these runs more than 7% for elastic times."},
		{many(header, 37), many(later, 37, 3), "Measuring in turns, as below, confirms it."},
		{few(header, 1), few(later, 3), "Measure at least 4 repetitions of each point, with -count."},
		{many(header, 9), many(later, 9, slices.Repeat([]float64{1.3}, 9)...), "as much as 30% of it is taken as the machine's. Measuring in turns, as below, tells them apart."},
		{many(header, 9), many(later, 9, slices.Repeat([]float64{3}, 9)...), "3.0 times worse; as much as 50% of it is taken as the machine's."},
		{many(header, 9) + widgets, many(later, 9) + widgets, "1 point is not tested: it is unknown whether more of their unit is better (declare it in the file: “Unit widgets better=higher”)."},
	} {
		if got := compared(t, tt.was, tt.is, Defaults).basis(); !strings.Contains(got, tt.says) {
			t.Errorf("the text is %q, want %q", got, tt.says)
		}
	}
}
