package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestRun: each way delivers each value under each load, except where values are dropped.
func TestRun(t *testing.T) {
	for _, w := range ways {
		for _, l := range loads {
			for _, subscribers := range []int{1, 30} {
				c := cell{l, subscribers}
				f, err := run(w.make(c.wait), c, 500)
				if err != nil || f.delivery <= 0 || f.publish <= 0 || f.share <= 0 || f.share > 1 || f.share < 1 && l.name != "drop" {
					t.Errorf("%s, %s: %+v, %v", w.name, c.name(), f, err)
				}
			}
		}
	}
}

// lossy loses the value that its first inbox receives.
type lossy struct{ way }

type lossyInbox struct{ inbox }

func (l lossy) join() inbox { return lossyInbox{l.way.join()} }

func (i lossyInbox) recv() (value, bool) {
	_, _ = i.inbox.recv()
	return i.inbox.recv()
}

func TestRunCounts(t *testing.T) {
	if _, err := run(lossy{ways[0].make(true)}, cell{loads[0], 1}, 100); err == nil || !strings.Contains(err.Error(), "50 of 100") {
		t.Errorf("lost values: %v", err)
	}
}

func TestMeasure(t *testing.T) {
	s, err := parse([]string{"-cells", "^wait 10$", "-rounds", "2", "-received", "400"})
	if err != nil {
		t.Fatal(err)
	}
	cells := choose(s.Match)
	if len(cells) != 1 || len(choose(regexp.MustCompile(""))) != 16 {
		t.Fatalf("chose %d cells of %d", len(cells), len(choose(regexp.MustCompile(""))))
	}
	l, err := s.measure(cells[0])
	if err != nil {
		t.Fatal(err)
	}
	text := s.markdown("- date: today\n", 2, []line{l})
	if !strings.Contains(text, "GOMAXPROCS=2") || !strings.Contains(text, "\n| wait 10 |") || len(strings.Split(l.String(), "\n")) != len(ways) {
		t.Errorf("%s\n%s", text, l)
	}
}

func TestParse(t *testing.T) {
	for _, wrong := range [][]string{{"x"}, {"-cells", "("}, {"-procs", "0"}, {"-rounds", "0"}, {"-received", "0"}} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
	s, err := parse([]string{"-procs", "1, 2", "-o", "f"})
	if err != nil || len(s.Procs) != 2 || s.Out != "f" || s.Rounds != 3 || s.received != 200_000 {
		t.Errorf("%+v, %v", s, err)
	}
}
