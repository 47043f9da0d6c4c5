package report

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

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
