// Package progress shows the progress of a run of the lab: a bar on a terminal,
// plain lines elsewhere.
//
// What may enter: ways to show the events of a measure.Observer. None of them
// may work while a pass is timed, so none has a goroutine or a timer.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// A Display is an Observer with an end.
type Display interface {
	measure.Observer
	// Finish clears the terminal for the next output.
	Finish()
}

// New returns a bar if w is a terminal, and otherwise lines: one for each point or, if
// brief, for each tenth of the run. steps is the number of repetitions.
func New(w io.Writer, steps int, brief bool) Display {
	if width, terminal := format.Terminal(w); terminal {
		return newBar(w, steps, cmp.Or(width, format.UsualWidth))
	}
	return &lines{w: w, steps: steps, brief: brief, began: time.Now()}
}

// bar is a progress bar, followed by the name of the current point.
type bar struct {
	bar   *progressbar.ProgressBar
	room  int // characters for the name of a point
	point *measure.Point
}

// besides is the width of a line without the name of a point: the bar, the
// percentage and the times.
const besides = 46

func newBar(w io.Writer, steps, width int) *bar {
	return &bar{
		room: max(0, width-besides),
		bar: progressbar.NewOptions(steps,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetWidth(20),
			progressbar.OptionSetTheme(progressbar.Theme{
				Saucer: "━", SaucerHead: "━", SaucerPadding: " ", BarStart: "", BarEnd: "",
			}),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionShowDescriptionAtLineEnd(),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(true),
		),
	}
}

func (b *bar) Start(point *measure.Point, _ measure.ContenderID) {
	if point == b.point {
		return
	}
	b.point = point
	b.bar.Describe(format.Cut(point.Name, b.room))
}

func (b *bar) Done() { _ = b.bar.Add(1) } // a failed write only loses the bar

// More moves the end, and extends the remaining time.
func (b *bar) More(steps int) { b.bar.ChangeMax(b.bar.GetMax() + steps) }

func (b *bar) Finish() { _ = b.bar.Clear() }

// lines writes a line at the start of a point, if at least every percent of the
// run are over since the last line.
type lines struct {
	w     io.Writer
	steps int
	brief bool
	next  int // percent of the next line
	done  int
	began time.Time
	point *measure.Point
}

func (l *lines) Start(point *measure.Point, _ measure.ContenderID) {
	if point == l.point {
		return
	}
	l.point = point
	percent := 100 * l.done / l.steps
	if percent < l.next {
		return
	}
	if l.brief {
		l.next = (percent/10 + 1) * 10
	}
	fmt.Fprintf(l.w, "%3d%%  %4s  %s\n", percent, time.Since(l.began).Round(time.Second), point.Name)
}

func (l *lines) Done() { l.done++ }

func (l *lines) More(steps int) { l.steps += steps }

func (l *lines) Finish() {}
