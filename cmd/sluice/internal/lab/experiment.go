// Package lab describes the experiments of "sluice lab": each published study
// as it was published, and the questions that its author left open; and one question
// that no study asks.
//
// What may enter: one file per study, with its question, the prediction, the
// sweep, the contenders, the published figures and the conclusions;
// contenders.go and panels.go, with the identifiers of contenders, sections and
// panels; and this file, with the parts of a study. A new study is a new file,
// which registers itself. Nothing here measures or prints.
package lab

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// registered are the experiments of the files of this package.
var registered []Experiment

// register adds an experiment to the lab and returns it. Each experiment's file
// calls it once, to initialize a package variable.
func register(e Experiment) Experiment {
	registered = append(registered, e)
	return e
}

// All returns the experiments in the order in which the lab runs them: by the
// year of their studies, and then those that repeat no study.
func All() []Experiment {
	all := slices.Clone(registered)
	slices.SortFunc(all, func(a, b Experiment) int {
		if a.Source.IsZero() {
			a.Source.Year = math.MaxInt
		}
		if b.Source.IsZero() {
			b.Source.Year = math.MaxInt
		}
		return cmp.Or(cmp.Compare(a.Source.Year, b.Source.Year), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Names returns the names of [All].
func Names() []string {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name)
	}
	return names
}

// Select returns the named experiments, or all of them if names is empty. The
// error on an unknown name lists the known ones.
func Select(names []string) ([]Experiment, error) {
	if len(names) == 0 {
		return All(), nil
	}
	var selected []Experiment
	for _, name := range names {
		i := slices.IndexFunc(All(), func(e Experiment) bool { return e.Name == name })
		if i < 0 {
			return nil, format.Unknown("experiment", name, Names())
		}
		if !slices.ContainsFunc(selected, func(e Experiment) bool { return e.Name == name }) {
			selected = append(selected, All()[i])
		}
	}
	return selected, nil
}

// A Study describes an experiment, in the lab and in a report.
type Study struct {
	Name  string `json:"name"`  // as on the command line
	Title string `json:"title"` // its question
	// Prediction is the expected result, and the reason: a sentence or two that
	// the figures can prove wrong.
	Prediction string    `json:"prediction"`
	Source     Source    `json:"source,omitzero"`
	Notes      []string  `json:"notes"` // that a reader needs before the figures
	Pictures   []Picture `json:"pictures,omitempty"`
	// PublishedIn is the unit of the published figures.
	PublishedIn Measure `json:"published_in"`
}

// An Experiment is a study that can be repeated.
type Experiment struct {
	Study
	Sections func(Scale) []Section
	// Published are the author's figures, in PublishedIn, each with the place
	// of the same measurement here.
	Published []Published
	// Conclude draws conclusions from the measured points alone. Without any
	// figure it returns the zero Conclusion.
	Conclude func(*Measured) Conclusion
}

// A Conclusion is the result of an experiment on this machine.
type Conclusion struct {
	// Answer is one plain sentence that answers the study's question, and Advice
	// says what to do, in a sentence or two.
	Answer string `json:"answer,omitempty"`
	Advice string `json:"advice,omitempty"`
	Chart         // shows the answer, in at most 6 bars
	// Summary is a sentence or two, with figures, for the first page of the
	// report.
	Summary []string `json:"summary"`
	// Findings answer the questions of the study, each in a sentence or two.
	Findings []string `json:"findings"`
	// Tables hold figures that were derived from the measured ones.
	Tables []Table `json:"derived"`

	// For the Overview of a run: what one value costs through each way, in a
	// sentence and in bars, and the answers that may be among the largest.
	sentence string
	costs    Chart
	claims   []claim
}

// A Table is a small table of derived figures.
type Table struct {
	Title string     `json:"title"`
	Text  string     `json:"text"` // the derivation
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"` // as wide as Head
}

// A Source is the publication of a study. The zero Source is the project's own question,
// which no publication answers.
type Source struct {
	Author  string `json:"author"`
	Title   string `json:"title"`
	Year    int    `json:"year"`
	Machine string `json:"machine"`
	Go      string `json:"go"`
}

// IsZero reports whether no publication answers the question.
func (s Source) IsZero() bool { return s == Source{} }

// A Published figure describes another machine. It is shown beside the figures of
// this one, which are not expected to match it.
type Published struct {
	Row    string  `json:"row"` // in the author's table
	Column string  `json:"column"`
	Value  float64 `json:"published"` // in Study.PublishedIn

	// The place where the same work is measured here.
	Section SectionID `json:"-"`
	Panel   Panel     `json:"-"`
	X       string    `json:"-"`

	Contender ContenderID `json:"contender"` // does here what the author measured
	Ours      ContenderID `json:"ours"`      // the kind of this library for the same work
}

// A Picture shows the state of a channel at one moment.
type Picture struct {
	State   plot.ChannelState `json:"inside"`
	Caption string            `json:"caption"`
}

// A Section is one sweep of an experiment.
type Section struct {
	Sweep
	Points []*Point
}

// A Sweep describes a section, in the lab and in a report.
type Sweep struct {
	Name     SectionID `json:"name"`
	Title    string    `json:"title"`
	Text     string    `json:"text"` // the work, in a sentence or two
	Axis     string    `json:"axis"` // of X; "" if there is only one X
	Measures []Measure `json:"measures"`
	// Stacked means that the measures are parts of a whole, in one unit. A chart
	// stacks them in a bar for each place on the axis.
	Stacked bool `json:"stacked,omitempty"`
}

// A Measure is one kind of figure of a section.
type Measure struct {
	Unit  string `json:"unit"`  // as measured
	Title string `json:"title"` // "" if the section has one measure only
	Axis  string `json:"axis"`  // the unit in words
	// Per is the number of measured units in one unit in words, such as 1024 if
	// bytes are shown as KiB. 0 means 1.
	Per float64 `json:"per,omitempty"`
	// Rate, if not 0, inverts the figure: Rate divided by it is shown, such as
	// 1000 to show ns/op as millions per second.
	Rate float64 `json:"rate,omitempty"`
	// Above, if not 0, is subtracted from the figure before it is shown, such
	// as 1 to show 1.26 times an ideal as an overhead of 0.26. The difference
	// may be close to 0 or negative, so its interval is written in its own
	// unit, and a chart draws values below Floor, in the unit in words, at
	// Floor.
	Above float64 `json:"above,omitempty"`
	Floor float64 `json:"floor,omitempty"`
}

// Show returns a summary in the unit in words.
func (m Measure) Show(s stat.Summary) stat.Summary {
	if m.Rate != 0 {
		return s.Inverse(m.Rate)
	}
	s = s.Above(m.Above)
	if m.Per != 0 {
		return s.In(m.Per)
	}
	return s
}

// Limited reports whether only an upper limit is known of a summary in the unit in
// words. A difference may be zero, so that no interval around it determines its
// size. Its upper limit is known if the figure from which Above was subtracted is
// precise.
func (m Measure) Limited(s stat.Summary) bool {
	if m.Above == 0 || s.N == 0 || s.Known() {
		return false
	}
	whole := s
	if m.Per != 0 {
		whole = whole.In(1 / m.Per)
	}
	return whole.Above(-m.Above).Spread() <= stat.Precise
}

// PerOperation is the measure of published figures, and of timed work other than
// sending values.
var PerOperation = Measure{Unit: measure.NsPerOp, Axis: "ns per operation"}

// PerValue is the measure of sections that time values.
var PerValue = Measure{Unit: measure.NsPerOp, Axis: "ns per value"}

// Throughput is the measure of sections in which more is better.
var Throughput = Measure{Unit: measure.NsPerOp, Axis: "million values per second", Rate: 1000}

// A Point is one place in a section: a chart, and a place on its axis.
type Point struct {
	measure.Point
	Panel Panel
	X     string
	// Beyond is true if there are more Ps than CPUs: the point tests
	// robustness, and is not part of a scaling curve.
	Beyond bool
}

// A Size selects how much of an experiment is run.
type Size uint8

const (
	Standard    Size = iota // the published sweep and the open questions, in half a minute each
	Quick                   // the smallest sweep, in some seconds each: a first impression
	AsPublished             // the published sweep alone, each figure from a second of work
)

var sizeNames = [...]string{"standard", "quick", "published"}

func (s Size) String() string { return sizeNames[s] }

// Sizes returns all sizes.
func Sizes() []Size { return []Size{Standard, Quick, AsPublished} }

// SizeNamed returns the size whose String is name, and whether there is one.
func SizeNamed(name string) (size Size, ok bool) {
	i := slices.Index(sizeNames[:], name)
	return Size(max(0, i)), i >= 0
}

// A Scale is the user's part of a plan.
type Scale struct {
	Size  Size
	Procs []int // values of GOMAXPROCS to sweep; nil for the study's
	Count int   // repetitions; 0 for the size's own
	CPUs  int   // of the measured machine; 0 for this one
}

// cpus returns the number of CPUs of the measured machine.
func (s Scale) cpus() int {
	if s.CPUs > 0 {
		return s.CPUs
	}
	return runtime.NumCPU()
}

// count returns the repetitions of each timed point: enough for an interval
// that does not depend on the two extremes.
func (s Scale) count() int {
	switch {
	case s.Count > 0:
		return s.Count
	case s.Size == AsPublished:
		return 6
	}
	return 9
}

// target returns the planned duration of each repetition of a timed point.
func (s Scale) target() time.Duration {
	return [...]time.Duration{12 * time.Millisecond, 2 * time.Millisecond, time.Second}[s.Size]
}

// procs returns the values of GOMAXPROCS to sweep: the user's, or 2 alone if
// quick, or the study's.
func (s Scale) procs(study ...int) []int {
	switch {
	case len(s.Procs) > 0:
		return s.Procs
	case s.Size == Quick:
		return []int{2}
	}
	return study
}

// home returns the GOMAXPROCS of sections that sweep something else.
func (s Scale) home(study ...int) int {
	procs := s.procs(study...)
	if slices.Contains(procs, 2) {
		return 2
	}
	return procs[0]
}
