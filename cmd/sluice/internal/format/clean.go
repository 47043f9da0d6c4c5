package format

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText limits the text from a service that is processed, in bytes: far more
// than a line shows.
const maxText = 1024

// maxMarks limits the combining marks on one letter, which could reach into
// other lines.
const maxMarks = 3

// Clean makes text from a service safe to display: characters that are not
// printable, or that change direction or width, are escaped as in a Go string.
func Clean(s string) string {
	if len(s) > maxText {
		end := maxText // end of a rune, if there are runes
		for end > maxText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + "…"
	}
	var b strings.Builder
	marks := 0
	for i, r := range s {
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r) && !unicode.Is(unicode.Variation_Selector, r) && marks <= maxMarks:
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// CleanLines is Clean for each line of a text: the ends of its lines remain.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
}
