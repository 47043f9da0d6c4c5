package lab

import (
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A Chart is a few bars that show one thing: all were measured under the same
// conditions. Less is better.
type Chart struct {
	Conditions string `json:"conditions,omitempty"` // in words: "2 senders, 1 receiver, GOMAXPROCS=2"
	Unit       string `json:"unit,omitempty"`       // of the figures: "ns per value"
	Bars       []Bar  `json:"bars,omitempty"`
}

// A Bar is one figure of a chart.
type Bar struct {
	Label    string       `json:"label"`
	Figure   stat.Summary `json:"figure"`
	Baseline bool         `json:"baseline,omitempty"` // the built-in channel that the others are compared with

	words string // of the way
}

// Family returns the family of the bar's way.
func (b Bar) Family() Family { return FamilyOf(ContenderID(b.Label)) }

// Text writes the figure with two digits and its unit: "47 ns". An unknown figure is
// [format.NotKnown].
func (b Bar) Text(unit string) string {
	if !b.Figure.Known() {
		return format.NotKnown
	}
	return format.Coarse(b.Figure.Median) + " " + unit
}

// ShortUnit returns the unit behind a figure: "ns".
func (c Chart) ShortUnit() string {
	short, _, _ := strings.Cut(c.Unit, " ")
	return short
}

// A way is a contender as a chart of bars names it, and as a sentence does:
// "through a buffered channel". Without words it is in no sentence.
type way struct {
	contender ContenderID
	label     string
	words     string
}

// bars returns the bars of the measured ways at one point, in order.
func (s spot) bars(m Measure, baseline ContenderID, ways ...way) []Bar {
	var bars []Bar
	for _, w := range ways {
		if summary := s.summary(w.contender); summary.N > 0 {
			bars = append(bars, Bar{w.label, m.Show(summary), w.contender == baseline, w.words})
		}
	}
	return bars
}

// costs returns the known figures of bars with words: "8.0 µs through a channel and …".
func (c Chart) costs() string {
	var parts []string
	for _, bar := range c.Bars {
		if bar.words != "" && bar.Figure.Known() {
			parts = append(parts, bar.Text(c.ShortUnit())+" "+bar.words)
		}
	}
	return format.And(parts)
}

// An Overview has the costs of channels on this machine, across all studies of a
// run. It is empty if no study was measured.
type Overview struct {
	Sentence string `json:"sentence,omitempty"` // what one value costs, if that was measured
	Chart           // what one value costs through each way
}

// NewOverview draws an overview from the conclusions of a run. The costs come from the
// study that measured the most ways to send one value or, without any, from the first.
func NewOverview(conclusions []Conclusion) Overview {
	var o Overview
	most := 0
	for _, c := range conclusions {
		if costs := c.costs(); c.Unit == PerValue.Axis && costs != "" && len(c.Bars) > most {
			o, most = Overview{"One value costs " + costs + " (" + c.Conditions + ").", c.Chart}, len(c.Bars)
		} else if len(o.Bars) == 0 {
			o.Chart = c.Chart
		}
	}
	return o
}
