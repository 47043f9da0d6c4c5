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
	if spread > LoudNoise {
		lines = paragraph(s, loud, fmt.Sprintf("NOISY MACHINE: the time of a fixed loop varied by %.0f%%. Figures are rough.", 100*spread), "  ")
	}
	before, behind := fmt.Sprintf("%s on %s: ", Tool, format.Plural(m.CPUs, "CPU")), fmt.Sprintf(", %s/%s", m.OS, m.Arch)
	cpu := format.Cut(m.CPU, max(format.UsualWidth, s.Width)-len(before)-len(behind))
	lines = append(lines, paragraph(s, "", before+cpu+behind, "  ")...)
	about := []string{m.Go, "sluice: " + cmp.Or(m.Version, "commit unknown")}
	if m.Quota != nil && *m.Quota > 0 {
		about = append(about, "cgroup quota "+m.QuotaText())
	}
	if known && (spread > LoudNoise || !r.tally().often()) {
		noise := fmt.Sprintf("speed varied by %s", format.Percent(spread))
		if !after {
			noise += " before the run"
		}
		about = append(about, noise)
	}
	return append(lines, paragraph(s, "", strings.Join(about, ", "), "  ")...)
}

// WriteScreen writes what a person needs to know of a run: why not to trust it,
// what channels cost, the largest results, and a small chart for each study. path
// is the page with the rest. With the head it fits on one screen.
func (r *Report) WriteScreen(w io.Writer, s format.Screen, path string) error {
	room := screenLines - len(r.head(s)) - otherLines
	var lines []string
	for _, detail := range details {
		lines = r.screen(s, detail, path)
		// A narrow screen scrolls: it lacks no result because of its width.
		if len(lines) <= room || s.Width < format.UsualWidth && detail == narrow {
			break
		}
	}
	return format.WriteLines(w, lines)
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

func (r *Report) screen(s format.Screen, d detail, path string) []string {
	var lines []string
	for _, w := range r.warnings() {
		style := map[bool]string{true: loud, false: bold}[w.loud]
		for _, line := range w.lines {
			if w.loud {
				line = format.Cut(line, max(format.UsualWidth, s.Width)) // the report has all of it
			}
			lines = append(lines, paragraph(s, style, line, "  ")...)
		}
	}
	if r.Overview.Sentence != "" {
		lines = append(lines, "")
		lines = append(lines, paragraph(s, bold, r.Overview.Sentence, "")...)
	}
	for i, answer := range r.Overview.Answers[:min(d.largest, len(r.Overview.Answers))] {
		lines = append(lines, paragraph(s, "", fmt.Sprintf("%d. %s", i+1, answer), "   ")...)
	}
	common := r.commonConditions()
	if len(r.charted()) > 0 {
		lines = append(lines, "")
		lines = append(lines, paragraph(s, "", r.key(common, s.Width >= format.UsualWidth), "")...)
	}
	scale := r.barScale(s, d)
	for _, e := range r.charted() {
		lines = append(lines, e.lines(s, d, common, scale)...)
	}
	lines = append(lines, "")
	return append(lines, r.ending(s, path)...)
}

// charted returns the experiments with a chart.
func (r *Report) charted() []*Experiment {
	var all []*Experiment
	for i := range r.Experiments {
		if len(r.Experiments[i].Bars) > 0 {
			all = append(all, &r.Experiments[i])
		}
	}
	return all
}

// commonConditions returns the end of the conditions that all charts share, such
// as ", GOMAXPROCS=2", or "".
func (r *Report) commonConditions() string {
	common := ""
	for i, e := range r.charted() {
		last := strings.LastIndex(e.Conditions, ", "+lab.AxisProcs)
		if last < 0 || i > 0 && e.Conditions[last:] != common {
			return ""
		}
		common = e.Conditions[last:]
	}
	return common
}

// ending has the path of the report.
func (r *Report) ending(s format.Screen, path string) []string {
	text := fmt.Sprintf("Measured in %v. All figures: -v, %s and %s.", time.Duration(r.Took).Round(time.Second), BenchmarksFile, JSONFile)
	if vague := slices.ContainsFunc(r.charted(), func(e *Experiment) bool {
		return slices.ContainsFunc(e.Bars, func(b lab.Bar) bool { return !b.Shown() })
	}); vague {
		text += fmt.Sprintf(" With more repetitions, more figures are known: %s.", format.RepeatMore)
	}
	lines := paragraph(s, "", text, "")
	// A path is not broken, so that it can be copied.
	return append(lines, s.In(bold, "The report is "+path))
}

// lines draws the study: its question with the conditions, and bars.
func (e *Experiment) lines(s format.Screen, d detail, common string, scale barScale) []string {
	title := e.Title + " (" + strings.TrimSuffix(e.Conditions, common) + ")"
	lines := paragraph(s, bold, title, "  ")
	if d.answers {
		lines = append(lines, paragraph(s, "", "  "+strings.TrimSpace(e.Answer+" "+e.Advice), "  ")...)
	}
	return append(lines, bars(s, e.shown(d), shortUnit(e.Unit), scale)...)
}

// shown returns the bars that are shown.
func (e *Experiment) shown(d detail) []lab.Bar {
	if d.bars == every {
		return e.Bars
	}
	shown := slices.DeleteFunc(slices.Clone(e.Bars), func(b lab.Bar) bool { return !b.Key })
	return shown[:min(d.bars, len(shown))]
}

// shortUnit is the unit behind a figure.
func shortUnit(unit string) string {
	if strings.HasPrefix(unit, "%") {
		return "% longer"
	}
	first, _, _ := strings.Cut(unit, " ")
	return " " + first
}

// A barScale is what all charts of a screen share, so that the lengths of their
// bars can be compared.
type barScale struct {
	label, figure int                // widths
	widest        map[string]float64 // the largest known figure, by unit
}

func (r *Report) barScale(s format.Screen, d detail) barScale {
	scale := barScale{widest: make(map[string]float64)}
	for _, e := range r.charted() {
		scale.cover(s, e.shown(d), shortUnit(e.Unit))
	}
	return scale
}

// cover widens the scale for bars.
func (b *barScale) cover(s format.Screen, bars []lab.Bar, unit string) {
	for _, bar := range bars {
		b.label = max(b.label, displaywidth.String(bar.Label))
		if bar.Shown() {
			b.figure = max(b.figure, displaywidth.String(figureText(bar, unit, s.Width >= format.UsualWidth)))
			b.widest[unit] = max(b.widest[unit], bar.Drawn().Median)
		}
	}
}

// key explains the charts of a screen, in a line.
func (r *Report) key(common string, intervals bool) string {
	text, units := "Less is better", make(map[string]int)
	for _, e := range r.charted() {
		units[shortUnit(e.Unit)]++
	}
	if units[" ns"] > 1 {
		text += "; ns bars share a scale"
	}
	if intervals {
		text += "; (a to b): 95% interval"
	}
	if common != "" {
		text += ";" + strings.TrimPrefix(common, ",")
	}
	return text + "."
}

// eighths are the last characters of a bar, by eighths of a character.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bars draws bars from zero, behind their labels. A figure of which nothing is
// known has none.
func bars(s format.Screen, bars []lab.Bar, unit string, scale barScale) []string {
	const margins, least = 4, 4 // two spaces in front, and one behind the label and the bar; of a bar
	label := min(scale.label, max(12, s.Width-margins-scale.figure-least))
	room, widest := max(1, s.Width-margins-label-scale.figure), scale.widest[unit]
	var lines []string
	for _, b := range bars {
		text, style := format.Cut(format.Clean(b.Label), label), tint
		if b.Baseline {
			style = ""
		}
		line := "  " + text + format.Pad(text, label) + " "
		if b.Shown() && widest > 0 {
			n := max(1, int(8*float64(room)*b.Drawn().Median/widest+0.5))
			line += s.In(style, strings.Repeat("█", n/8)+eighths[n%8]) + " "
		}
		lines = append(lines, line+format.Clean(figureText(b, unit, s.Width >= format.UsualWidth)))
	}
	return lines
}

// figureText writes a figure behind its bar, with its interval if there is room.
func figureText(b lab.Bar, unit string, interval bool) string {
	switch f := b.Figure; {
	case !b.Shown() && interval:
		return format.NotKnown // the end of the screen says what would make it known
	case b.Known && interval && f.Confidence > 0:
		return format.CoarseInterval(f.Median, f.Lo, f.Hi, unit)
	case f.Confidence == 0 && b.Known:
		return "~" + b.Text(unit)
	}
	return b.Text(unit)
}
