package lab

import (
	"fmt"
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
	Key      bool         `json:"key,omitempty"`      // one of the few that show the answer, where there is little space
	// Known is false if the interval is too wide to show the figure; see
	// [stat.Summary.Known].
	Known bool `json:"known"`
	// Limited is true if only an upper limit of the figure is known; see
	// [Measure.Limited].
	Limited bool `json:"limited,omitempty"`
}

// barOf returns the bar of a figure.
func barOf(label string, s stat.Summary) Bar { return Bar{Label: label, Figure: s, Known: s.Known()} }

// Family returns the family of the bar's way, by its label.
func (b Bar) Family() Family {
	switch {
	case strings.HasPrefix(b.Label, "no chan"):
		return FamilyNone
	case strings.HasPrefix(b.Label, "hand-made"):
		return FamilyPublished
	case strings.Contains(b.Label, "chan"):
		return FamilyNative
	}
	return FamilySluice
}

// Shown reports whether there is anything to show: the figure, or its limit.
func (b Bar) Shown() bool { return b.Known || b.Limited }

// Drawn returns the summary that a chart draws: the figure with its interval, or its
// limit alone.
func (b Bar) Drawn() stat.Summary {
	s := b.Figure
	if b.Limited {
		s.Median, s.Lo = s.Hi, s.Hi
	}
	return s
}

// Text writes the figure with two digits and its unit: "47 ns"; or its limit: "< 4
// ns". An unknown figure is [format.NotKnown].
func (b Bar) Text(unit string) string {
	switch {
	case b.Known:
		return format.Coarse(b.Figure.Median) + unit
	case b.Limited:
		return format.Below(b.Figure.Hi) + unit
	}
	return format.NotKnown
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

// bars returns the bars of the measured ways at one point, in order.
func (s spot) bars(m Measure, baseline ContenderID, ways ...way) []Bar {
	var bars []Bar
	for _, w := range ways {
		if summary := s.summary(w.contender); summary.N > 0 {
			bar := barOf(w.label, m.Show(summary))
			bar.Limited, bar.Baseline, bar.Key = m.Limited(bar.Figure), w.contender == baseline, w.key
			bars = append(bars, bar)
		}
	}
	return bars
}

// listed returns the known figures of ways with words: "8.0 µs through a channel, …".
func (c Chart) listed(unit string, ways ...way) string {
	var parts []string
	for _, w := range ways {
		if bar := c.bar(w.label); w.words != "" && bar.Shown() {
			parts = append(parts, bar.Text(unit)+" "+w.words)
		}
	}
	return format.And(parts)
}

// costSentence returns the cost of one value, by the known bars of ways with words.
func costSentence(c Chart, ways ...way) string {
	if costs := c.listed(" ns", ways...); costs != "" {
		return "One value costs " + costs + " (" + c.Conditions + ")."
	}
	return ""
}

// bar returns the labeled bar, or an unknown one.
func (c Chart) bar(label string) Bar {
	for _, bar := range c.Bars {
		if bar.Label == label {
			return bar
		}
	}
	return Bar{Label: label}
}

// know reports whether the figures of two labeled bars are known.
func (c Chart) know(a, b string) bool { return c.bar(a).Known && c.bar(b).Known }

// times returns how many times the cost of a bar is the cost of another, both known, by
// their shown figures. If these hide the change, it is the factor of the change.
func (c Chart) times(slow, fast string, slower stat.Change) string {
	s, f := c.bar(slow).Figure.Median, c.bar(fast).Figure.Median
	if text := format.CoarseTimes(s, f); s > f && text != "1.0" {
		return text
	}
	return times(slower)
}

// speed compares a bar with a base in words, from the change that the base makes
// to its time: "is 6.0 times as fast as a channel".
func (c Chart) speed(slower stat.Change, label, base, other string) string {
	switch {
	case !c.know(label, base):
	case more(slower):
		return "is " + c.times(base, label, slower) + " times as fast as " + other
	case less(slower):
		return "takes " + c.times(label, base, slower) + " times as long as " + other
	case within25(slower):
		return "is as fast as " + other + ", within noise"
	}
	return "may be faster or slower than " + other + " (" + format.NotKnownHere + ")"
}

// load is the part of the conditions before GOMAXPROCS: "1 sender, 1 receiver".
func (c Chart) load() string {
	load, _, _ := strings.Cut(c.Conditions, ", "+AxisProcs)
	return load
}

// claim returns a claim if the slow bar clearly costs more than the fast one. says has
// the places of the factor and of the two costs, the fast one first: "A buffer makes a
// channel %s times as fast (%s instead of %s)."
func (c Chart) claim(topic string, slower stat.Change, slow, fast, says string) []claim {
	if !more(slower) || !c.know(slow, fast) {
		return nil
	}
	return []claim{newClaim(topic, slower, fmt.Sprintf(says, c.times(slow, fast, slower), c.bar(fast).Text(" ns"), c.bar(slow).Text(" ns")))}
}

// bufferClaim is the gain of a buffer of that many slots.
func (c Chart) bufferClaim(slower stat.Change, without, with, slots string) []claim {
	return c.claim(aboutBuffers, slower, without, with, "A buffer of "+slots+
		" slots makes a channel %s times as fast (%s instead of %s; "+c.load()+"). Buffer channels whose sender need not wait.")
}
