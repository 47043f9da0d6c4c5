package tally

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is the maximum length of a displayed name in bytes. The name of a channel may
// come from outside of the program, and each series repeats it.
const longest = 128

// safe returns a name that any metrics system accepts and that is safe to display: valid
// UTF-8 of at most longest bytes, without control characters, line breaks, bidirectional
// marks and other invisible characters. Names that differ only in these become one name.
func safe(name string) string {
	const cut = "…"
	// A replacement character has three bytes, and replaces one to four. So twice the
	// length is enough to get more than longest bytes.
	shown := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name[:min(len(name), 2*longest)])
	if len(shown) <= longest {
		return shown
	}
	end := longest - len(cut)
	for !utf8.RuneStart(shown[end]) {
		end--
	}
	return shown[:end] + cut
}
