package address

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/redact"
)

func TestParse(t *testing.T) {
	const page = "/debug/page"
	for target, want := range map[string]string{
		"localhost:6060":               "http://localhost:6060/debug/page",
		":6060":                        "http://localhost:6060/debug/page",
		"[::1]:6060":                   "http://[::1]:6060/debug/page",
		"http://h:1/":                  "http://h:1/debug/page",
		"http://h:1/#x":                "http://h:1/debug/page",
		"https://h/other":              "https://h/other",
		"http://user:secret@h:1/?a=b":  "http://h:1/debug/page",
		"http://user:secret@h:1/a?b=c": "http://h:1/a",
		"user:secret@h:1":              "http://h:1/debug/page",
		"user:secret@h":                "http://h/debug/page",
		"secret@h:1":                   "http://h:1/debug/page",
	} {
		u, err := Parse(target, page)
		if err != nil || redact.URL(u) != want || !Like(target) {
			t.Errorf("%s: %v, %v, Like: %v, want %s", target, u, err, Like(target), want)
		}
	}
	if u, err := Parse("h:1?a=b", page); err != nil || u.RawQuery != "a=b" {
		t.Errorf("query of %v, %v", u, err)
	}
}

func TestParseErrors(t *testing.T) {
	for target, want := range map[string]string{
		"ftp://h:1/":              `unsupported scheme "ftp" (want host:port, or a URL such as http://host:port/debug/page)`,
		"http://":                 "the address has no host",
		"":                        "the address has no host",
		"http://user:secret@h:x/": "invalid URL: in a password",
		"user:1/secret@h":         "invalid URL: in a password",
		"http:// h":               "invalid URL (want host:port",
	} {
		u, err := Parse(target, "/debug/page")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v, want %q", target, u, err, want)
		}
	}
}

func TestFileNamesAreNotLikeAddresses(t *testing.T) {
	for _, name := range []string{"cpu.pprof", "a/b", "C:folder", "file:0", "file:99999", "host", "cpu@2.pprof", "a@b/c:d", ""} {
		if Like(name) {
			t.Errorf("%q", name)
		}
	}
}
