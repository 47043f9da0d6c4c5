package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// screenOf describes the screen that w is: its width is COLUMNS, if that is set,
// or a terminal's, or 80. It has colors if it is a terminal, unless NO_COLOR is
// set or TERM is dumb.
func screenOf(w io.Writer) format.Screen {
	s := format.Screen{Width: format.UsualWidth}
	if isTerminal(w) {
		if width, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil && width > 0 {
			s.Width = width
		}
		s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		s.Width = columns
	}
	s.Width = min(max(s.Width, format.NarrowestWidth), format.WidestWidth)
	return s
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
