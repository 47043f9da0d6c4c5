package lab

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A Bar is one figure of a small chart. In all charts of bars, less is better.
type Bar struct {
	Label    string       `json:"label"`
	Figure   stat.Summary `json:"figure"`
	Baseline bool         `json:"baseline,omitempty"` // the built-in channel that the others are compared with
	// Known is false if the interval is too wide to show the figure; see
	// [stat.Summary.Known].
	Known bool `json:"known"`
}

// barOf returns the bar of a figure.
func barOf(label string, s stat.Summary) Bar { return Bar{Label: label, Figure: s, Known: s.Known()} }

// A way is a contender as a chart of bars names it, and as a sentence does:
// "through a buffered channel". Without words it is in no sentence.
type way struct {
	contender ContenderID
	label     string
	words     string
}

// bars returns the bars of the measured ways at one place, in order.
func (m *Measured) bars(section SectionID, panel Panel, x string, baseline ContenderID, ways []way) []Bar {
	var bars []Bar
	for _, w := range ways {
		if samples := m.Samples(section, panel, x, w.contender, measure.NsPerOp); len(samples) > 0 {
			bar := barOf(w.label, stat.Summarize(samples))
			bar.Baseline = w.contender == baseline
			bars = append(bars, bar)
		}
	}
	return bars
}

// costSentence says what one value costs, by the known bars of ways with words.
func costSentence(c Chart, ways []way) string {
	var parts []string
	for _, w := range ways {
		for _, bar := range c.Bars {
			if bar.Label == w.label && bar.Known && w.words != "" {
				parts = append(parts, bar.text(" ns")+" "+w.words)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "One value costs " + format.And(parts) + " (" + c.Conditions + ")."
}

// cost returns the figure of a labeled bar, with its unit.
func (c Chart) cost(label string) string {
	for _, bar := range c.Bars {
		if bar.Label == label {
			return bar.text(" ns")
		}
	}
	return format.NotKnown
}

// A Chart is a few bars that show one thing: all were measured under the same
// conditions.
type Chart struct {
	Conditions string `json:"conditions,omitempty"` // in words: "2 senders, 1 receiver, GOMAXPROCS=2"
	Unit       string `json:"unit,omitempty"`       // of the figures: "ns per value"
	Bars       []Bar  `json:"bars,omitempty"`
}

// Limits of what a first screen shows.
const (
	mostBars    = 6 // of a study
	mostCosts   = 8 // of an Overview
	mostAnswers = 4
)

// An Overview tells what channels cost on this machine, across all studies of a
// run. It is empty if no study was measured.
type Overview struct {
	Sentence string `json:"sentence,omitempty"` // what one value costs
	Chart           // what one value costs through each way, in at most 8 bars
	// Answers are the largest results, at most 4, in order. Each has a figure and
	// what to do.
	Answers []string `json:"answers,omitempty"`
}

// A claim is an answer that may be one of an Overview.
type claim struct {
	topic string // an Overview has the largest claim on each topic
	// times is the size of the effect as a factor of at least 1: the end of its
	// interval that is closer to 1, so that a claim does not lead by noise.
	times float64
	text  string
}

// Topics of claims. Several studies may have a claim on one topic.
const (
	aboutBatches  = "batches"
	aboutBuffers  = "buffers"
	aboutElastic  = "elastic"
	aboutJobs     = "jobs"
	aboutKinds    = "kinds"
	aboutScaling  = "scaling"
	aboutTimeouts = "timeouts"
)

// NewOverview draws an overview from the conclusions of a run. The costs come
// from the study that measured the most ways under the same conditions.
func NewOverview(conclusions []Conclusion) Overview {
	var o Overview
	claims := make(map[string]claim)
	for _, c := range conclusions {
		if len(c.costs.Bars) > len(o.Bars) {
			o.Sentence, o.Chart = c.sentence, c.costs
		}
		for _, found := range c.claims {
			if found.times > claims[found.topic].times {
				claims[found.topic] = found
			}
		}
	}
	for _, found := range ranked(claims) {
		o.Answers = append(o.Answers, found.text)
	}
	return o
}

// ranked returns the largest claims in order.
func ranked(claims map[string]claim) []claim {
	var all []claim
	for _, found := range claims {
		all = append(all, found)
	}
	slices.SortFunc(all, func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(a.topic, b.topic))
	})
	return all[:min(len(all), mostAnswers)]
}

// effectOf returns the size of a change for a claim, and whether it is known.
func effectOf(c stat.Change) (times float64, ok bool) {
	if !c.Clear() {
		return 0, false
	}
	lo, hi := 1+c.Lo, 1+c.Hi
	switch {
	case lo > 1:
		return lo, true
	case hi > 0:
		return 1 / hi, true
	}
	return 0, false
}

// times writes a change as a factor of at least 1, as precisely as known, with
// two digits at most: "1.4". ok is false if it is not known.
func times(c stat.Change) (text string, ok bool) {
	f := stat.Summary{N: c.N, Median: 1 + c.Median, Lo: 1 + c.Lo, Hi: 1 + c.Hi, Confidence: c.Confidence}
	if f.Median < 1 {
		f = f.Inverse(1)
	}
	return factorText(f), c.Clear() && f.Known()
}

// factorText writes a factor with two digits at most.
func factorText(f stat.Summary) string {
	if f.Median >= 10 {
		return rounded(f, 2)
	}
	return rounded(f, 0.2)
}

// rounded writes a figure as precisely as known, and no more precisely than the
// given margin would permit.
func rounded(s stat.Summary, margin float64) string {
	if !s.Known() {
		return format.NotKnown
	}
	return format.Rounded(s.Median, min(s.Lo, s.Median-margin), max(s.Hi, s.Median+margin))
}

// text writes the figure with its unit: "47 ns". From 10 on it is a whole number.
// An unknown figure is [format.NotKnown].
func (b Bar) text(unit string) string {
	switch {
	case !b.Known:
		return format.NotKnown
	case b.Figure.Median < 10:
		return rounded(b.Figure, 0) + unit
	}
	return rounded(b.Figure, 2) + unit
}
