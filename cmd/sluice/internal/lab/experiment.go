// Package lab describes the experiments of "sluice lab": each published study
// as it was published, and the questions that its author left open; and one question
// that no study asks.
//
// What may enter: one file per study, which reads like the article that it repeats:
// the question, the prediction, the sweep, the contenders, the published figures and
// the conclusions. Beside them stand the parts that the studies share: names.go has the
// identifiers, plan.go the points of a sweep, measured.go their figures, wording.go what
// findings say, and overview.go what a first screen shows.
// Nothing here measures or prints.
package lab

import (
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// All returns the experiments in the order in which the lab runs them: by the
// year of their studies, and then the one that repeats no study.
func All() []Experiment {
	return []Experiment{lockCostStudy, elasticStudy, directSendStudy, buffersStudy, cpuScalingStudy, notBusyStudy}
}

// Names returns the names of [All].
func Names() (names []string) {
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
	for i, name := range names {
		at := slices.Index(Names(), name)
		if at < 0 {
			return nil, format.Unknown("experiment", name, Names())
		}
		if !slices.Contains(names[:i], name) {
			selected = append(selected, All()[at])
		}
	}
	return selected, nil
}

// A Study describes an experiment, in the lab and in a report.
type Study struct {
	Name  string `json:"name"`  // as on the command line
	Topic string `json:"topic"` // in a table of contents, in a word or two: "buffer sizes"
	Title string `json:"title"` // its question
	// Prediction is the expected result, and the reason: a sentence or two that
	// the figures can prove wrong.
	Prediction string   `json:"prediction"`
	Source     Source   `json:"source,omitzero"`
	Notes      []string `json:"notes"` // that a reader needs before the figures
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
	Conclude func(Measured) Conclusion
}

// A Conclusion is the result of an experiment on this machine.
type Conclusion struct {
	// Answer is one plain sentence that answers the study's question, and Advice
	// says what to do, in a sentence or two.
	Answer string `json:"answer,omitempty"`
	Advice string `json:"advice,omitempty"`
	Chart         // shows the answer, in a few bars
	// Findings answer the questions of the study, each in a sentence or two.
	Findings []string `json:"findings"`
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
}

func newSection(name SectionID, title, axis, text string, measures ...Measure) Section {
	return Section{Sweep: Sweep{name, title, text, axis, measures}}
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
}

// Show returns a summary in the unit in words.
func (m Measure) Show(s stat.Summary) stat.Summary {
	if m.Rate != 0 {
		return s.Inverse(m.Rate)
	}
	if m.Per != 0 {
		return s.In(m.Per)
	}
	return s
}

// The measures of several studies: of published figures, and of timed work other than
// sending values; of sections that time values; and of sections in which more is better.
var (
	PerOperation = Measure{Unit: measure.NsPerOp, Axis: "ns per operation"}
	PerValue     = Measure{Unit: measure.NsPerOp, Axis: "ns per value"}
	Throughput   = Measure{Unit: measure.NsPerOp, Axis: "million values per second", Rate: 1000}
)
