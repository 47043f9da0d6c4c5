package lab

import (
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
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
	Key      bool         `json:"key,omitempty"`      // one of the few that show the answer, where there is little space
	// Known is false if the interval is too wide to show the figure; see
	// [stat.Summary.Known].
	Known bool `json:"known"`
}

// barOf returns the bar of a figure.
func barOf(label string, s stat.Summary) Bar { return Bar{Label: label, Figure: s, Known: s.Known()} }

// Text writes the figure with its unit: "47 ns". From 10 on it is a whole number.
// An unknown figure is [format.NotKnown].
func (b Bar) Text(unit string) string {
	switch {
	case !b.Known:
		return format.NotKnown
	case b.Figure.Median < 10:
		return coarsely(b.Figure, 0) + unit
	}
	return coarsely(b.Figure, 2.5) + unit
}

// A way is a contender as a chart of bars names it, and as a sentence does:
// "through a buffered channel". Without words it is in no sentence. A key way is
// shown where there is little space.
type way struct {
	contender ContenderID
	label     string
	words     string
	key       bool
}

// bars returns the bars of the measured ways at one place, in order.
func (m *Measured) bars(section SectionID, panel Panel, x string, baseline ContenderID, ways []way) []Bar {
	var bars []Bar
	for _, w := range ways {
		if samples := m.Samples(section, panel, x, w.contender, measure.NsPerOp); len(samples) > 0 {
			bar := barOf(w.label, stat.Summarize(samples))
			bar.Baseline, bar.Key = w.contender == baseline, w.key
			bars = append(bars, bar)
		}
	}
	return bars
}

// costSentence says what one value costs, by the known bars of ways with words.
func costSentence(c Chart, ways []way) string {
	var parts []string
	for _, w := range ways {
		if text := c.cost(w.label); w.words != "" && text != format.NotKnown {
			parts = append(parts, text+" "+w.words)
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
			return bar.Text(" ns")
		}
	}
	return format.NotKnown
}

// behind returns a remark on a labeled bar and on its baseline: " (batch.Sender
// of 64: 11 ns instead of 63 ns)", or the label alone if one of them is not known.
func (c Chart) behind(label string) string {
	for _, bar := range c.Bars {
		if figures := instead(c.cost(label), bar.Text(" ns")); bar.Baseline && figures != "" {
			return " (" + label + ": " + strings.TrimPrefix(figures, " (")
		}
	}
	return " (" + label + ")"
}

// instead writes two figures in brackets, or nothing if one is not known.
func instead(now, before string) string {
	if now == format.NotKnown || before == format.NotKnown {
		return ""
	}
	return " (" + now + " instead of " + before + ")"
}
