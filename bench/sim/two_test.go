package sim

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTwoCores: on two cores the chain engine takes at most three times as long as
// measured, without a fit.
func TestTwoCores(t *testing.T) {
	f, err := os.Open("../RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := ReadResults(f)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := PrintTwoCores(&out, rows); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(out.String()) {
		_, figures, _ := strings.Cut(line, " ours ")
		var simulated, measured float64
		if _, err := fmt.Sscanf(figures, "%f for %f", &simulated, &measured); err != nil || strings.Contains(line, "Rendezvous") || strings.Contains(line, "Bounded 1 ") {
			continue
		}
		if checked++; simulated > 3*measured || measured > 3*simulated {
			t.Errorf("wrong by more than 3: %s", line)
		}
	}
	if checked != 4 {
		t.Errorf("%d rows compared, want 4:\n%s", checked, out.String())
	}
	delete(rows, twoCores[0].row)
	if err := PrintTwoCores(&out, rows); err == nil {
		t.Error("no error for a missing row")
	}
}

func TestReadResults(t *testing.T) {
	table := "## GOMAXPROCS=1\n| a | native | 1.00 | - | 1 | 1-1 | 9.0 | 9.0 | 9 | pass |\n" +
		"## GOMAXPROCS=2\n| a | native | 1.00 | - | 2 | 1-3 | 40.0 | 20.0 | 45 | pass |\n| b | native | 1.00 | - | 2 | 1-3 | 40.0 | 20.0 | - | pass |\n"
	rows, err := ReadResults(strings.NewReader(table))
	if err != nil || len(rows) != 1 || rows["a"] != (Measured{40, 20, 45}) {
		t.Errorf("%v: %v", rows, err)
	}
	if _, err := ReadResults(strings.NewReader("# Nothing\n")); err == nil {
		t.Error("no error without rows")
	}
}
