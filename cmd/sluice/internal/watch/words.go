package watch

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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

// short formats a number in at most five characters, or six with a sign.
func short(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "?"
	case v < 0:
		return "-" + short(-v)
	case v == 0:
		return "0"
	case v < 0.005:
		return "<0.01"
	}
	unit := 0
	for v >= 999.5 && unit < len(units)-1 {
		v /= 1000
		unit++
	}
	digits := 2 // after the decimal point
	switch {
	case v >= 999.5:
		return "huge"
	case v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if whole, rest, _ := strings.Cut(text, "."); strings.Trim(rest, "0") == "" {
		text = whole
	}
	return text + units[unit]
}

var units = []string{"", "k", "M", "G", "T", "P", "E"}

// whole formats all digits of a number, in groups of three.
func whole[N int | int64 | uint64](n N) string {
	digits := fmt.Sprint(n)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// rate formats values per second; nil means unknown.
func rate(r *float64) string {
	if r == nil {
		return "–"
	}
	return short(*r)
}

// seconds formats a duration in at most six characters.
func seconds(s float64) string {
	if s == 0 {
		return "0s"
	}
	for _, unit := range []struct {
		size float64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}} {
		if s >= unit.size {
			v := s / unit.size
			if v >= 9.95 {
				return fmt.Sprintf("%.0f%s", min(v, 99999), unit.name)
			}
			return fmt.Sprintf("%.1f%s", v, unit.name)
		}
	}
	return "<1µs"
}

func size(bytes int64) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if v := float64(bytes) / float64(int64(1)<<unit.shift); v >= 1 {
			return short(v) + " " + unit.name
		}
	}
	return fmt.Sprintf("%d B", bytes)
}

// filled returns the number of queued values, with the capacity if there is
// one.
func filled(c *debug.Channel) string {
	switch {
	case c.Cap == nil:
		return short(float64(c.Len))
	case *c.Cap == 0:
		return "no slots"
	}
	return short(float64(c.Len)) + "/" + short(float64(*c.Cap))
}

// isFull reports whether a channel has no room left.
func isFull(c *debug.Channel) bool { return c.Cap != nil && *c.Cap > 0 && c.Len >= *c.Cap }

// age returns the age of the oldest queued value, or "" if it is unknown or the
// queue is empty.
func age(c *debug.Channel) string {
	if c.OldestValue <= 0 {
		return ""
	}
	return seconds(c.OldestValue)
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
		return seconds(w.Since)
	case w.Mean != nil && *w.Mean > 0:
		return "~" + seconds(*w.Mean)
	}
	return ""
}
