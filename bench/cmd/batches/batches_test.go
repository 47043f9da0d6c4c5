package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMovers: each way delivers each value, whatever is left for the last batch.
func TestMovers(t *testing.T) {
	for _, w := range allWays() {
		for _, l := range []load{{1000, 16, 1, 1}, {1004, 64, 4, 1}, {1004, 512, 4, 4}, {4, 16, 4, 4}} {
			for name, move := range map[string]mover{"new": w.fresh, "pool": w.pooled, "SendBatch": w.copied, "Sender": w.batches, "SendSlice": w.lent} {
				if n := move(l); n != uint64(l.values) {
					t.Errorf("%d bytes, pointers %v, %s, %+v: %d values arrived", w.size, w.pointers, name, l, n)
				}
			}
		}
	}
}

func TestMeasure(t *testing.T) {
	s, err := parse([]string{"-cells", `^64\* 4->1 512`, "-rounds", "2", "-time", "1ms"})
	if err != nil {
		t.Fatal(err)
	}
	cells := choose(s.Match)
	if len(cells) != 1 || len(choose(regexp.MustCompile(""))) != 54 {
		t.Fatalf("chose %d cells of %d", len(cells), len(choose(regexp.MustCompile(""))))
	}
	l, err := s.measure(cells[0])
	if err != nil || l.values < 4096 || l.values%l.senders != 0 {
		t.Fatalf("%d values: %v", l.values, err)
	}
	if f := l.figures[fresh]; f.bytes < 60 || l.figures[copied].ns <= 0 || l.poolToBatches <= 0 {
		t.Errorf("%+v", l)
	}
	text := s.markdown("- date: today\n", 2, []line{l})
	if !strings.Contains(text, "GOMAXPROCS=2") || !strings.Contains(text, `| 64\* 4->1 512 |`) {
		t.Error(text)
	}
	lost := func(l load) uint64 { return uint64(l.values) - 1 }
	if _, err := once(lost, load{values: 5}); err == nil || !strings.Contains(err.Error(), "4 of 5") {
		t.Errorf("a lost value: %v", err)
	}
}

func TestMedian(t *testing.T) {
	same := func(f float64) float64 { return f }
	if median([]float64{3, 1, 2}, same) != 2 || median([]float64{4, 1, 2, 3}, same) != 2.5 {
		t.Error("median is wrong")
	}
	if r := ratio([]figure{{ns: 2}, {ns: 9}, {ns: 4}}, []figure{{ns: 1}, {ns: 3}, {ns: 4}}); r != 2 {
		t.Errorf("ratio %v", r)
	}
}

func TestParse(t *testing.T) {
	for _, wrong := range [][]string{{"x"}, {"-cells", "("}, {"-procs", "0"}, {"-rounds", "0"}, {"-time", "0s"}} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
	s, err := parse([]string{"-procs", "1, 2", "-o", "f"})
	if err != nil || len(s.Procs) != 2 || s.Out != "f" || s.Rounds != 5 || s.run != 10*time.Millisecond {
		t.Errorf("%+v, %v", s, err)
	}
}
