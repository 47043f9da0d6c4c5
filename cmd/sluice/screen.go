package main

import (
	"cmp"
	"io"
	"os"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// screenOf describes the screen that w is: its width is COLUMNS, if that is set,
// or a terminal's, or 80. It has colors if it is a terminal, unless NO_COLOR is
// set or TERM is dumb.
func screenOf(w io.Writer) format.Screen {
	width, terminal := format.Terminal(w)
	s := format.Screen{
		Width: cmp.Or(width, format.UsualWidth),
		Color: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		s.Width = columns
	}
	s.Width = min(max(s.Width, format.NarrowestWidth), format.WidestWidth)
	return s
}
