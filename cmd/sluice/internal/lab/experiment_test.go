package lab

import (
	"flag"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

func TestSelect(t *testing.T) {
	all, err := Select(nil)
	if err != nil || len(all) != len(All()) {
		t.Errorf("Select(nil) = %d experiments, %v", len(all), err)
	}
	one, err := Select([]string{"direct-send", "direct-send"})
	if err != nil || len(one) != 1 || one[0].Name != "direct-send" {
		t.Errorf("naming one twice gives %d experiments, %v", len(one), err)
	}
	_, err = Select([]string{"elastic", "elastc"})
	if want := `unknown experiment "elastc": did you mean "elastic"?`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Every experiment has a question and a prediction; if it repeats a study, also the
// source and its figures. They run in the order of the studies, the project's own
// question last.
func TestExperimentsAreWhole(t *testing.T) {
	year := 0
	for _, e := range All() {
		if e.Name == "" || e.Title == "" || e.Prediction == "" || e.Topic == "" {
			t.Errorf("%q lacks a part: %+v", e.Name, e)
		}
		s := e.Source
		if s.IsZero() {
			s.Year = math.MaxInt
		} else if s.Author == "" || s.Title == "" || s.Machine == "" || s.Go == "" || e.PublishedIn.Unit == "" || len(e.Published) == 0 {
			t.Errorf("%q lacks a part of its study: %+v", e.Name, e)
		}
		if s.Year < year {
			t.Errorf("%s, of %d, comes after a study of %d", e.Name, s.Year, year)
		}
		year = s.Year
	}
}

// takesPart reports whether a contender takes part at a point.
func takesPart(p *Point, id ContenderID) bool {
	return slices.ContainsFunc(p.Entries, func(e measure.Entry) bool { return e.Contender == id })
}

func leavesOut(p *Point, id ContenderID) bool {
	return slices.ContainsFunc(p.LeftOut, func(l measure.LeftOut) bool { return l.Contender == id })
}

// Every plan has points that differ, each with named contenders of every family and a
// reason for each that it leaves out. It takes the user's values of GOMAXPROCS and number
// of repetitions, and marks points with more Ps than CPUs, in results.txt, too.
func TestPlans(t *testing.T) {
	for _, e := range All() {
		for _, s := range []Scale{
			{CPUs: 3}, {CPUs: 3, Size: Quick}, {CPUs: 3, Size: AsPublished}, {CPUs: 3, Procs: []int{2, 3, 4, 9}, Count: 3}, {CPUs: 128},
		} {
			benchmarks, procs, beyond := make(map[string]bool), make(map[int]bool), 0
			for _, section := range e.Sections(s) {
				if len(section.Points) == 0 || len(section.Measures) == 0 || section.Title == "" || section.Text == "" {
					t.Errorf("section %q has %d points, %d measures, title %q", section.Name, len(section.Points), len(section.Measures), section.Title)
				}
				for _, p := range section.Points {
					checkPoint(t, e, section, p)
					benchmark := string(section.Name)
					for _, label := range p.Labels {
						benchmark += "/" + label.Key + "=" + label.Value
					}
					key := benchmark + "-" + strconv.Itoa(p.Procs)
					if benchmarks[key] {
						t.Errorf("%s %+v: two points are %s", e.Name, s, key)
					}
					benchmarks[key], procs[p.Procs] = true, true
					if over := p.Procs > s.CPUs; p.Beyond != over || strings.Contains(benchmark, "ps=oversubscribed") != over {
						t.Errorf("%s, %s: beyond %d CPUs: %v, in %s", e.Name, p.Name, s.CPUs, p.Beyond, benchmark)
					} else if over {
						beyond++
					}
					if s.Count > 0 && p.Count != s.Count {
						t.Errorf("%s, %s: %d repetitions", e.Name, p.Name, p.Count)
					}
				}
			}
			if s.Procs != nil && (!slices.Equal(slices.Sorted(maps.Keys(procs)), s.Procs) || beyond == 0) {
				t.Errorf("%s sweeps %v, want %v", e.Name, procs, s.Procs)
			}
		}
	}
}

func checkPoint(t *testing.T, e Experiment, section Section, p *Point) {
	t.Helper()
	families := make(map[Family]bool)
	for i, entry := range p.Entries {
		if entry.Contender == "" || entry.Pass == nil || i > 0 && takesPart(&Point{Point: measure.Point{Entries: p.Entries[:i]}}, entry.Contender) {
			t.Errorf("%s: %s has no name or no work, or takes part twice", p.Name, entry.Contender)
		}
		families[FamilyOf(entry.Contender)] = true
	}
	// The pump of the published channel is compared with itself.
	if section.Name != elasticBuffers && !(families[FamilyNative] && families[FamilySluice] && (families[FamilyPublished] || e.Name != "elastic")) {
		t.Errorf("%s: a family does not take part", p.Name)
	}
	for _, out := range p.LeftOut {
		if takesPart(p, out.Contender) || out.Contender == "" || out.Reason == "" {
			t.Errorf("%s: %q is left out because %q", p.Name, out.Contender, out.Reason)
		}
	}
}

// Every published figure has its place in the sweep as published, with the
// contenders that it names, if the machine has the CPUs.
func TestPublishedFiguresHaveTheirPlace(t *testing.T) {
	for cpus, missing := range map[int]int{128: 0, 64: 1, 2: 2} {
		for _, e := range All() {
			m := pretend(e, Scale{Size: AsPublished, CPUs: cpus}, func(ContenderID, *Point) float64 { return 1 })
			none := 0
			for _, f := range e.Published {
				if f.Value <= 0 || f.Contender == f.Ours {
					t.Errorf("%s: published %+v", e.Name, f)
				}
				if m.Samples(f, f.Contender, e.PublishedIn.Unit) == nil || m.Samples(f, f.Ours, e.PublishedIn.Unit) == nil {
					none++
				}
			}
			if e.Name != "cpu-scaling" && none > 0 || e.Name == "cpu-scaling" && none != missing {
				t.Errorf("%s on %d CPUs: %d figures have no place", e.Name, cpus, none)
			}
		}
	}
}

// Every entry of the smallest sweep does its work with a correct tally.
func TestEveryEntryWorks(t *testing.T) {
	for _, e := range All() {
		for _, section := range e.Sections(Scale{Size: Quick}) {
			for _, p := range section.Points {
				for _, entry := range p.Entries {
					reading, err := entry.Pass()
					if err != nil {
						t.Errorf("%s: %s: %v", p.Name, entry.Contender, err)
					}
					for _, m := range section.Measures {
						timed := m.Unit == measure.NsPerOp && reading.Ops > 0 && reading.Elapsed > 0
						figure := slices.ContainsFunc(reading.Figures, func(f measure.Figure) bool { return f.Unit == m.Unit })
						if timed == figure {
							t.Errorf("%s: %s: no figure in %s: %+v", p.Name, entry.Contender, m.Unit, reading)
						}
					}
				}
			}
		}
	}
}

var update = flag.Bool("update", false, "update testdata/contenders.txt")

// Runs of two versions are compared by the IDs of contenders. An ID is valid in the name of
// a benchmark, and does not end like a GOMAXPROCS.
func TestIDsAreStable(t *testing.T) {
	ends := regexp.MustCompile(`-\d+$`)
	seen := make(map[string]bool)
	for _, e := range All() {
		for _, s := range []Scale{{CPUs: 64}, {CPUs: 2, Size: Quick}} {
			for _, section := range e.Sections(s) {
				for _, p := range section.Points {
					for _, entry := range p.Entries {
						seen[string(entry.Contender)] = true
					}
					for _, out := range p.LeftOut {
						seen[string(out.Contender)] = true
					}
				}
			}
		}
	}
	var ids strings.Builder
	for _, id := range slices.Sorted(maps.Keys(seen)) {
		if Plain(id) != id || ends.MatchString(id) {
			t.Errorf("%q is not plain", id)
		}
		ids.WriteString(id + "\n")
	}
	const file = "testdata/contenders.txt"
	if *update {
		if err := os.WriteFile(file, []byte(ids.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != ids.String() {
		t.Errorf("%s lists other contenders (%v): older runs are no longer compared with those that changed", file, err)
	}
}

// A lossy channel is a built-in channel that forgets or swaps a value: the
// faults that tallies detect.
type lossy struct {
	contender.Channel
	forget, swap uint64
}

func (l lossy) Send(lo, hi uint64) bool {
	for v := lo; v < hi; v++ {
		switch v {
		case l.forget:
		case l.swap:
			l.Channel.Send(v+1, v+2)
		default:
			l.Channel.Send(v, v+1)
		}
	}
	return true
}

func faulty(forget, swap uint64) contestant {
	return contestant{"faulty", contender.Contender{
		Name: "faulty",
		Make: func(capacity int) contender.Channel {
			return lossy{contender.Native().Make(capacity), forget, swap}
		},
	}, slotEach, false}
}

func TestWrongTalliesAreErrors(t *testing.T) {
	const none, n = 1 << 40, 1000
	con := func(c contestant) measure.Entry { return c.carry(n, 1, 1) }
	seq := func(c contestant) measure.Entry { entry, _ := c.fillFirst(n); return entry }
	for _, tt := range []struct {
		name  string
		enter func(contestant) measure.Entry
		fault contestant
	}{
		{"both at once, a lost value", con, faulty(7, none)},
		{"both at once, the last one lost", con, faulty(n-1, none)},
		{"both at once, a value twice", con, faulty(none, 7)},
		{"fill first, the first one lost", seq, faulty(0, none)},
		{"fill first, a value twice", seq, faulty(none, 7)},
		{"swing, a value twice", func(c contestant) measure.Entry { return c.entry(workload.Swing(swingAround, swingWidth), n) }, faulty(none, swingAround+50)},
		{"footprint, a value twice", func(c contestant) measure.Entry { return c.footprint(n, 4) }, faulty(none, 7)},
	} {
		if _, err := tt.enter(tt.fault).Pass(); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
		if _, err := tt.enter(faulty(none, none)).Pass(); err != nil {
			t.Errorf("%s, without the fault: %v", tt.name, err)
		}
	}
}

func TestFillFirstNeedsRoom(t *testing.T) {
	for capacity, can := range map[int]bool{0: false, 1024: false, slotEach: true, unbounded: true} {
		entry, whyNot := contestant{"native", contender.Native(), capacity, false}.fillFirst(2000)
		if (entry.Pass != nil) != can || (whyNot == "") != can {
			t.Errorf("capacity %d: entered %v, left out because %q", capacity, entry.Pass != nil, whyNot)
		}
	}
}
