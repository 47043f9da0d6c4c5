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
		"not fresh either":     "F;T 1 2 3;R 3;R 2;R 1",
		"after 2":              "F;T 1 2;restart;R 2;R 1",
		"process failed":       "E full",
		"after it was dropped": "T 1;S 1;D 1;R 1",
		"dropped twice":        "T 1;D 1;D 1",
		"dropped and received": "T 1;R 1;D 1",
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
	for _, line := range strings.Split("F;T 1 2 3 4 5;R 4;R 1;R 5;R 2;R 3", ";") { // the backlog beside what is fresh
		if err := l.Enter(line); err != nil {
			t.Fatal(err)
		}
	}
	l = NewLedger()
	l.Restart()
	for _, line := range strings.Split("T 1 2 3 4;S 1 2 3;R 1;B 1", ";") {
		if err := l.Enter(line); err != nil {
			t.Fatal(err)
		}
	}
	lost := l.lost(map[uint64]bool{2: true})
	if len(lost) != 1 || lost[0] != 3 {
		t.Errorf("records %v are reported as lost, want 3", lost)
	}
	left := map[uint64]bool{2: true}
	for says, err := range map[string]error{
		"1 records are missing": l.allow(lost, left, 0),
		"2 is left":             l.allow(lost, left, 1),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	l.head = []uint64{2} // it may have been received
	if err := l.allow(lost, map[uint64]bool{2: true, 4: true}, 1); err != nil || l.Dropped() != 1 || len(l.lost(left)) != 0 {
		t.Errorf("a record that a send in progress has dropped: %v", err)
	}
}
