package watch

import (
	"fmt"
	"math"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice/livepage"
)

// steering returns the control sequence in s, if any.
func steering(s string) string {
	if !utf8.ValidString(s) {
		return "bytes that are no UTF-8"
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Sprintf("%U, which is not printed", r)
		}
	}
	return ""
}

func TestFigures(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{rate(nil), "–"}, {rate(new(1234.0)), "1.23k"},
		{filled(&livepage.Channel{Len: 3}), "3"}, {filled(&livepage.Channel{Len: 3, Cap: new(4000)}), "3/4000"}, {filled(&livepage.Channel{Cap: new(0)}), "no slots"},
		{howLong(&livepage.Waiting{}), ""}, {howLong(&livepage.Waiting{Mean: new(0.0)}), ""}, {howLong(&livepage.Waiting{Mean: new(0.002)}), "~2.0ms"},
		{howLong(&livepage.Waiting{Now: 1, Since: 4, Mean: new(0.002)}), "4.0s"}, {howLong(&livepage.Waiting{Now: 1}), ""},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestFullIn(t *testing.T) {
	for _, test := range []struct {
		c    livepage.Channel
		want string
	}{
		{livepage.Channel{Cap: new(100), Len: 50, SentRate: new(20.0), ReceivedRate: new(10.0)}, "5.0s"},
		{livepage.Channel{Cap: new(100), Len: 100}, "now"},
		{livepage.Channel{Cap: new(100), Len: 50, SentRate: new(10.0), ReceivedRate: new(10.0)}, ""},
		{livepage.Channel{Cap: new(100), Len: 50}, ""},
		{livepage.Channel{Cap: new(math.MaxInt32), SentRate: new(1.0), ReceivedRate: new(0.0)}, ""},
		{livepage.Channel{Len: 50, SentRate: new(10.0), ReceivedRate: new(0.0)}, ""},
		{livepage.Channel{Cap: new(0)}, ""},
	} {
		if got := fullIn(&test.c); got != test.want {
			t.Errorf("%+v: %q, want %q", test.c, got, test.want)
		}
	}
}

// Color begins at 80% of the capacity.
func TestNearlyFull(t *testing.T) {
	for length, want := range map[int]bool{79: false, 80: true, 100: true} {
		if nearlyFull(&livepage.Channel{Len: length, Cap: new(100)}) != want {
			t.Errorf("%d of 100: %v", length, !want)
		}
	}
	if nearlyFull(&livepage.Channel{Len: 100}) {
		t.Error("without a limit")
	}
}
