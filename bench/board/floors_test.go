//go:build floors

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/results"
)

// A floor is what we may not fall below: the time of the reference divided by ours, as the
// median of rounds in which the two take turns.
type floor struct {
	name            string
	ours, reference row
	least           float64
	columns         []string
}

const (
	floorRounds = 6
	floorTime   = 40 * time.Millisecond
)

var floorShapes = []string{"1->1", "8->1", "1->8", "8->8"}

// floors returns the table.
func floors() (all []floor) {
	plain := context.Background()
	chans := func(capacity int) row { return named("chan", contender.Native(), capacity) }
	selects := func(capacity int) row { return named("select", contender.NativeSelect(cancelable), capacity) }
	add := func(least float64, ours, reference row, columns ...string) {
		if len(columns) == 0 {
			columns = floorShapes
		}
		all = append(all, floor{ours.name, ours, reference, least, columns})
	}
	bounded := func(ctx context.Context, capacity int) row {
		if capacity == 0 {
			return named("Rendezvous", contender.Rendezvous(ctx, nil), 0)
		}
		return named("Bounded", contender.Bounded(ctx, nil), capacity)
	}
	for _, capacity := range []int{0, 1, 2, 4, 8} {
		add(0.95, bounded(plain, capacity), chans(capacity))
		add(1.3, bounded(cancelable, capacity), selects(capacity))
	}
	for _, capacity := range []int{128, 1024} {
		add(1, bounded(plain, capacity), chans(capacity))
		add(1, bounded(cancelable, capacity), selects(capacity))
	}
	elastic := func(ctx context.Context) row { return named("Elastic", contender.Elastic(ctx, nil), 1024) }
	add(1, elastic(plain), chans(1024))
	add(1, elastic(cancelable), selects(1024))
	priority := named("Priority", contender.Priority(plain), 128)
	add(0.7, priority, bounded(plain, 128))
	add(3, priority, named("heap", contender.Heap(), 128))
	add(0.9, named("Sharded", contender.Sharded(plain), 1024), elastic(plain), "8->1", "8->8")
	find := func(section section, name string) row {
		for _, r := range section.rows {
			if r.name == name {
				return r
			}
		}
		panic("no row " + name)
	}
	broadcast := broadcasts(nil)
	add(1/1.2, find(broadcast, "sluice hub, queue of 50,000"), find(broadcast, "kelindar/event"), "to 10", "to 100")
	return all
}

// named returns a row with a name that no other has.
func named(name string, c contender.Contender, capacity int) row {
	r := row{name: fmt.Sprintf("%s %d", name, capacity), waits: parks, what: c}
	if strings.HasSuffix(c.Name, ", ctx") {
		r.name += " ctx"
	}
	return sized([]row{r}, capacity)[0]
}

// floorSection returns the section in which a child finds the cells of the floors.
func floorSection(procs []int) section {
	seen := map[string]bool{}
	s := section{name: "floors"}
	for _, f := range floors() {
		for _, r := range []row{f.ours, f.reference} {
			if !seen[r.name] {
				seen[r.name] = true
				s.rows = append(s.rows, r)
			}
		}
	}
	s.columns = append(speed(procs, []shape{{1, 1}, {8, 1}, {1, 8}, {8, 8}}), broadcasts(procs).columns...)
	return s
}

func init() { ofTests = append(ofTests, floorSection) }

// TestFloors measures the floors at each GOMAXPROCS, prints a line for each, and fails for
// those that are missed:
//
//	make floors
//	make floors FLOORS='P=2/Bounded'
func TestFloors(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("P=%d", procs), func(t *testing.T) {
			for _, f := range floors() {
				t.Run(f.name+" to "+f.reference.name, func(t *testing.T) { f.check(t, procs) })
			}
		})
	}
}

// check measures the columns of a floor.
func (f floor) check(t *testing.T, procs int) {
	for _, column := range f.columns {
		pair := []cell{{"floors", f.ours.name, column, procs}, {"floors", f.reference.name, column, procs}}
		var ratios []float64
		for range floorRounds {
			times := map[cell]float64{}
			for _, c := range pair {
				times[c] = inTest(t, c, floorTime)
			}
			ratios = append(ratios, times[cell{"floors", f.reference.name, column, procs}]/times[cell{"floors", f.ours.name, column, procs}])
			slices.Reverse(pair) // so that none always follows the other
		}
		mark := ""
		if results.Median(ratios) < f.least {
			mark = "  MISSED"
			t.Fail()
		}
		fmt.Printf("P=%d %-16s to %-16s %-7s %5.2f of %.2f%s\n", procs, f.ours.name, f.reference.name, column, results.Median(ratios), f.least, mark)
	}
}

// inTest returns a figure.
func inTest(t *testing.T, c cell, d time.Duration) float64 {
	v, err := inChild(t.Context(), c, d)
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return v
}

// TestIdle fails for a contender of ours that uses more than half a percent of a core while
// it waits.
func TestIdle(t *testing.T) {
	for _, s := range sections([]int{2}) {
		for _, col := range s.columns {
			if col.name != "idle" {
				continue
			}
			for _, r := range s.rows {
				if !r.ours {
					continue
				}
				share := inTest(t, cell{s.name, r.name, col.name, col.procs}, time.Second)
				fmt.Printf("idle %-40s %.2f%%\n", s.name+"/"+r.name, share)
				if share > 0.5 {
					t.Errorf("%s/%s: %.2f%% of a core (want at most 0.5%%)", s.name, r.name, share)
				}
			}
		}
	}
}
