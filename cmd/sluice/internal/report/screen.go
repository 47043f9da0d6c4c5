package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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

// LoudNoise is the variation of a simple loop above which a report begins with a
// warning.
const LoudNoise = 0.20

// noise returns the largest variation that was measured in any sitting.
func (r *Report) noise() (spread float64, known bool) {
	for _, sitting := range r.Sittings {
		if sitting.Before != nil {
			spread, known = max(spread, sitting.Before.Spread), true
		}
		if sitting.After != nil {
			spread, known = max(spread, sitting.After.Spread), true
		}
	}
	return spread, known
}

// measuredAfter reports whether the noise was measured after a sitting, too.
func (r *Report) measuredAfter() bool {
	return slices.ContainsFunc(r.Sittings, func(s Sitting) bool { return s.After != nil })
}

// noisy returns the warning about a noisy machine, or "".
func (r *Report) noisy() string {
	spread, _ := r.noise()
	if spread <= LoudNoise {
		return ""
	}
	return fmt.Sprintf("NOISY MACHINE: the time of a fixed loop varied by %.0f%%. Figures are rough.", 100*spread)
}

// WriteHead describes the machine and its noise, in three lines at 80 columns.
func (r *Report) WriteHead(w io.Writer, s format.Screen) error {
	return format.WriteLines(w, r.head(s))
}

func (r *Report) head(s format.Screen) []string {
	m := r.Machine
	lines := paragraph(s, loud, r.noisy(), "  ")
	if r.noisy() == "" {
		lines = nil
	}
	before, behind := fmt.Sprintf("%s on %s: ", Tool, format.Plural(m.CPUs, "CPU")), fmt.Sprintf(", %s/%s", m.OS, m.Arch)
	cpu := format.Cut(m.CPU, max(format.UsualWidth, s.Width)-len(before)-len(behind))
	lines = append(lines, paragraph(s, "", before+cpu+behind, "  ")...)
	about := []string{m.Go, "sluice: " + cmp.Or(m.Version, "commit unknown")}
	if m.Quota != nil && *m.Quota > 0 {
		about = append(about, "cgroup quota "+m.QuotaText())
	}
	if spread, known := r.noise(); known && (spread > LoudNoise || !r.oftenDisturbed()) {
		noise := fmt.Sprintf("speed varied by %s", format.Percent(spread))
		if !r.measuredAfter() {
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
	lines := r.distrust(s)
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

// distrust returns a line for each reason not to trust the figures.
func (r *Report) distrust(s format.Screen) []string {
	var lines []string
	say := func(style, text string) { lines = append(lines, paragraph(s, style, text, "  ")...) }
	for i, failure := range r.Failures {
		if i == 2 {
			say(loud, fmt.Sprintf("… and %d more failures: see the report.", len(r.Failures)-i))
			break
		}
		say(loud, format.Cut("FAILED: "+failure, max(format.UsualWidth, s.Width))) // the report has all of it
	}
	points, _, few := r.count()
	if n := len(r.Missing); r.Interrupted && n > 0 {
		say(loud, fmt.Sprintf("Interrupted: %s %s missing or incomplete, of %d.", format.Plural(n, "measurement"), format.Are(n), r.all()))
	}
	if text := r.reducedText(); text != "" {
		say(bold, "Reduced: "+text)
	}
	if r.oftenDisturbed() {
		say(bold, fmt.Sprintf("Disturbed: other programs ran in %d of %s, so figures are rough. Run again when idle.", len(r.disturbed()), format.Plural(points, "measurement")))
	}
	if 2*few > points {
		say("", "Too few repetitions for intervals: nothing here is known to be beyond noise.")
	}
	if n := len(r.Sittings); n > 1 {
		say("", fmt.Sprintf("The run was interrupted and resumed; its %d parts started at different times.", n))
	}
	return lines
}

// all returns the number of points, and disturbed those that were disturbed.
func (r *Report) all() int {
	n := 0
	r.eachPoint(func(*Experiment, *Point) { n++ })
	return n
}

// oftenDisturbed reports whether other programs took the CPUs at more than a fifth
// of the points.
func (r *Report) oftenDisturbed() bool {
	points, _, _ := r.count()
	return 5*len(r.disturbed()) > points
}

func (r *Report) disturbed() []*Point {
	var points []*Point
	r.eachPoint(func(_ *Experiment, p *Point) {
		if len(p.Disturbed) > 0 {
			points = append(points, p)
		}
	})
	return points
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
