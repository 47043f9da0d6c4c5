// Package format writes numbers, durations, rates and lists as people read
// them, and breaks text into lines.
//
// What may enter: the form of a text. Its content, and the width of a report,
// belong to the packages that write reports. Nothing here imports another
// package of this module.
package format

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NoBreak is a space at which Wrap never breaks a line. Wrap writes it as an
// ordinary space.
const NoBreak = "\u00a0"

// Wrap breaks text between words into lines of at most width characters, with a
// line feed after the last. The first word follows start characters that the
// caller has written; the other lines begin with indent. A word longer than a
// line is not broken.
func Wrap(text string, width, start int, indent string) string {
	var b strings.Builder
	margin := utf8.RuneCountInString(indent)
	used := start
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + indent)
			used = margin
		default:
			b.WriteString(" ")
			used++
		}
		b.WriteString(strings.ReplaceAll(word, NoBreak, " "))
		used += n
	}
	return b.String() + "\n"
}

// Pad returns the spaces that fill text up to width characters.
func Pad(text string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// Cut shortens text to at most n characters. The last of them is an ellipsis if
// text was longer. With n < 2 it returns "".
func Cut(text string, n int) string {
	runes := []rune(text)
	switch {
	case len(runes) <= n:
		return text
	case n < 2:
		return ""
	}
	return string(runes[:n-1]) + "…"
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
