package watch

import (
	"strings"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"
)

// Colours from the fixed part of a terminal's palette, of about the same distance to
// white as to black: they can be read on either. Text has the terminal's own colour.
var (
	colourOfValues = color.PaletteColor(63)  // blue
	colourOutward  = color.PaletteColor(30)  // green
	colourOfHot    = color.PaletteColor(131) // red
)

// look is how a style looks. Without colours (NO_COLOR) what matters is still bold or
// reversed.
func look(s style) tcell.Style {
	base := tcell.StyleDefault
	switch s {
	case soft:
		return base.Dim(true)
	case strong:
		return base.Bold(true)
	case hot:
		return base.Foreground(colourOfHot).Bold(true)
	case values:
		return base.Foreground(colourOfValues)
	case outward:
		return base.Foreground(colourOutward)
	case bar, chosen:
		return base.Reverse(true)
	}
	return base
}

// plainer stands in, character by character, for what a terminal without Unicode
// (LC_ALL=C) cannot show.
var plainer = strings.NewReplacer(
	"▁", "_", "▂", ".", "▃", ":", "▄", "-", "▅", "=", "▆", "+", "▇", "*", "█", "#",
	"▏", "|", "▎", "#", "▍", "#", "▌", "#", "▋", "#", "▊", "#", "▉", "#",
	"░", ".", "┊", ":", "│", "|", "·", ".", "○", "o", "▲", "^", "▼", "v", "▴", "^", "▾", "v",
	"↑", "^", "↓", "v", "⏎", "<", "…", "~", "–", "-", "≥", ">", "µ", "u", "“", `"`, "”", `"`,
)
