package format

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
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

func TestClean(t *testing.T) {
	for _, test := range []struct{ from, want string }{
		{"orders/eu", "orders/eu"},
		{"日本語 e\u0301 🎉", "日本語 e\u0301 🎉"},
		{"\x1b[2J\x1b]0;t\x07", `\x1b[2J\x1b]0;t\a`},
		{"a\nb\tc\rd\x00", `a\nb\tc\rd\x00`},
		{"\u009b31m\u0085", `\u009b31m\u0085`},
		{"a\u202eb\u2066c\u200bd\u200e\ufeff", `a\u202eb\u2066c\u200bd\u200e\ufeff`},
		{"\u00a0\u2028\U000e0001\ue000", `\u00a0\u2028\U000e0001\ue000`},
		{"☂\ufe0f", `☂\ufe0f`},
		{"\xff\xc3(", `\xff\xc3(`},
		{"\uFFFD", "\uFFFD"},
		{"Z" + strings.Repeat("\u0301", 5), "Z\u0301\u0301\u0301" + `\u0301\u0301`},
	} {
		if got := Clean(test.from); got != test.want {
			t.Errorf("Clean(%q) = %q, want %q", test.from, got, test.want)
		}
	}
	if long := Clean(strings.Repeat("日", 100_000)); len(long) > 1024+len("…") || !strings.HasSuffix(long, "日…") || !utf8.ValidString(long) {
		t.Errorf("a long text becomes one of %d bytes", len(long))
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "a\x1b[0m", "\xff\xfe", strings.Repeat("\u0301", 2000), strings.Repeat("\x80", 3000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if at := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }); at >= 0 || !utf8.ValidString(got) {
			t.Errorf("Clean(%q) = %q has bytes that are no UTF-8, or what is not printed, at %d", s, got, at)
		}
	})
}

func TestPadCutCapital(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"characters, not bytes", Pad("µs", 4), "  "},
		{"nothing to fill", Pad("long", 2), ""},
		{"short enough", Cut("abc", 3), "abc"},
		{"too long", Cut("abcd", 3), "ab…"},
		{"exactly long enough", Cut("exactly", 7), "exactly"},
		{"with a word's end", Cut("too long", 5), "too …"},
		{"characters, not bytes", Cut("größer", 4), "grö…"},
		{"no room", Cut("abcd", 1), ""},
		{"a word", Capital("one way"), "One way"},
		{"a qualified name", Capital("sync.Mutex at work"), "sync.Mutex at work"},
		{"an accent", Capital("äb"), "Äb"},
		{"nothing", Capital(""), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestUnknown(t *testing.T) {
	names := []string{"lab", "doctor", "watch", "version"}
	for name, want := range map[string]string{
		"dcotor":    `unknown command "dcotor": did you mean "doctor"?`,
		"doc":       `unknown command "doc": did you mean "doctor"?`,
		"LAB":       `unknown command "LAB": did you mean "lab"?`,
		"versions":  `unknown command "versions": did you mean "version"?`,
		"w":         `unknown command "w" (want lab, doctor, watch, version)`,
		"frobnicat": `unknown command "frobnicat" (want lab, doctor, watch, version)`,
		"":          `unknown command "" (want lab, doctor, watch, version)`,
	} {
		if got := Unknown("command", name, names).Error(); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	rows := [][]string{{"name", "old", "new", "change"}, {"é", "1", "20", "~"}, {"a long name", "100", "2"}, {"two words that are a line"}, {""}}
	for width, want := range map[int]string{
		80: "name         old  new  change\né              1   20  ~\na long name  100    2\ntwo words that are a line\n\n",
		25: "name     old  new  change\né          1   20  ~\na long name\n         100    2\ntwo words that are a line\n\n",
	} {
		s := Text{Width: width}
		if s.Table("lrrl", rows); s.String() != want {
			t.Errorf("%d cells:\n%s\nwant\n%s", width, s.String(), want)
		}
	}
	var s Text
	if s.Table("r", nil); s.String() != "" {
		t.Errorf("no rows: %q", s.String())
	}
}
