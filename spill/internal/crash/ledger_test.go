package crash

import (
	"strings"
	"testing"
)

// TestLedgerSees: the ledger detects each violation of a guarantee.
func TestLedgerSees(t *testing.T) {
	for says, lines := range map[string]string{
		"never sent":           "R 1",
		"came back":            "T 1;S 1;R 1;B 1;A 1;restart;R 1",
		"twice by one process": "T 1;R 1;R 1",
		"after":                "T 1 2;R 2;R 1",
		"process failed":       "E full",
	} {
		l := NewLedger()
		l.Restart()
		var err error
		for _, line := range strings.Split(lines, ";") {
			if line == "restart" {
				l.Restart()
			} else if err == nil {
				err = l.Enter(line)
			}
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", lines, err, says)
		}
	}
	l := NewLedger()
	l.Restart()
	for _, line := range strings.Split("T 1 2 3 4;S 1 2 3;R 1;B 1", ";") {
		if err := l.Enter(line); err != nil {
			t.Fatal(err)
		}
	}
	if lost := l.lost(map[uint64]bool{2: true}); lost != 1 {
		t.Errorf("%d records are reported as lost, want 1", lost)
	}
}
