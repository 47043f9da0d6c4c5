package watch

import (
	"strings"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
)

// Colors from the fixed part of the palette, with similar contrast to black and
// white, so that both backgrounds work. Text keeps the terminal's own color.
var (
	colorOfValues = color.PaletteColor(63)  // blue
	colorOutward  = color.PaletteColor(30)  // green
	colorOfHot    = color.PaletteColor(131) // red
)

// look is the appearance of what is not plain. Without colors (NO_COLOR), important text is
// still bold or reversed.
var look = map[flowmap.Role]tcell.Style{
	soft: tcell.StyleDefault.Dim(true), strong: tcell.StyleDefault.Bold(true), bar: tcell.StyleDefault.Reverse(true),
	hot: tcell.StyleDefault.Foreground(colorOfHot).Bold(true), flowmap.Full: tcell.StyleDefault.Foreground(colorOfHot).Bold(true),
	values: tcell.StyleDefault.Foreground(colorOfValues), outward: tcell.StyleDefault.Foreground(colorOutward),
}

// plainer replaces characters that a terminal without Unicode (LC_ALL=C) cannot
// show.
var plainer = strings.NewReplacer(
	"▁", "_", "▂", ".", "▃", ":", "▄", "-", "▅", "=", "▆", "+", "▇", "*", "█", "#",
	"▏", "|", "▎", "#", "▍", "#", "▌", "#", "▋", "#", "▊", "#", "▉", "#",
	"░", ".", "─", "-", "▶", ">", "┊", ":", "│", "|", "·", ".", "○", "o", "▲", "^", "▼", "v", "▴", "^", "▾", "v",
	"↑", "^", "↓", "v", "⏎", "<", "…", "~", "–", "-", "≥", ">", "≈", "~", "µ", "u", "“", `"`, "”", `"`,
)
