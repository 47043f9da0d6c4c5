// Package report writes measured figures for people and programs: tables for a
// terminal, results.txt for benchstat, results.json, and report.html, a
// self-contained page.
//
// What may enter: the model of all four, and one file for each of them. Nothing
// here measures or decides: the findings come from the experiments.
package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Schema is the version of results.json. It changes when a reader of the old form
// would misread the new one.
const Schema = 2

// Tool is the program that writes results.json.
const Tool = "sluice lab"

// A Machine describes where the figures are from.
type Machine = host.Machine

// A Report is a run of the lab. results.json is its JSON form.
type Report struct {
	Schema      int          `json:"schema"`
	Tool        string       `json:"tool"`
	Machine     Machine      `json:"machine"`
	Started     time.Time    `json:"started"`
	Took        Duration     `json:"took_seconds"`
	Sittings    []Sitting    `json:"sittings"`
	Size        string       `json:"size"`
	Procs       []int        `json:"procs,omitempty"` // as requested; empty for the study's
	Count       int          `json:"count,omitempty"` // as requested; 0 for the size's
	Interrupted bool         `json:"interrupted"`
	Missing     []string     `json:"missing,omitempty"`  // not measured because of an interrupt
	Failures    []string     `json:"failures,omitempty"` // errors, with the names of their points
	Overview    lab.Overview `json:"overview,omitzero"`
	Experiments []Experiment `json:"experiments"`
}

// A Sitting is one run of the program. A report has several if it was
// interrupted and resumed. All figures of a point are from one sitting.
type Sitting struct {
	Started time.Time `json:"started"`
	Took    Duration  `json:"took_seconds"`
	Load    string    `json:"load,omitempty"`
	// Before and After are the noise of the machine before the first point and
	// after the last, or nil if not measured.
	Before *host.Noise `json:"noise_before"`
	After  *host.Noise `json:"noise_after"`
}

// A Duration is written to JSON in seconds.
type Duration time.Duration

// MarshalJSON writes d in seconds, to the millisecond.
func (d Duration) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(d).Seconds()), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Duration) UnmarshalJSON(text []byte) error {
	seconds, err := strconv.ParseFloat(string(text), 64)
	*d = Duration(math.Round(seconds*1e3)) * Duration(time.Millisecond)
	return err
}

// An Experiment is one study: its source, its results and the figures.
type Experiment struct {
	lab.Study
	lab.Conclusion
	Beside   []Beside  `json:"published"`
	Sections []Section `json:"sections"`
}

// Beside is a published figure with the same work as measured here, by the same
// contender and by a kind of this library. A nil summary was not measured.
type Beside struct {
	lab.Published
	Measured  *stat.Summary `json:"measured"` // in Study.PublishedIn, as all figures
	OursTakes *stat.Summary `json:"ours_measured"`
}

// A Section is one sweep.
type Section struct {
	lab.Sweep
	Points []Point `json:"points"`
}

// A Point is one setting with the figures of all contenders.
type Point struct {
	measure.Setting
	Panel          string `json:"panel"`
	X              string `json:"x"`
	Oversubscribed bool   `json:"oversubscribed"` // GOMAXPROCS above the number of CPUs
	measure.State
	Disturbed  []string `json:"disturbed,omitempty"`  // the disturbances beyond the levels of package host
	Collecting string   `json:"collecting,omitempty"` // the garbage collector's share, if large
	Entries    []Entry  `json:"entries"`
}

// An Entry is one contender at a point.
type Entry struct {
	measure.Result
	Summaries map[string]stat.Summary `json:"summaries"` // by unit
	Missing   int                     `json:"missing"`   // repetitions that an interrupt prevented
	// Outliers are the indices of repetitions that lie far from the others, by
	// unit. They count in all figures.
	Outliers map[string][]int `json:"outliers,omitempty"`
	Error    string           `json:"error,omitempty"`
}

// A Run is an experiment with its sections and their outcomes.
type Run struct {
	Experiment lab.Experiment
	Sections   []lab.Section
	Outcomes   []measure.Outcome // of all points of all sections, in order
}

// New returns the report of runs, with all fields except Took.
func New(machine Machine, started time.Time, size lab.Size, interrupted bool, runs []Run) *Report {
	r := &Report{
		Schema:      Schema,
		Tool:        Tool,
		Machine:     machine,
		Started:     started,
		Size:        size.String(),
		Interrupted: interrupted,
	}
	var conclusions []lab.Conclusion
	for _, run := range runs {
		conclusions = append(conclusions, r.add(run))
	}
	r.Overview = lab.NewOverview(conclusions)
	return r
}

// add adds an experiment, and returns its conclusion.
func (r *Report) add(run Run) lab.Conclusion {
	e := Experiment{Study: run.Experiment.Study}
	next := 0
	for _, s := range run.Sections {
		section := Section{Sweep: s.Sweep}
		for _, p := range s.Points {
			section.Points = append(section.Points, r.point(e.Name, s, p, &run.Outcomes[next]))
			next++
		}
		e.Sections = append(e.Sections, section)
	}
	measured := lab.NewMeasured(run.Sections, run.Outcomes)
	e.Conclusion = run.Experiment.Conclude(measured)
	for _, p := range run.Experiment.Published {
		e.Beside = append(e.Beside, beside(p, e.PublishedIn, measured))
	}
	r.Experiments = append(r.Experiments, e)
	return e.Conclusion
}

func (r *Report) point(experimentName string, s lab.Section, p *lab.Point, o *measure.Outcome) Point {
	point := Point{
		Setting:        p.Setting,
		Panel:          p.Panel.String(),
		X:              p.X,
		Oversubscribed: p.Procs > r.Machine.Whole(),
		State:          o.State,
	}
	var missing []string
	untouched := true
	for i := range o.Results {
		entry := entryOf(&o.Results[i])
		entry.Missing = o.Missing(i)
		name := lab.NameOf(entry.Contender)
		if entry.Error != "" {
			r.Failures = append(r.Failures, fmt.Sprintf("%s, %s: %s: %s", experimentName, p.Name, name, entry.Error))
		}
		if entry.Missing > 0 {
			missing = append(missing, fmt.Sprintf("%s: %d of %d repetitions", name, entry.Missing, o.Point.Count))
		}
		untouched = untouched && len(entry.Repetitions) == 0 && entry.Missing > 0
		point.Entries = append(point.Entries, entry)
	}
	// Numbers of bytes do not depend on other users of the CPUs, and are measured by collecting
	// garbage.
	if o.Usage != nil && !strings.HasPrefix(s.Measures[0].Unit, "B") {
		point.Disturbed = o.Usage.Disturbances(r.Machine.CPUs, p.Procs)
		point.Collecting = o.Usage.Collecting(p.Procs)
	}
	switch {
	case untouched:
		r.Missing = append(r.Missing, fmt.Sprintf("%s, %s: all", experimentName, p.Name))
	case len(missing) > 0:
		r.Missing = append(r.Missing, fmt.Sprintf("%s, %s: %s", experimentName, p.Name, strings.Join(missing, "; ")))
	}
	return point
}

func entryOf(result *measure.Result) Entry {
	entry := Entry{Result: *result, Summaries: make(map[string]stat.Summary)}
	for _, repetition := range result.Repetitions {
		for _, figure := range repetition.Figures {
			if _, done := entry.Summaries[figure.Unit]; done {
				continue
			}
			samples := result.Samples(figure.Unit)
			entry.Summaries[figure.Unit] = stat.Summarize(samples)
			if outliers := stat.Outliers(samples); outliers != nil {
				if entry.Outliers == nil {
					entry.Outliers = make(map[string][]int)
				}
				entry.Outliers[figure.Unit] = outliers
			}
		}
	}
	if result.Err != nil {
		entry.Error, entry.Err = result.Err.Error(), nil
	}
	return entry
}

func beside(p lab.Published, in lab.Measure, m lab.Measured) Beside {
	summary := func(contender lab.ContenderID) *stat.Summary {
		samples := m.Samples(p, contender, in.Unit)
		if len(samples) == 0 {
			return nil
		}
		s := in.Show(stat.Summarize(samples))
		return &s
	}
	b := Beside{Published: p, Measured: summary(p.Contender), OursTakes: summary(p.Ours)}
	b.Section, b.Panel, b.X = "", lab.Panel{}, "" // the file does not have the place
	return b
}

// A panel has the points of a section that share a chart, and their contenders
// in order of appearance.
type panel struct {
	Name       string
	Points     []*Point
	Contenders []lab.ContenderID
}

// panels splits a section into its charts.
func (s *Section) panels() []panel {
	var panels []panel
	for i := range s.Points {
		point := &s.Points[i]
		at := slices.IndexFunc(panels, func(p panel) bool { return p.Name == point.Panel })
		if at < 0 {
			at, panels = len(panels), append(panels, panel{Name: point.Panel})
		}
		panels[at].Points = append(panels[at].Points, point)
		for _, entry := range point.Entries {
			if !slices.Contains(panels[at].Contenders, entry.Contender) {
				panels[at].Contenders = append(panels[at].Contenders, entry.Contender)
			}
		}
	}
	return panels
}

// leftOut returns the contenders that are missing from a section, with the reason.
func (s *Section) leftOut() []string {
	var all []string
	for _, point := range s.Points {
		for _, out := range point.LeftOut {
			if text := lab.NameOf(out.Contender) + " (" + out.Reason + ")"; !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// Entry returns the figures of a contender at a point, or nil.
func (p *Point) Entry(contender lab.ContenderID) *Entry {
	for i := range p.Entries {
		if p.Entries[i].Contender == contender {
			return &p.Entries[i]
		}
	}
	return nil
}

// eachPoint calls f with every point of the report.
func (r *Report) eachPoint(f func(*Experiment, *Point)) {
	for i := range r.Experiments {
		e := &r.Experiments[i]
		for j := range e.Sections {
			for k := range e.Sections[j].Points {
				f(e, &e.Sections[j].Points[k])
			}
		}
	}
}

// Measured reports whether there is any figure in the report, or a failure.
func (r *Report) Measured() bool {
	return slices.ContainsFunc(r.Experiments, func(e Experiment) bool { return e.measured() })
}

func (e *Experiment) measured() bool {
	return slices.ContainsFunc(e.Sections, func(s Section) bool { return s.measured() })
}

// measured reports whether any entry of the section has a figure, or failed.
func (s *Section) measured() bool {
	for _, point := range s.Points {
		for _, entry := range point.Entries {
			if len(entry.Repetitions) > 0 || entry.Error != "" {
				return true
			}
		}
	}
	return false
}
