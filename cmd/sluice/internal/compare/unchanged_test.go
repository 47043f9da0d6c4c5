package compare

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// A labRun is one of the runs of unchanged code in testdata.
type labRun struct {
	name  string
	lines []labLine
}

type labLine struct {
	experiment string
	line
}

// unchangedRuns reads testdata/unchanged.txt.
func unchangedRuns(t *testing.T) (runs []labRun) {
	t.Helper()
	suite.Needs(t, "the stored runs of the lab")
	text, err := os.ReadFile("testdata/unchanged.txt")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(text)) {
		fields := strings.Fields(row)
		switch {
		case fields[0] == "#":
		case fields[0] == "run":
			runs = append(runs, labRun{name: fields[1]})
		default:
			l := labLine{experiment: fields[0], line: line{name: fields[1], unit: "ns/op"}}
			for _, field := range fields[2:] {
				v, err := strconv.ParseFloat(field, 64)
				if err != nil {
					t.Fatal(err)
				}
				l.values = append(l.values, v)
			}
			last := &runs[len(runs)-1]
			last.lines = append(last.lines, l)
		}
	}
	return runs
}

// file returns the run as a file in which the planted points take longer by the
// factor.
func (r labRun) file(header string, factor float64, planted ...int) string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(header, "experiment: elastic\n\n", ""))
	experiment := ""
	for i, l := range r.lines {
		if l.experiment != experiment {
			experiment = l.experiment
			fmt.Fprintf(&b, "experiment: %s\n", experiment)
		}
		values := slices.Clone(l.values)
		if slices.Contains(planted, i) {
			for j := range values {
				values[j] *= factor
			}
		}
		b.WriteString(run("", line{l.name, l.unit, values}))
	}
	return b.String()
}

// pairs calls f with each ordered pair of runs.
func pairs(runs []labRun, f func(was, is labRun)) {
	for _, was := range runs {
		for _, is := range runs {
			if was.name != is.name {
				f(was, is)
			}
		}
	}
}

// neighbors calls f with each run and the next one.
func neighbors(runs []labRun, f func(was, is labRun)) {
	for i, is := range runs {
		f(runs[(i+len(runs)-1)%len(runs)], is)
	}
}

func quiet(runs ...labRun) bool {
	return !slices.ContainsFunc(runs, func(r labRun) bool { return strings.HasPrefix(r.name, "loaded") })
}

// decided compares two files.
func decided(t *testing.T, was, is string) Decision {
	t.Helper()
	return compared(t, was, is, Defaults).Decision
}

// Of the pairs of real runs of unchanged code, at most one in twenty has a
// regression, on a loaded machine, too.
func TestUnchangedRuns(t *testing.T) {
	runs := unchangedRuns(t)
	n, alarms, undecidedQuiet := 0, 0, 0
	pairs(runs, func(was, is labRun) {
		n++
		d := decided(t, was.file(header, 1), is.file(later, 1))
		if d.Outcome == Failed {
			alarms++
			t.Logf("%s, then %s: %+v", was.name, is.name, d)
		}
		if d.Outcome == Undecided && quiet(was, is) {
			undecidedQuiet++
		}
	})
	if n < 72 || alarms > n/20 {
		t.Errorf("%d alarms in %d pairs of unchanged runs", alarms, n)
	}
	if undecidedQuiet > 1 {
		t.Errorf("%d pairs of quiet runs are undecided", undecidedQuiet)
	}
}

// A single point that is three times slower in quiet runs is found or, if its own
// repetitions scatter, leaves the comparison undecided.
func TestOnePlanted(t *testing.T) {
	runs := unchangedRuns(t)
	runs = slices.DeleteFunc(runs, func(r labRun) bool { return !quiet(r) })
	n, found, silent := 0, 0, 0
	neighbors(runs, func(was, is labRun) {
		for point := 0; point < len(is.lines); point += 2 {
			n++
			switch decided(t, was.file(header, 1), is.file(later, 3, point)).Outcome {
			case Failed:
				found++
			case Passed:
				silent++
			}
		}
	})
	if n < 70 || found < n*85/100 || silent > n*3/100 {
		t.Errorf("one point three times slower: found %d of %d, passed %d", found, n, silent)
	}
}

// Many points that are three times slower never pass, on a loaded machine either,
// and in quiet runs they are always found: some points, those of one library,
// which are half, or all of them.
func TestManyPlanted(t *testing.T) {
	runs := unchangedRuns(t)
	sets := map[string][]int{}
	for i, l := range runs[0].lines {
		sets["all"] = append(sets["all"], i)
		if !strings.Contains(l.name, "contender=native") {
			sets["own"] = append(sets["own"], i)
		}
		if i < 20 {
			sets["twenty"] = append(sets["twenty"], i)
		}
		if i%7 == 0 {
			sets["six"] = append(sets["six"], i)
		}
	}
	for name, set := range sets {
		neighbors(runs, func(was, is labRun) {
			d := decided(t, was.file(header, 1), is.file(later, 3, set...))
			if d.Outcome == Passed || quiet(was, is) && d.Outcome != Failed {
				t.Errorf("%s: %s, then %s: %s (%s)", name, was.name, is.name, d.Outcome, d.Reason)
			}
		})
	}
}

var rateRuns = flag.String("runs", "", "directories of lab runs of one commit on one machine, for TestRates")

// TestRates measures how often comparisons are wrong: the rates of
// docs/adr/0011-statistics.md. It compares each of the runs with each other one, and
// again with randomly chosen points made slower. To show what a loaded machine does, load
// it for some of the runs.
func TestRates(t *testing.T) {
	if *rateRuns == "" {
		t.Skip("without -runs 'DIR DIR ...'")
	}
	var runs []labRun
	for _, dir := range strings.Fields(*rateRuns) {
		text, err := os.ReadFile(filepath.Join(dir, resultsFile))
		if err != nil {
			t.Fatal(err)
		}
		r, err := parsed(t, string(text))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, labRun{name: dir})
		for _, key := range r.keys {
			if key.Unit == "sec/op" {
				runs[len(runs)-1].lines = append(runs[len(runs)-1].lines, labLine{key.Experiment, line{key.Name, key.Unit, r.values[key][1]}})
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2)) // repeatable
	for _, points := range []int{0, 1, 5, 20} {
		for _, factor := range []float64{1.3, 2, 3} {
			counts, all, found := map[Outcome]int{}, 0, 0
			pairs(runs, func(was, is labRun) {
				planted := random.Perm(len(is.lines))[:min(points, len(is.lines))]
				c := compared(t, was.file(header, 1), is.file(later, factor, planted...), Defaults)
				counts[c.Decision.Outcome]++
				all += len(planted)
				for _, p := range c.Points {
					if p.Regression && slices.ContainsFunc(planted, func(i int) bool { return is.lines[i].name == p.Name }) {
						found++
					}
				}
			})
			t.Logf("%2d × %v: %v, %d of %d planted points found", points, factor, counts, found, all)
		}
	}
}
