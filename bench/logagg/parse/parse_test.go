package parse

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	combined = `203.0.113.9 - alice [21/Nov/2026:15:04:05 +0000] "GET /a\"b HTTP/1.1" 200 5316 "https://shop.example/" "agent \\"`
	common   = `203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 304 -`
	object   = `{"time":"2026-11-21T15:04:05.123Z","service":"cart","status":404,"bytes":12,"more":{"a":[1]}}`
)

var afternoon = time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, line, service string
		status              uint16
		bytes               int64
	}{
		{"combined", combined, "none", 200, 5316},
		{"common", common, "none", 304, 0},
		{"another zone", strings.Replace(combined, "15:04:05 +0000", "16:34:05 +0130", 1), "none", 200, 5316},
		{"JSON", object, "cart", 404, 12},
		{"JSON in another zone", `{"status":200,"time":"2026-11-21T10:04:59-05:00"}`, "none", 200, 0},
		{"RFC 5424", `<134>1 2026-11-21T15:04:05Z web-07 checkout 4711 - - ` + combined, "checkout", 200, 5316},
		{"RFC 5424 with structured data", `<0>1 - - mail - - [a@1 x="] \" \\"][b] ` + "\ufeff" + object, "cart", 404, 12},
		{"RFC 5424 without a name", `<134>1 2026-11-21T15:04:05Z web-07 - 4711 - - ` + common, "none", 304, 0},
		{"RFC 3164", `<134>Nov  1 15:04:05 web-07 checkout[4711]: ` + combined, "checkout", 200, 5316},
		{"RFC 3164 without a number", `<13>Nov 21 15:04:05 web-07 nginx: ` + combined, "nginx", 200, 5316},
		{"RFC 3164 with a time of RFC 3339", `<13>2026-11-21T15:04:05.123456+01:00 web-07 nginx: ` + combined, "nginx", 200, 5316},
		{"a name in UTF-8", `{"time":"2026-11-21T15:04:05Z","service":"café","status":999}`, "café", 999, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := NewParser("none").Parse([]byte(test.line))
			if err != nil {
				t.Fatal(err)
			}
			if e.Service.Value() != test.service || e.Status != test.status || e.Bytes != test.bytes || !e.Minute.Time().Equal(afternoon) {
				t.Errorf("got %q %d %d %v", e.Service.Value(), e.Status, e.Bytes, e.Minute.Time())
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	for _, test := range []struct {
		line string
		want error
	}{
		{"", ErrCombined},
		{"panic: boom", ErrCombined},
		{"\x00\x01\xfe\xff", ErrCombined},
		{strings.Replace(combined, "- alice", "", 1), ErrCombined},
		{combined[:len(combined)-1], ErrCombined}, // cut off within the agent
		{combined[:len(combined)-10], ErrCombined},
		{combined + " more", ErrCombined},
		{strings.Replace(combined, `HTTP/1.1"`, `HTTP/1.1`, 1), ErrCombined},
		{strings.Replace(combined, "21/Nov", "31/Feb", 1), ErrTime},
		{strings.Replace(combined, "15:04:05", "15:04:60", 1), ErrTime},
		{strings.Replace(combined, "2026", "1926", 1), ErrTime},
		{strings.Replace(combined, "+0000]", "+00]", 1), ErrTime},
		{strings.Replace(combined, " 200 ", " 099 ", 1), ErrStatus},
		{strings.Replace(combined, " 200 ", " 2x0 ", 1), ErrStatus},
		{strings.Replace(combined, " 200 ", " 2000 ", 1), ErrCombined},
		{strings.Replace(combined, "5316", "many", 1), ErrBytes},
		{strings.Replace(combined, "5316", "9999999999999999999", 1), ErrBytes},
		{strings.Replace(combined, "21/Nov/2026:15:04:05 +0000", "31/Dec/9999:23:59:59 -0001", 1), ErrTime},
		{`{"time":"9999-12-31T23:59:59-12:00","status":200}`, ErrTime},
		{`{"time":`, ErrJSON},
		{`{} {}`, ErrJSON},
		{`{"status":200}`, ErrTime},
		{`{"time":"yesterday","status":200}`, ErrTime},
		{`{"time":"1926-11-21T15:04:05Z","status":200}`, ErrTime},
		{`{"time":"2026-11-21T15:04:05Z"}`, ErrStatus},
		{`{"time":"2026-11-21T15:04:05Z","status":"200"}`, ErrStatus},
		{`{"time":"2026-11-21T15:04:05Z","status":20}`, ErrStatus},
		{`{"time":"2026-11-21T15:04:05Z","status":200,"bytes":-1}`, ErrBytes},
		{`{"time":"2026-11-21T15:04:05Z","status":200,"bytes":1.5}`, ErrBytes},
		{`{"time":"2026-11-21T15:04:05Z","status":200,"service":7}`, ErrService},
		{`{"time":"2026-11-21T15:04:05Z","status":200,"service":""}`, ErrService},
		{`{"time":"2026-11-21T15:04:05Z","status":200,"service":"a\u0007"}`, ErrService},
		{`{"time":"2026-11-21T15:04:05Z","status":200,"service":"` + strings.Repeat("a", maxService+1) + `"}`, ErrService},
		{"<134>", ErrSyslog},
		{"<>1 - - a - - - " + common, ErrSyslog},
		{"<192>1 - - a - - - " + common, ErrSyslog},
		{"<013>1 - - a - - - " + common, ErrSyslog},
		{"<1x4>1 - - a - - - " + common, ErrSyslog},
		{"<134>1 - - a -", ErrSyslog},
		{`<134>1 - - a - - [a x="]` + common, ErrSyslog},
		{"<134>1 - - a - - -" + common, ErrSyslog},
		{"<134>1 - - a\xff - - - " + common, ErrService},
		{"<134>Nov 21 15:04:05 web-07", ErrSyslog},
		{"<134>Nov 21 15:04:05 web-07 : " + common, ErrSyslog},
		{"<134>Nov 21 15:04:05 web-07 no tag: " + common, ErrSyslog},
		{"<134>yesterday web-07 nginx: " + common, ErrSyslog},
	} {
		if e, err := NewParser("none").Parse([]byte(test.line)); !errors.Is(err, test.want) {
			t.Errorf("%q: got %v and %v, want %v", test.line, e, err, test.want)
		}
	}
}

// TestRemembers: remembering previous lines does not change the result.
func TestRemembers(t *testing.T) {
	p := NewParser("none")
	for _, line := range []string{combined, common, combined, strings.Replace(combined, "15:04:05", "15:04:61", 1),
		strings.Replace(combined, "15:04", "15:05", 1), strings.Replace(combined, "+0000", "-0100", 1), object, combined,
		"<1>1 - - a - - - " + common, "<1>1 - - - - - - " + common, "<1>1 - - b - - - " + common, "<1>1 - - a - - - " + common} {
		got, gotErr := p.Parse([]byte(line))
		want, wantErr := NewParser("none").Parse([]byte(line))
		if got != want || gotErr != wantErr {
			t.Errorf("%q: got %v, %v, from a new parser %v, %v", line, got, gotErr, want, wantErr)
		}
	}
}

// TestManyServices: a client that invents names uses no more memory than
// others.
func TestManyServices(t *testing.T) {
	p := NewParser("none")
	for i := range 3 * known {
		name := "service-" + strconv.Itoa(i)
		if e, err := p.Parse([]byte("<1>1 - - " + name + " - - - " + common)); err != nil || e.Service.Value() != name {
			t.Fatalf("%s: got %q, %v", name, e.Service.Value(), err)
		}
		if len(p.services) > known {
			t.Fatalf("%d names are remembered", len(p.services))
		}
	}
}

func TestAllocates(t *testing.T) {
	p := NewParser("none")
	for _, line := range []string{combined, object, "<134>1 2026-11-21T15:04:05Z web-07 checkout 4711 - - " + combined, "garbage"} {
		text := []byte(line)
		if n := testing.AllocsPerRun(100, func() { _, _ = p.Parse(text) }); n > 0 {
			t.Errorf("%q: %v allocations", line, n)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, test := range []struct{ name, line string }{
		{"combined", combined},
		{"JSON", object},
		{"RFC5424", "<134>1 2026-11-21T15:04:05Z web-07 checkout 4711 - - " + combined},
		{"RFC3164", "<134>Nov 21 15:04:05 web-07 checkout[4711]: " + combined},
	} {
		b.Run(test.name, func(b *testing.B) {
			p, line := NewParser("none"), []byte(test.line)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Parse(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMinuteOf: the range matches the times that JSON can represent.
func TestMinuteOf(t *testing.T) {
	for _, test := range []struct {
		seconds int64
		want    bool
	}{
		{-1, false},
		{0, true},
		{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix(), true},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), false},
	} {
		at := time.Unix(test.seconds, 0)
		minute, ok := MinuteOf(at)
		if ok != test.want || ok && !minute.Time().Equal(at.UTC().Truncate(time.Minute)) {
			t.Errorf("%v: got %v, %v", at.UTC(), minute.Time(), ok)
		}
		if _, err := minute.Time().MarshalJSON(); err != nil {
			t.Error(err)
		}
	}
}

// TestMemory: one line of short numbers does not make its connection use much
// memory permanently.
func TestMemory(t *testing.T) {
	line := []byte("{\"a\":[" + strings.Repeat("1,", 500_000) + "1]}")
	parser := NewParser("none")
	if _, err := parser.Parse(line); err != ErrTime {
		t.Fatal(err)
	}
	var with, without runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&with)
	runtime.KeepAlive(parser)
	parser = nil
	runtime.GC()
	runtime.ReadMemStats(&without)
	if held := int64(with.HeapAlloc) - int64(without.HeapAlloc); held > int64(len(line)) {
		t.Errorf("%d bytes are held after a line of %d", held, len(line))
	}
	runtime.KeepAlive(line)
}
