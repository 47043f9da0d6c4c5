package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// On a terminal of [format.UsualWidth] and more, all that a run writes fits on screenLines.
const screenLines = 45

// otherLines are the most lines that a run writes besides: how long it will take,
// where its report goes, how to resume it, and its error.
const otherLines = 4

// Styles of a screen.
const (
	bold = "\x1b[1m"
	loud = "\x1b[1;31m"
	tint = "\x1b[36m"
)

// paragraph breaks text into lines, and no figure from its unit.
func paragraph(s format.Screen, style, text, indent string) []string {
	return s.Paragraph(style, unbroken(text), indent)
}

// WriteHead describes the machine and its noise, in three lines at 80 columns.
func (r *Report) WriteHead(w io.Writer, s format.Screen) error {
	return format.WriteLines(w, r.head(s))
}

func (r *Report) head(s format.Screen) []string {
	m := r.Machine
	var lines []string
	spread, known, after := r.noise()
	if spread > loudNoise {
		lines = paragraph(s, loud, fmt.Sprintf("NOISY MACHINE: the time of a fixed loop varied by %.0f%%. Figures are rough.", 100*spread), "  ")
	}
	before, behind := fmt.Sprintf("%s on %s: ", Tool, format.Plural(m.CPUs, "CPU")), fmt.Sprintf(", %s/%s", m.OS, m.Arch)
	cpu := format.Cut(m.CPU, max(format.UsualWidth, s.Width)-len(before)-len(behind))
	lines = append(lines, paragraph(s, "", before+cpu+behind, "  ")...)
	about := []string{m.Go, "sluice: " + cmp.Or(m.Version, "commit unknown")}
	if m.Quota != nil && *m.Quota > 0 {
		about = append(about, "cgroup quota "+m.QuotaText())
	}
	if known && (spread > loudNoise || !r.tally().often()) {
		noise := fmt.Sprintf("speed varied by %s", format.Percent(spread))
		if !after {
			noise += " before the run"
		}
		about = append(about, noise)
	}
	return append(lines, paragraph(s, "", strings.Join(about, ", "), "  ")...)
}

// A screen is what a person needs to know of a run.
type screen struct {
	format.Screen
	*Report
	studies []*Experiment // with a chart
	common  string        // the end of their conditions, if they share it: ", GOMAXPROCS=2"
	detail  detail
	lines   []string
}

// A detail says how much a screen shows.
type detail struct {
	largest int  // of the largest results
	answers bool // the answer and the advice of each study
	bars    int  // of each study: every, or the most of those with Key
}

// every bar of a study, and those with Key.
const (
	every = 6
	keys  = 3
)

// narrow is the least detail with all of the largest results.
var narrow = detail{4, false, keys}

// details are the details from the most to the least.
var details = []detail{
	{4, true, every}, {4, true, keys}, {4, false, every}, narrow,
	{3, false, keys}, {2, false, keys}, {1, false, keys}, {0, false, keys}, {0, false, keys - 1},
}

// WriteScreen writes why not to trust a run, what channels cost, the largest results, and
// a small chart for each study. path is the page with the rest. With the head it fits on
// one screen.
func (r *Report) WriteScreen(w io.Writer, s format.Screen, path string) error {
	c := screen{Screen: s, Report: r}
	for i := range r.Experiments {
		if e := &r.Experiments[i]; len(e.Bars) > 0 {
			_, procs, _ := strings.Cut(e.Conditions, ", "+lab.AxisProcs)
			if procs = ", " + lab.AxisProcs + procs; len(c.studies) > 0 && procs != c.common || !strings.HasSuffix(e.Conditions, procs) {
				procs = ""
			}
			c.studies, c.common = append(c.studies, e), procs
		}
	}
	room := screenLines - len(r.head(s)) - otherLines
	for _, c.detail = range details {
		c.fill(path)
		// A narrow screen scrolls: it lacks no result because of its width.
		if len(c.lines) <= room || s.Width < format.UsualWidth && c.detail == narrow {
			break
		}
	}
	return format.WriteLines(w, c.lines)
}

// say adds a paragraph.
func (c *screen) say(style, text, indent string) {
	c.lines = append(c.lines, paragraph(c.Screen, style, text, indent)...)
}

// fill writes the lines.
func (c *screen) fill(path string) {
	c.lines = nil
	for _, w := range c.warnings() {
		style := bold
		if w.loud {
			style = loud
		}
		for _, line := range w.lines {
			if w.loud {
				line = format.Cut(line, max(format.UsualWidth, c.Width)) // the report has all of it
			}
			c.say(style, line, "  ")
		}
	}
	if c.Overview.Sentence != "" {
		c.lines = append(c.lines, "")
		c.say(bold, c.Overview.Sentence, "")
	}
	for i, answer := range c.Overview.Answers[:min(c.detail.largest, len(c.Overview.Answers))] {
		c.say("", fmt.Sprintf("%d. %s", i+1, answer), "   ")
	}
	if len(c.studies) > 0 {
		c.lines = append(c.lines, "")
		c.say("", c.key(), "")
	}
	vague := false
	for i, bars := range c.bars() {
		e := c.studies[i]
		c.say(bold, e.Title+" ("+strings.TrimSuffix(e.Conditions, c.common)+")", "  ")
		if c.detail.answers {
			c.say("", "  "+strings.TrimSpace(e.Answer+" "+e.Advice), "  ")
		}
		c.lines = append(c.lines, bars...)
		vague = vague || slices.ContainsFunc(e.Bars, func(b lab.Bar) bool { return !b.Shown() })
	}
	text := fmt.Sprintf("Measured in %v. All figures: -v, %s and %s.", time.Duration(c.Took).Round(time.Second), BenchmarksFile, JSONFile)
	if vague {
		text += fmt.Sprintf(" With more repetitions, more figures are known: %s.", format.RepeatMore)
	}
	c.lines = append(c.lines, "")
	c.say("", text, "")
	c.lines = append(c.lines, c.In(bold, "The report is "+path)) // not broken, so that it can be copied
}

// key explains the charts, in a line.
func (c *screen) key() string {
	text, ns := "Less is better", 0
	for _, e := range c.studies {
		ns += one(shortUnit(e.Unit) == " ns")
	}
	if ns > 1 {
		text += "; ns bars share a scale"
	}
	if c.Width >= format.UsualWidth {
		text += "; (a to b): 95% interval"
	}
	if c.common != "" {
		text += ";" + strings.TrimPrefix(c.common, ",")
	}
	return text + "."
}

// shown returns the bars of a study that are shown.
func (c *screen) shown(e *Experiment) []lab.Bar {
	if c.detail.bars == every {
		return e.Bars
	}
	shown := slices.DeleteFunc(slices.Clone(e.Bars), func(b lab.Bar) bool { return !b.Key })
	return shown[:min(c.detail.bars, len(shown))]
}

// shortUnit is the unit behind a figure.
func shortUnit(unit string) string {
	if strings.HasPrefix(unit, "%") {
		return "% longer"
	}
	first, _, _ := strings.Cut(unit, " ")
	return " " + first
}

// eighths are the last characters of a bar, by eighths of a character.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bars draws bars from zero, behind their labels, for each study. All bars of a unit share
// a scale, so that their lengths can be compared. A figure of which nothing is known has
// none.
func (c *screen) bars() [][]string {
	const margins, least = 4, 4 // two spaces in front, and one behind the label and the bar; of a bar
	var label, figure int       // widths
	widest := make(map[string]float64)
	for _, e := range c.studies {
		unit := shortUnit(e.Unit)
		for _, b := range c.shown(e) {
			label = max(label, displaywidth.String(b.Label))
			if b.Shown() {
				figure = max(figure, displaywidth.String(c.figure(b, unit)))
				widest[unit] = max(widest[unit], b.Drawn().Median)
			}
		}
	}
	label = min(label, max(12, c.Width-margins-figure-least))
	room := max(1, c.Width-margins-label-figure)
	var all [][]string
	for _, e := range c.studies {
		var lines []string
		unit := shortUnit(e.Unit)
		for _, b := range c.shown(e) {
			text, style := format.Cut(format.Clean(b.Label), label), tint
			if b.Baseline {
				style = ""
			}
			line := "  " + text + format.Pad(text, label) + " "
			if b.Shown() && widest[unit] > 0 {
				n := max(1, int(8*float64(room)*b.Drawn().Median/widest[unit]+0.5))
				line += c.In(style, strings.Repeat("█", n/8)+eighths[n%8]) + " "
			}
			lines = append(lines, line+format.Clean(c.figure(b, unit)))
		}
		all = append(all, lines)
	}
	return all
}

// figure writes a figure behind its bar, with its interval if there is room.
func (c *screen) figure(b lab.Bar, unit string) string {
	f := b.Figure
	switch {
	case b.Known && f.Confidence > 0 && c.Width >= format.UsualWidth:
		return format.CoarseInterval(f.Median, f.Lo, f.Hi, unit)
	case b.Known && f.Confidence == 0:
		return "~" + b.Text(unit)
	}
	return b.Text(unit)
}
