package lab

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

var sizes = []Size{Standard, Quick, AsPublished}

// each calls f with every section of every experiment at every size.
func each(t *testing.T, f func(t *testing.T, e Experiment, s Scale, section Section)) {
	for _, e := range All() {
		for _, size := range sizes {
			t.Run(e.Name+"/"+size.String(), func(t *testing.T) {
				scale := Scale{Size: size}
				for _, section := range e.Sections(scale) {
					f(t, e, scale, section)
				}
			})
		}
	}
}

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
		if e.Name == "" || e.Title == "" || e.Prediction == "" {
			t.Errorf("%q lacks a part: %+v", e.Name, e)
		}
		if e.Name == NotBusy {
			if !e.Source.IsZero() || len(e.Published) > 0 {
				t.Errorf("%q repeats a study: %+v", e.Name, e)
			}
			year = math.MaxInt
			continue
		}
		if e.Source.Author == "" || e.PublishedIn.Unit == "" || len(e.Published) == 0 {
			t.Errorf("%q lacks a part of its study: %+v", e.Name, e)
		}
		if e.Source.Year < year {
			t.Errorf("%s, of %d, comes after a study of %d", e.Name, e.Source.Year, year)
		}
		year = e.Source.Year
	}
	if len(All()) == 0 {
		t.Error("no file has registered an experiment")
	}
}

// Every point has contenders with distinct IDs, and a reason for each contender
// that it leaves out.
func TestPointsNameTheirContenders(t *testing.T) {
	each(t, func(t *testing.T, _ Experiment, _ Scale, section Section) {
		if len(section.Points) == 0 || len(section.Measures) == 0 || section.Title == "" || section.Text == "" {
			t.Fatalf("section %q has %d points, %d measures, title %q", section.Name, len(section.Points), len(section.Measures), section.Title)
		}
		for _, p := range section.Points {
			seen := make(map[ContenderID]bool)
			for _, entry := range p.Entries {
				if _, named := names[entry.Contender]; !named {
					t.Errorf("%s: %s has no name", p.Name, entry.Contender)
				}
				if entry.Contender == "" || seen[entry.Contender] || entry.Pass == nil {
					t.Errorf("%s: bad entry %q", p.Name, entry.Contender)
				}
				seen[entry.Contender] = true
			}
			if len(p.Entries) < 2 {
				t.Errorf("%s compares %d contenders", p.Name, len(p.Entries))
			}
			for _, out := range p.LeftOut {
				if seen[out.Contender] {
					t.Errorf("%s: %s takes part and is left out", p.Name, out.Contender)
				}
				if out.Contender == "" || out.Reason == "" {
					t.Errorf("%s: %q is left out because %q", p.Name, out.Contender, out.Reason)
				}
			}
		}
	})
}

// Each sweep with the study's own loads has a built-in channel, the study's
// remedy and a kind of this library.
func TestEveryFamilyTakesPart(t *testing.T) {
	each(t, func(t *testing.T, e Experiment, _ Scale, section Section) {
		if section.Name == sectionPumpBuffers {
			return // of the published channel alone
		}
		families := []Family{FamilyNative, FamilySluice}
		if e.Name == Elastic {
			families = append(families, FamilyPublished)
		}
		for _, p := range section.Points {
			for _, family := range families {
				if !slices.ContainsFunc(p.Entries, func(e measure.Entry) bool { return FamilyOf(e.Contender) == family }) {
					t.Errorf("%s: no contender of family %d takes part", p.Name, family)
				}
			}
		}
	})
}

// Contenders without a large enough buffer are left out of filling first.
func TestTooSmallToFillFirst(t *testing.T) {
	section := elasticProcs(Scale{})
	for _, p := range section.Points {
		var out []ContenderID
		for _, l := range p.LeftOut {
			out = append(out, l.Contender)
		}
		want := []ContenderID{nativeUnbuffered, native1024, rendezvous, bounded1024, boundedOneToOne}
		if p.Panel.Load == bothAtOnce {
			want = nil
		}
		if !slices.Equal(out, want) {
			t.Errorf("%s leaves out %v, want %v", p.Name, out, want)
		}
	}
}

// No two points are the same benchmark: their figures would be mixed.
func TestPointsDiffer(t *testing.T) {
	for _, e := range All() {
		for _, size := range sizes {
			seen := make(map[string]Panel)
			for _, section := range e.Sections(Scale{Size: size}) {
				for _, p := range section.Points {
					key := strconv.Itoa(p.Procs) + " " + string(section.Name)
					for _, label := range p.Labels {
						key += " " + label.Key + "=" + label.Value
					}
					if other, ok := seen[key]; ok {
						t.Errorf("%s %v: panels %q and %q have the same benchmark %s", e.Name, size, other, p.Panel, key)
					}
					seen[key] = p.Panel
				}
			}
		}
	}
}

// Every published figure has its place in the sweep as published, with the
// contenders that it names.
func TestPublishedFiguresHaveTheirPlace(t *testing.T) {
	for _, e := range All() {
		sections := e.Sections(Scale{Size: AsPublished, CPUs: 128}) // a machine as large as any of them
		for _, f := range e.Published {
			found := false
			for _, section := range sections {
				for _, p := range section.Points {
					if section.Name != f.Section || p.Panel != f.Panel || p.X != f.X {
						continue
					}
					found = true
					for _, id := range []ContenderID{f.Contender, f.Ours} {
						if !slices.ContainsFunc(p.Entries, func(e measure.Entry) bool { return e.Contender == id }) {
							t.Errorf("%s, %s, %s: %s does not take part", e.Name, f.Row, f.Column, id)
						}
					}
				}
			}
			if !found {
				t.Errorf("%s, %s, %s: no point at %s, %q, %q", e.Name, f.Row, f.Column, f.Section, f.Panel, f.X)
			}
			if f.Value <= 0 {
				t.Errorf("%s, %s, %s: published value %v", e.Name, f.Row, f.Column, f.Value)
			}
		}
	}
}

func TestPublishedTables(t *testing.T) {
	for _, e := range All() {
		if e.Name != NotBusy && (e.Source.Author == "" || e.Source.Year == 0 || e.Source.Machine == "" || e.Source.Go == "") {
			t.Errorf("%s has an incomplete source: %+v", e.Name, e.Source)
		}
	}
}

func TestProcs(t *testing.T) {
	given := []int{1, 3, 16}
	for _, e := range All() {
		seen := make(map[int]bool)
		for _, section := range e.Sections(Scale{Procs: given}) {
			for _, p := range section.Points {
				seen[p.Procs] = true
				if !slices.Contains(given, p.Procs) {
					t.Errorf("%s, %s: GOMAXPROCS %d was not asked for", e.Name, p.Name, p.Procs)
				}
			}
		}
		if len(seen) != len(given) {
			t.Errorf("%s sweeps %d of the %d values of GOMAXPROCS", e.Name, len(seen), len(given))
		}
	}
}

func TestCount(t *testing.T) {
	for _, e := range All() {
		for _, section := range e.Sections(Scale{Count: 3}) {
			for _, p := range section.Points {
				if p.Count != 3 {
					t.Errorf("%s, %s: %d repetitions, want 3", e.Name, p.Name, p.Count)
				}
			}
		}
	}
}

// Every entry of the smallest sweep does its work with a correct tally.
func TestEveryEntryWorks(t *testing.T) {
	each(t, func(t *testing.T, _ Experiment, s Scale, section Section) {
		if s.Size != Quick {
			return
		}
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
	})
}

// Other packages find figures by these IDs.
func TestExportedIDs(t *testing.T) {
	for id, want := range map[ContenderID]ContenderID{
		NativeOneToOne: oneToOne.of(Native), NativeManyToOne: manyToOne.of(Native),
	} {
		if id != want {
			t.Errorf("%q, want %q", id, want)
		}
	}
}

// An ID is valid in the name of a benchmark, and does not end like a GOMAXPROCS.
func TestIDsArePlain(t *testing.T) {
	ends := regexp.MustCompile(`-\d+$`)
	seen := make(map[string]ContenderID)
	for id, named := range names {
		if Plain(string(id)) != string(id) || ends.MatchString(string(id)) {
			t.Errorf("%q is not plain", id)
		}
		if other, ok := seen[named.name]; ok {
			t.Errorf("%q and %q have the same name, %q", id, other, named.name)
		}
		seen[named.name] = id
	}
}
