// Package prose lays running text out for a terminal.
//
// What may enter: how text is broken into lines. What it says, and how wide a
// report is, is the business of those who write it.
package format

import (
	"strings"
	"unicode/utf8"
)

// NoBreak is a space at which no line ends. It is written as an ordinary one.
const NoBreak = "\u00a0"

// Wrap breaks text between words into lines of at most width characters, with a
// line feed after the last. The first word stands behind start characters that the
// caller writes; the other lines begin with indent. A word that is too long stays
// whole.
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
