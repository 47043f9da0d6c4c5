package watch

import (
	"strings"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"
)

// Colors from the fixed part of the palette, with similar contrast to black and
// white, so that both backgrounds work. Text keeps the terminal's own color.
var (
	colorOfValues = color.PaletteColor(63)  // blue
	colorOutward  = color.PaletteColor(30)  // green
	colorOfHot    = color.PaletteColor(131) // red
)

// look returns the appearance of a style. Without colors (NO_COLOR), important
// text is still bold or reversed.
func look(s style) tcell.Style {
	base := tcell.StyleDefault
	switch s {
	case soft:
		return base.Dim(true)
	case strong:
		return base.Bold(true)
	case hot:
		return base.Foreground(colorOfHot).Bold(true)
	case values:
		return base.Foreground(colorOfValues)
	case outward:
		return base.Foreground(colorOutward)
	case bar, chosen:
		return base.Reverse(true)
	}
	return base
}

// plainer replaces characters that a terminal without Unicode (LC_ALL=C) cannot
// show.
var plainer = strings.NewReplacer(
	"▁", "_", "▂", ".", "▃", ":", "▄", "-", "▅", "=", "▆", "+", "▇", "*", "█", "#",
	"▏", "|", "▎", "#", "▍", "#", "▌", "#", "▋", "#", "▊", "#", "▉", "#",
	"░", ".", "─", "-", "▶", ">", "┊", ":", "│", "|", "·", ".", "○", "o", "▲", "^", "▼", "v", "▴", "^", "▾", "v",
	"↑", "^", "↓", "v", "⏎", "<", "…", "~", "–", "-", "≥", ">", "≈", "~", "µ", "u", "“", `"`, "”", `"`,
)
