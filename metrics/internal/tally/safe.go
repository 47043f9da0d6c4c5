package tally

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is how many bytes of a name are shown. What a program calls a channel may
// come from outside, and each series repeats it.
const longest = 128

// safe returns a name that any metrics system takes, and that shows no more than
// itself: valid UTF-8, without control characters, line breaks, marks that turn the
// direction of writing and other invisible ones, at most longest bytes. Names that
// differ in nothing else are one name.
func safe(name string) string {
	const cut = "…"
	// A replacement has three bytes for one to four, so of twice the length more than
	// longest is left.
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
