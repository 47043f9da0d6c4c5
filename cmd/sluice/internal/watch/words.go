package watch

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/debug"
)

// maxText limits the text from a service that is processed, in bytes: far more
// than a line shows.
const maxText = 1024

// maxMarks limits the combining marks on one letter, which could reach into
// other lines.
const maxMarks = 3

// clean makes text from a service safe to display: characters that are not
// printable, or that change direction or width, are escaped as in a Go string.
func clean(s string) string {
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

// rate formats values per second; nil means unknown.
func rate(r *float64) string {
	if r == nil {
		return "–"
	}
	return format.Compact(*r)
}

// filled returns the number of queued values, with the capacity if there is
// one.
func filled(c *debug.Channel) string {
	switch {
	case c.Cap == nil:
		return format.Compact(float64(c.Len))
	case *c.Cap == 0:
		return "no slots"
	}
	return format.Compact(float64(c.Len)) + "/" + format.Compact(float64(*c.Cap))
}

// isFull reports whether a channel has no room left.
func isFull(c *debug.Channel) bool { return c.Cap != nil && *c.Cap > 0 && c.Len >= *c.Cap }

// age returns the age of the oldest queued value, or "" if it is unknown or the
// queue is empty.
func age(c *debug.Channel) string {
	if c.OldestValue <= 0 {
		return ""
	}
	return format.CompactSeconds(c.OldestValue)
}

// oldest returns the age of the oldest queued value as part of a sentence, or "".
func oldest(c *debug.Channel) string {
	if a := age(c); a != "" {
		return ", the oldest for " + a
	}
	return ""
}

// howLong returns how long the first waiter has waited, or else the recent mean
// of waits.
func howLong(w *debug.Waiting) string {
	switch {
	case w.Now > 0 && w.Since > 0:
		return format.CompactSeconds(w.Since)
	case w.Mean != nil && *w.Mean > 0:
		return "~" + format.CompactSeconds(*w.Mean)
	}
	return ""
}
