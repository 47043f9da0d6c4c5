package format

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Terminal reports whether w is a terminal, with its width in cells, which is 0 if it is unknown.
func Terminal(w io.Writer) (width int, is bool) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
		width = columns
	}
	return width, true
}
