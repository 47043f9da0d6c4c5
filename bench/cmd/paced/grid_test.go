package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/results"
)

func TestWholeGrid(t *testing.T) {
	loads := wholeGrid()
	rates, jobs, ends, groups := map[float64]bool{}, map[time.Duration]bool{}, map[string]bool{}, map[int]bool{}
	for _, l := range loads {
		rates[l.load.Rate], jobs[l.load.Job], ends[l.load.Shape()], groups[l.load.Group] = true, true, true, true
		if l.load.Rate*l.load.Job.Seconds() > 0.5 {
			t.Errorf("a receiver cannot do %+v", l.load)
		}
	}
	if len(rates) != 4 || len(jobs) != 3 || len(ends) != 4 || len(groups) != 2 || len(loads) != 68 {
		t.Errorf("%d loads: %d rates, %d jobs, %d ends, %d groups", len(loads), len(rates), len(jobs), len(ends), len(groups))
	}
}

// TestGridLoads: the grid has each two values of different dimensions that the whole grid
// has, and each value alone.
func TestGridLoads(t *testing.T) {
	type value struct {
		dimension string
		value     any
	}
	pairs := func(loads []tableLoad) map[[2]value]bool {
		all := map[[2]value]bool{}
		for _, tl := range loads {
			l := tl.load
			values := []value{{"rate", l.Rate}, {"ends", l.Shape()}, {"burst", l.Group}, {"job", l.Job}}
			for i, one := range values {
				for _, two := range values[i+1:] {
					all[[2]value{one, two}] = true
				}
			}
		}
		return all
	}
	loads := gridLoads()
	few := pairs(loads)
	for pair := range pairs(wholeGrid()) {
		if !few[pair] {
			t.Errorf("no load has %v", pair)
		}
	}
	alone := 0
	for _, l := range loads {
		if differences(l.load) == 1 {
			alone++
		}
	}
	if len(loads) != 35 || alone != 9 {
		t.Errorf("%d loads, %d of them with one difference, want 35 and 9", len(loads), alone)
	}
}

// TestWholeBursts: a short run has a whole burst for each sender.
func TestWholeBursts(t *testing.T) {
	s := quick(t, "-time", "1ms")
	l := bursty(1_000)
	if l, err := s.lasting(l, leastOfTable); err != nil || l.Values != 8*64 {
		t.Errorf("%d values, want %d: %v", l.Values, 8*64, err)
	}
}

// gridCells returns a cell that is complete with one round, and one that is not.
func gridCells() []cell {
	r := func(name, reference string, times float64) row {
		n := round{cpu: 2000 * times, sent: delays{p50: 100 * times, p99: 1000 * times}}
		return row{kind: kind{Name: name, Reference: reference}, rounds: []round{n}}
	}
	c := cell{procs: 2, others: -1, load: paced.Load{Rate: 10_000, Senders: 8, Receivers: 1, Group: 1}, rows: []row{
		r(without, "", 0.5), r("native 128", "", 1), r("Bounded 128", "native 128", 1.5),
		{kind: kind{Name: "Elastic", Reference: "native 128"}, err: errors.New("hangs")},
	}}
	cut := c
	cut.rows = []row{{kind: kind{Name: without}}}
	return []cell{c, cut}
}

// An interrupted table keeps what is complete, and counts what is missing.
func TestKeep(t *testing.T) {
	s := quick(t, "-rounds", "1", "-table", gridTable)
	grid, err := tableNamed(gridTable)
	if err != nil {
		t.Fatal(err)
	}
	s.Out = filepath.Join(t.TempDir(), "RESULTS.md")
	if err := os.WriteFile(s.Out, []byte("# Results\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.keep(grid, results.Host{}, time.Time{}, gridCells(), 204); !errors.Is(err, errInterrupted) || !strings.Contains(err.Error(), "1 of 204") {
		t.Errorf("got %v", err)
	}
	text, err := os.ReadFile(s.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Channels that are not busy, a grid\n", "**Interrupted: 1 of 204 loads were measured.**",
		"| grid | P | native 128 | Bounded 128 | Elastic |\n|---|--:|---|---|---|\n",
		"| 10k/s, 8->1 | 2 | 2.00, 0.10, 1.0 | 1.50, 1.50, 1.50 | no figure |\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the section lacks %q:\n%s", want, text)
		}
	}
	if err := s.keep(grid, results.Host{}, time.Time{}, gridCells()[:1], 1); err != nil {
		t.Errorf("a complete table: %v", err)
	}
	before, _ := os.ReadFile(s.Out)
	if err := s.keep(grid, results.Host{}, time.Time{}, gridCells()[1:], 204); err != errInterrupted {
		t.Errorf("without a complete load: %v", err)
	}
	if after, _ := os.ReadFile(s.Out); string(after) != string(before) {
		t.Error("the file was changed without a figure")
	}
}

func TestETA(t *testing.T) {
	e := eta{began: time.Now().Add(-10 * time.Second), done: 2, whole: 4}
	if got := e.String(); got != "2 of 4 loads in 10s, about 10s left" {
		t.Error(got)
	}
}
