package redact

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"http://h:1/a%40b/c?token=secret#secret": "http://h:1/a%40b/c",
		"https://user:secret@h/":                 "https://h/",
		"nats://secret@[::1]:4222":               "nats://[::1]:4222",
		"nats://user:%40%2F%3Fsecret@h":          "nats://h",
		"nats://user:se:cret;!$&'()*+=secret@h":  "nats://h",
		"//secret@h:1":                           "//h:1",
		"nats://user:secret":                     "",
		"nats://user:1/secret@h":                 "",
		"nats://user:1?secret@h":                 "",
		"nats://user:1#secret@h":                 "",
		"nats://user:%secret@h":                  "",
		"nats://user:@secret@h":                  "nats://h",
		"nats://user: secret@h":                  "",
		"nats://user:\x00secret@h":               "",
		"nats:///user:secret@h":                  "",
		"user:secret@h://":                       "",
		"x:/user:secret@h://":                    "",
		"://secret@h":                            "",
	} {
		u, err := Parse(text)
		if (err == nil) != (want != "") || err == nil && URL(u) != want {
			t.Errorf("%q: %v, %v, want %q", text, u, err, want)
		}
	}
}

// FuzzParse: the parts of a password before and after any text are not shown.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "@", "/", "?", "#", ":", "%", "://", "[", "\\", " ", "%40", "@h:1/", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, middle string) {
		secret := "hunter" + middle + "elephant"
		for _, text := range []string{"http://user:" + secret + "@h:1/path", "http://" + secret + "@h", "http://h?token=" + secret} {
			u, err := Parse(text)
			if err != nil {
				continue
			}
			if shown := URL(u); strings.Contains(shown, "hunter") || strings.Contains(shown, "elephant") {
				t.Errorf("%q is shown as %q", text, shown)
			}
		}
	})
}
