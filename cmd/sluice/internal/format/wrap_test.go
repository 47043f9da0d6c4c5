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
		{"cells, not bytes", "äöü äöü äö", 0, "äöü äöü äö\n"},
		{"cells, not letters", "日本 日本 日", 0, "日本 日本\n  日\n"},
	} {
		if got := Wrap(tt.text, 10, tt.start, "  "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestParagraph(t *testing.T) {
	for text, want := range map[string]string{
		"one two abc":                    "one two\n  abc",
		strings.Repeat("x", 12) + " y":   strings.Repeat("x", 10) + "\n  xx y",
		"one " + strings.Repeat("x", 20): "one\n  xxxxxxxx\n  xxxxxxxx\n  xxxx",
		"日本日本日本":                         "日本日本日\n  本",
		"\x1b[31m":                       `\x1b[31m`,
	} {
		if got := strings.Join(Screen{Width: 10}.Paragraph("\x1b[1m", text, "  "), "\n"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := (Screen{Width: 1}).Paragraph("", "日本", ""); len(got) != 1 {
		t.Errorf("without room for a letter: %q", got)
	}
	if got := (Screen{Width: 9, Color: true}).Paragraph("\x1b[1m", "one two\a three", ""); strings.Join(got, "|") != "\x1b[1mone two\\a\x1b[0m|\x1b[1mthree\x1b[0m" {
		t.Errorf("in a style: %q", got)
	}
}
