package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// number formats v with two or three significant digits.
func number(v float64) string {
	switch {
	case v >= 99.5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.995 && v == float64(int(v)):
		return strconv.Itoa(int(v))
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// percent formats a share.
func percent(share float64) string {
	if v := 100 * share; v > 0 && v < 1 {
		return fmt.Sprintf("%.1f%%", v)
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// count formats a large number.
func count(v float64) string {
	switch {
	case v >= 999_500:
		return number(v/1e6) + " M"
	case v >= 9_995:
		return number(v/1e3) + " k"
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// capital turns a kind into a heading.
func capital(word string) string {
	if strings.HasPrefix(word, "sync.") {
		return word
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// goroutines formats a number of goroutines.
func goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

// duration formats seconds in a unit of their magnitude.
func duration(seconds float64) string {
	switch {
	case seconds >= 120:
		return number(seconds/60) + " min"
	case seconds >= 0.9995:
		return number(seconds) + " s"
	case seconds >= 0.9995e-3:
		return number(seconds*1e3) + " ms"
	case seconds >= 0.9995e-6:
		return number(seconds*1e6) + " µs"
	}
	return strconv.FormatFloat(seconds*1e9, 'f', 0, 64) + " ns"
}

// String returns "×2.1 (1.5 to 2.6)".
func (r Range) String() string {
	if r.Low == r.High {
		return "×" + number(r.Mid)
	}
	return fmt.Sprintf("×%s (%s to %s)", number(r.Mid), number(r.Low), number(r.High))
}
