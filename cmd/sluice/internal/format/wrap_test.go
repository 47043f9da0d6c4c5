package format

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		start      int
		want       string
	}{
		{"nothing", "", 0, "\n"},
		{"a line that fits", "one two ab", 0, "one two ab\n"},
		{"one character more", "one two abc", 0, "one two\n  abc\n"},
		{"later lines have a margin", "one two abc four five", 0, "one two\n  abc four\n  five\n"},
		{"the first line begins later", "one two ab", 4, "one\n  two ab\n"},
		{"a space that does not break", "one two 12" + NoBreak + "ns", 0, "one two\n  12 ns\n"},
		{"a word that is too long", strings.Repeat("x", 12) + " y", 0, strings.Repeat("x", 12) + "\n  y\n"},
		{"characters, not bytes", "äöü äöü äö", 0, "äöü äöü äö\n"},
	} {
		if got := Wrap(tt.text, 10, tt.start, "  "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
