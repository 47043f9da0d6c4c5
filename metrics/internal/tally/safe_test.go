package tally

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice"
)

func TestSafe(t *testing.T) {
	long := strings.Repeat("x", longest)
	for _, test := range []struct{ name, want string }{
		{"orders", "orders"},
		{`{a="b"} \ <b>`, `{a="b"} \ <b>`}, // each format escapes what it must
		{"Größe, 大きさ", "Größe, 大きさ"},
		{"a\xffb\xc3", "a�b�"},
		{"a\nb\r\x00\x1b[31m", "a�b���[31m"},
		{"a\u202eb\u200bc\u2028d\u00a0e", "a�b�c�d�e"},
		{long, long},
		{long + "x", long[:longest-3] + "…"},
		{strings.Repeat("é", longest), strings.Repeat("é", (longest-3)/2) + "…"},
		{strings.Repeat("\xff", longest), strings.Repeat("�", (longest-3)/3) + "…"},
		{strings.Repeat("\U000e0001", 33), strings.Repeat("�", 33)}, // shorter when changed
		{strings.Repeat("\U000e0001", 1<<16), strings.Repeat("�", (longest-3)/3) + "…"},
	} {
		if got := safe(test.name); got != test.want {
			t.Errorf("%q: %q, want %q", test.name, got, test.want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	for _, seed := range []string{"", "a", "\xff", "a\u202e", strings.Repeat("é", 200)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := safe(name)
		if !utf8.ValidString(got) || len(got) > longest || (got == "") != (name == "") || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q becomes %q", name, got)
		}
		if again := safe(got); again != got {
			t.Errorf("%q, made safe again, is %q", got, again)
		}
	})
}

// TestNamesThatBecomeOne: names that are equal after safe share one series.
func TestNamesThatBecomeOne(t *testing.T) {
	w := newWorld(10)
	for _, name := range []string{"a\xff", "a\xfe", "a\n", "a\ufffd"} {
		w.channel(name, "x\x00", sluice.Stats{Sent: 1})
	}
	look := w.Collect()
	if len(look.Series) != 1 || look.Series[0].Sent != 4 || look.Series[0].Name != "a\ufffd" || look.Series[0].Kind != "x\ufffd" {
		t.Errorf("%+v", look)
	}
}
