// Package format writes numbers, durations, rates and lists as people read
// them, and breaks text into the lines of a screen.
//
// What may enter: the form of a text. Its content belongs to the packages that
// write reports. Nothing here imports another package of this module.
package format

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// NoBreak is a space at which Wrap never breaks a line. Wrap writes it as an
// ordinary space.
const NoBreak = "\u00a0"

// Wrap breaks text between words into lines of at most width cells, with a line feed
// after the last. The first word follows start cells that the caller has written; the
// other lines begin with indent. A word longer than a line is not broken.
func Wrap(text string, width, start int, indent string) string {
	return wrap(text, width, start, indent, false)
}

// wrap is Wrap, and breaks words longer than a line if hard is true.
func wrap(text string, width, start int, indent string, hard bool) string {
	var b strings.Builder
	margin, used := displaywidth.String(indent), start
	end := func() {
		b.WriteString("\n" + indent)
		used = margin
	}
	for i, word := range strings.Split(text, " ") {
		word = strings.ReplaceAll(word, NoBreak, " ")
		switch cells := displaywidth.String(word); {
		case i == 0:
		case used+1+cells > width:
			end()
		default:
			b.WriteString(" ")
			used++
		}
		for hard && used+displaywidth.String(word) > width {
			part := displaywidth.TruncateString(word, width-used, "")
			if part == "" && used <= margin {
				break // not even a letter fits
			}
			b.WriteString(part)
			word = word[len(part):]
			end()
		}
		b.WriteString(word)
		used += displaywidth.String(word)
	}
	return b.String() + "\n"
}

// A Text is written in lines of at most Width cells.
type Text struct {
	strings.Builder
	Width int
}

// Paragraph breaks sentences into lines. All but the first begin with indent.
func (t *Text) Paragraph(indent string, sentences ...string) {
	if len(sentences) > 0 {
		t.WriteString(Wrap(strings.Join(sentences, " "), t.Width, 0, indent))
	}
}

// Print writes the text to w. It is cleaned, because names come from files.
func (t *Text) Print(w io.Writer) error {
	_, err := io.WriteString(w, CleanLines(t.String()))
	return err
}

// Pad returns the spaces that fill text up to width cells.
func Pad(text string, width int) string {
	return strings.Repeat(" ", max(0, width-displaywidth.String(text)))
}

// Cut shortens text to at most n cells. The last of them is an ellipsis if text was
// longer. With n < 2 it returns "".
func Cut(text string, n int) string {
	switch {
	case displaywidth.String(text) <= n:
		return text
	case n < 2:
		return ""
	}
	return displaywidth.TruncateString(text, n, "…")
}

// Capital returns text with an upper-case first letter. The name of a Go package
// before a dot stays as it is.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || qualified(text) {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// qualified reports whether text begins with a qualified identifier, such as
// sync.Mutex.
func qualified(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	dot := strings.IndexByte(word, '.')
	return dot > 0 && dot+1 < len(word)
}
