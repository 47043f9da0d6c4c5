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

// On a terminal of [format.UsualWidth] and more, all that a run writes fits on screenLines:
// with the head and with at most otherLines besides, which say how long it will take, how to
// resume it, and its error.
const (
	screenLines = 45
	otherLines  = 4
)

// Styles of a screen.
const (
	bold = "\x1b[1m"
	loud = "\x1b[1;31m"
	tint = "\x1b[36m"
)

// WriteHead describes the machine and its noise, in three lines at 80 columns.
func (r *Report) WriteHead(w io.Writer, s format.Screen) error {
	return format.WriteLines(w, r.head(s))
}

func (r *Report) head(s format.Screen) []string {
	m := r.Machine
	before, behind := fmt.Sprintf("%s on %s: ", Tool, format.Plural(m.CPUs, "CPU")), fmt.Sprintf(", %s/%s", m.OS, m.Arch)
	cpu := format.Cut(m.CPU, max(format.UsualWidth, s.Width)-len(before)-len(behind))
	about := []string{m.Go, "sluice: " + cmp.Or(m.Version, "commit unknown")}
	if m.Quota != nil && *m.Quota > 0 {
		about = append(about, "cgroup quota "+m.QuotaText())
	}
	// A quiet loop says nothing about a disturbed run.
	if spread, known, after := r.noise(); known && (spread > loudNoise || !r.tally().often()) {
		noise := "speed varied by " + format.Percent(spread)
		if !after {
			noise += " before the run"
		}
		about = append(about, noise)
	}
	return slices.Concat(s.Paragraph("", unbroken(before+cpu+behind), "  "), s.Paragraph("", unbroken(strings.Join(about, ", ")), "  "))
}

// shownOfList are the entries of a warning that a screen shows.
const shownOfList = 2

// WriteScreen writes why not to trust a run, what channels cost, and the answer of each
// study: what the page at path begins with. The chart of the costs is left out if there is
// no room.
func (r *Report) WriteScreen(w io.Writer, s format.Screen, path string) error {
	var lines []string
	say := func(style, text, indent string) { lines = append(lines, s.Paragraph(style, unbroken(text), indent)...) }
	for _, w := range r.warnings() {
		if !w.Loud {
			continue
		}
		style := bold
		if w.Grave {
			style = loud
		}
		say(style, w.Title+": "+w.Text, "  ")
		for i, line := range w.List {
			if i < shownOfList && w.Grave {
				say("", format.Cut("- "+line, max(format.UsualWidth, s.Width)), "  ") // the report has all of it
			}
		}
	}
	lines = append(lines, "")
	if r.Overview.Sentence != "" {
		say(bold, r.Overview.Sentence, "")
	}
	belowSentence := len(lines)
	lines = append(lines, "")
	for _, e := range r.Experiments {
		if len(r.Experiments) == 1 {
			e.Answer += " " + e.Advice
		}
		if e.Answer != "" {
			say("", "- "+e.Answer, "  ")
		}
	}
	lines = append(lines, "")
	say("", fmt.Sprintf("Measured in %v. What to do, and all figures: -v, %s and %s. More repetitions decide more: %s.",
		time.Duration(r.Took).Round(time.Second), BenchmarksFile, JSONFile, format.RepeatMore), "")
	lines = append(lines, s.In(bold, "The report is "+path)) // not broken, so that it can be copied
	if chart := drawn(s, r.Overview.Chart); len(r.head(s))+len(lines)+len(chart) <= screenLines-otherLines {
		lines = slices.Insert(lines, belowSentence, chart...)
	}
	return format.WriteLines(w, lines)
}

// eighths are the last characters of a bar, by eighths of a character.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// drawn draws bars from zero, between their labels and their figures, which have an interval
// if there is room. A figure that is not known has no bar.
func drawn(s format.Screen, c lab.Chart) []string {
	const margins, least = 4, 4 // two spaces in front, and one behind the label and the bar; of a bar
	var label, figure int       // widths
	var widest float64
	figures := make([]string, len(c.Bars))
	for i, b := range c.Bars {
		f := b.Figure
		figures[i] = format.Clean(b.Text(c.ShortUnit()))
		switch {
		case f.Known() && f.Confidence == 0:
			figures[i] = "~" + figures[i]
		case f.Known() && s.Width >= format.UsualWidth:
			figures[i] = format.Clean(format.CoarseInterval(f.Median, f.Lo, f.Hi, " "+c.ShortUnit()))
		}
		label, figure = max(label, displaywidth.String(b.Label)), max(figure, displaywidth.String(figures[i]))
		if f.Known() {
			widest = max(widest, f.Median)
		}
	}
	label = min(label, max(12, s.Width-margins-figure-least))
	room := max(1, s.Width-margins-label-figure)
	var lines []string
	for i, b := range c.Bars {
		text, style := format.Cut(format.Clean(b.Label), label), tint
		if b.Baseline {
			style = ""
		}
		line := "  " + text + format.Pad(text, label) + " "
		if b.Figure.Known() && widest > 0 {
			n := max(1, int(8*float64(room)*b.Figure.Median/widest+0.5))
			line += s.In(style, strings.Repeat("█", n/8)+eighths[n%8]) + " "
		}
		lines = append(lines, line+figures[i])
	}
	return lines
}
