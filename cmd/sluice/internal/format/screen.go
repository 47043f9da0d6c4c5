package format

import (
	"io"
	"strings"
)

// A Screen is where text is written: a terminal, or a file in its place.
type Screen struct {
	Width int  // in cells
	Color bool // whether it understands escape codes
}

// The widths of a screen: a narrower or wider terminal is treated as one of these, and
// a file as one of UsualWidth.
const (
	NarrowestWidth = 40
	UsualWidth     = 80
	WidestWidth    = 120
)

// In returns text, which may come from anywhere, in a style if the screen has styles.
func (s Screen) In(style, text string) string {
	text = Clean(text)
	if !s.Color || style == "" || text == "" {
		return text
	}
	return style + text + "\x1b[0m"
}

// Paragraph breaks text into lines of the screen, each in a style.
func (s Screen) Paragraph(style, text, indent string) []string {
	var lines []string
	for line := range strings.Lines(wrap(text, s.Width, 0, indent, true)) {
		lines = append(lines, s.In(style, strings.TrimSuffix(line, "\n")))
	}
	return lines
}

// WriteLines writes lines.
func WriteLines(w io.Writer, lines []string) error {
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}
