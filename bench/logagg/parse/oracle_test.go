package parse

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/leodido/go-syslog/v4/rfc5424"
)

// rfc3164 is the form of a message of RFC 3164, with its time or that of RFC 3339: the program
// and the text.
var rfc3164 = regexp.MustCompile(`(?s)^<(?:\d|[1-9]\d|1[0-8]\d|19[01])>` +
	`(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[^ ]{9,}) ` +
	`[^ ]+ ([^ :\[]+)(?:\[[^:]*)?: ?(.*)$`)

// FuzzSyslog compares the splitting of headers with go-syslog for RFC 5424, and with a regular
// expression for RFC 3164: every message that these accept is accepted here, with the same
// program and text. The reverse does not hold, because skipped fields are not validated here.
func FuzzSyslog(f *testing.F) {
	for _, seed := range []string{
		"<134>1 2026-11-21T15:04:05Z web-07 checkout 4711 - - text",
		`<0>1 - - - - - [a@1 x="\]\"\\" y="b]"][c] ` + "\ufefftext",
		"<134>1 - - a - - -",
		"<13>Nov 21 15:04:05 web-07 nginx[12]: text: more",
		"<13>Nov  1 15:04:05 web-07 nginx: text",
		"<191>2026-11-21T15:04:05Z web-07 nginx[12: text:",
		"<13>Nov 21 15:04:05",
		"<999>1 - - - - - -",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		name, message, ok := splitSyslog(line)
		parsed, err := rfc5424.NewParser().Parse(bytes.Clone(line))
		if m, _ := parsed.(*rfc5424.SyslogMessage); err == nil && m != nil && m.Valid() && m.Version == 1 {
			want := bytes.TrimPrefix([]byte(value(m.Message)), byteOrderMark)
			if !ok || string(name) != value(m.Appname) || !bytes.Equal(message, want) {
				t.Errorf("%q: got %q, %q, %v; want %q, %q", line, name, message, ok, value(m.Appname), want)
			}
			return
		}
		if m := rfc3164.FindSubmatch(line); m != nil && (!ok || !bytes.Equal(name, m[1]) || !bytes.Equal(message, m[2])) {
			t.Errorf("%q: got %q, %q, %v; want %q, %q", line, name, message, ok, m[1], m[2])
		}
	})
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// FuzzParse: for any line, a parser that has seen other lines returns the same
// result as a new one, and an event satisfies its invariants.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{combined, common, object, "<134>1 - - a - - - " + combined, "", "\x00\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		experienced := NewParser("none")
		for _, other := range []string{combined, object, "<134>1 - - a - - - " + common} {
			if _, err := experienced.Parse([]byte(other)); err != nil {
				t.Fatal(err)
			}
		}
		got, gotErr := experienced.Parse(line)
		want, wantErr := NewParser("none").Parse(line)
		if got != want || gotErr != wantErr {
			t.Errorf("%q: got %v, %v, from a new parser %v, %v", line, got, gotErr, want, wantErr)
		}
		if gotErr == nil && (got.Status < 100 || got.Status > 999 || got.Bytes < 0 || got.Service.Value() == "" || got.Tick) {
			t.Errorf("%q: got %v", line, got)
		}
	})
}

// FuzzMinute compares the minute of the combined format with time.Parse.
func FuzzMinute(f *testing.F) {
	for _, seed := range []string{"21/Nov/2026:15:04:05 +0000", "29/Feb/2028:23:59:59 -1130", "31/Apr/2026:15:04:05 +0000", "21/Nov/2026:15:04:6x +0000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) != timeBytes {
			return
		}
		p := NewParser("none")
		for round := range 2 { // the second round uses the remembered minute
			got, ok := p.combinedMinute([]byte(text))
			want, err := time.Parse(timeLayout, text)
			_, inRange := MinuteOf(want)
			if ok != (err == nil && inRange) || ok && !got.Time().Equal(want.UTC().Truncate(time.Minute)) {
				t.Errorf("%q, round %d: got %v, %v, want %v, %v", text, round, got.Time(), ok, want, err)
			}
		}
	})
}

// BenchmarkSyslog justifies splitting headers here.
func BenchmarkSyslog(b *testing.B) {
	line := []byte("<134>1 2026-11-21T15:04:05.123456Z web-07 checkout 4711 - - " + combined)
	b.Run("here", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, ok := splitSyslog(line); !ok {
				b.Fatal("refused")
			}
		}
	})
	b.Run("go-syslog", func(b *testing.B) {
		parser := rfc5424.NewParser()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parser.Parse(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}
