package format

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

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
