package capture

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// dump has the lines of a text with states in which all forms below are written.
var dump = []string{
	"goroutine 7 [chan send, 12 minutes]:",
	"example.com/app.(*Queue[...]).Put(0xc000012345, {0x1?, 0x2})",
	"\t/src/my app/queue.go:88 +0x5b",
	"main.worker(...)",
	"\t/src/app/main.go:41",
	"created by main.start in goroutine 1",
	"\t/src/app/main.go:27 +0x9a",
	"",
	"goroutine 1 [select (no cases)]:",
	"main.main()",
	"\tC:/Program Files/app/main.go:20 +0x1d",
}

var (
	putting = Goroutines{
		Count: 1, ID: 7, State: "chan send", Waited: 12 * time.Minute, Creator: 1,
		Stack:     Stack{{"example.com/app.(*Queue[...]).Put", "/src/my app/queue.go", 88}, {"main.worker", "/src/app/main.go", 41}},
		CreatedBy: Frame{"main.start", "/src/app/main.go", 27},
	}
	forever = Goroutines{
		Count: 1, ID: 1, State: "select", Forever: true,
		Stack: Stack{{"main.main", "C:/Program Files/app/main.go", 20}},
	}
)

// textOf reads a text as the only file of a service.
func textOf(t *testing.T, text string) *Capture {
	t.Helper()
	c, err := Read(nil, []File{{"goroutine.txt", []byte(text)}})
	if err != nil {
		t.Fatalf("%v in %.300q", err, text)
	}
	return c
}

// prefixed writes a text as a log does.
func prefixed(prefix, suffix string) string {
	var b strings.Builder
	for _, line := range dump {
		b.WriteString(prefix + line + suffix + "\n")
	}
	return b.String()
}

// The same goroutines are read in all forms that people have.
func TestForms(t *testing.T) {
	plain := strings.Join(dump, "\n") + "\n"
	escaped := strings.NewReplacer("\n", `\n`, "\t", `\t`, `"`, `\"`).Replace(plain)
	wide := func(order func(byte) string) string {
		var b strings.Builder
		for i := range len(plain) {
			b.WriteString(order(plain[i]))
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"plain":           plain,
		"no end":          strings.TrimSuffix(plain, "\n"),
		"CRLF":            prefixed("", "\r"),
		"BOM":             "\xef\xbb\xbf" + plain,
		"UTF-16":          "\xff\xfe" + wide(func(c byte) string { return string([]byte{c, 0}) }),
		"big-endian":      "\xfe\xff" + wide(func(c byte) string { return string([]byte{0, c}) }),
		"blank lines":     "\n\n\n" + prefixed("", "\n"),
		"HTTP":            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + plain,
		"banner":          "==== goroutines ====\n" + plain + "==== end ====\nexit status 2\n",
		"mail":            prefixed("> ", ""),
		"indented":        prefixed("    ", ""),
		"spaces":          strings.ReplaceAll(plain, "\t", "    "),
		"quoted spaces":   strings.ReplaceAll(prefixed("> ", ""), "\t", "        "),
		"trailing spaces": prefixed("", "   "),
		"docker compose":  prefixed("web-1  | ", ""),
		"journald":        prefixed("Jan 02 15:04:05 host app[1234]: ", ""),
		"syslog":          strings.ReplaceAll(prefixed("Jan 02 15:04:05 host app[1234]: ", ""), "\t", "#011"),
		"kubernetes":      prefixed("2026-01-02T15:04:05.123456789Z stderr F ", ""),
		"zap":             prefixed("2026-01-02T15:04:05.123Z\tERROR\t", ""),
		"docker JSON": strings.ReplaceAll(prefixed(`{"log":"`, `\n","stream":"stderr","time":"2026-01-02T15:04:05.123456789Z"}`),
			"\t", `\t`),
		"JSON":          `{"level":"error","msg":"stuck","stack":"` + escaped + `","ts":1}` + "\n",
		"logfmt":        `time=2026-01-02T15:04:05Z level=ERROR stack="` + escaped + `" a=b` + "\n",
		"JSON in JSON":  `{"log":"{\"stack\":\"` + strings.ReplaceAll(escaped, `\`, `\\`) + `\"}\n"}` + "\n",
		"a log between": "GET http://example.com/a(1)\n" + strings.Replace(plain, "\nmain.worker", "\n2026/01/02 15:04:05 served (200) in 3ms\nmain.worker", 1),
		"the system's stack": "goroutine 0 gp=0x1 m=0 mp=0x2 [idle]:\nruntime.futex()\n\t/go/futex.s:1 +0x1\n\n" + plain +
			"\nrax    0xca\nrip    0x46fbe1\n",
		"ancestors":  strings.Replace(plain, "main.go:27 +0x9a\n", "main.go:27 +0x9a\n[originating from goroutine 1]:\nmain.start(...)\n\t/src/app/main.go:27 +0x9a\n", 1),
		"one prefix": strings.Repeat("x", strings.Index(dump[1], " ")) + " " + plain, // of the first line, as package log writes it
		"elided":     strings.Replace(plain, "created by", "...23 frames elided...\ncreated by", 1),
		"registers":  strings.Replace(strings.ReplaceAll(plain, " +0x5b", " +0x5b fp=0xc000 sp=0xc001 pc=0x1"), "goroutine 7 [", "goroutine 7 gp=0xc0 m=nil [", 1),
	} {
		t.Run(name, func(t *testing.T) {
			c := textOf(t, text)
			if len(c.Dumps) != 1 {
				t.Fatalf("%d dumps", len(c.Dumps))
			}
			d := c.Dumps[0]
			if want := []Goroutines{putting, forever}; !reflect.DeepEqual(d.Groups, want) {
				t.Errorf("got  %+v\nwant %+v", d.Groups, want)
			}
			if !d.States || d.Truncated || d.Total != 2 || d.Crash != "" {
				t.Errorf("states %v, truncated %v, %d goroutines, crash %q", d.States, d.Truncated, d.Total, d.Crash)
			}
		})
	}
}

// Headers have remarks, labels in two forms, and registers.
func TestHeaders(t *testing.T) {
	for line, want := range map[string]Goroutines{
		"goroutine 1 [running]:":                                                 {State: "running"},
		"goroutine 1 [running, locked to thread]:":                               {State: "running"},
		"goroutine 1 [chan receive (leaked), 3 minutes]:":                        {State: "chan receive", Leaked: true, Waited: 3 * time.Minute},
		"goroutine 1 [chan receive (nil chan) (scan), 3 minutes]:":               {State: "chan receive", Forever: true, Waited: 3 * time.Minute},
		"goroutine 1 [select (durable), synctest bubble 4]:":                     {State: "select"},
		"goroutine 1 [select (synctest group), 99999999999999999999 minutes]:":   {State: "select"},
		"goroutine 1 [sync.Mutex.Lock, -3 minutes]:":                             {State: "sync.Mutex.Lock"},
		`goroutine 1 [chan receive labels:{"a": "b", "c]": "d}:"}]:`:             {State: "chan receive"},
		`goroutine 1 [runnable] {queue: "ingest, eu", tenant: "a]b"}:`:           {State: "runnable"},
		`goroutine 1 [select, 5 minutes] {a: b, "q\"": x}:`:                      {State: "select", Waited: 5 * time.Minute},
		"goroutine 1 gp=0xc000002380 m=0 mp=0x5b8020 [GC worker (idle)] {k: v}:": {State: "GC worker"},
	} {
		want.ID, want.Count = 1, 1
		if _, g, ok := header([]byte(line)); !ok || !reflect.DeepEqual(g, want) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", line, g, ok, want)
		}
	}
	for _, line := range []string{
		"", "goroutine", "goroutine :", "goroutine x [running]:", "goroutine 1 [running", "goroutine 1 running]:", "goroutine 1 [running]",
		"goroutine profile: total 7", "[originating from goroutine 1]:", "created by a.b in goroutine 3", "goroutine 1 was [here]:",
		"goroutine 1 [a] b:",
	} {
		if _, _, ok := header([]byte(line)); ok {
			t.Errorf("%q was taken for a header", line)
		}
	}
}

func TestCrash(t *testing.T) {
	plain := strings.Join(dump, "\n") + "\n"
	for text, want := range map[string]string{
		"fatal error: all goroutines are asleep - deadlock!\n\n" + plain:                                              "fatal error: all goroutines are asleep - deadlock!",
		"panic: first\n\tpanic: second\n[signal SIGSEGV: segmentation violation]\n\n" + plain:                         "panic: first",
		"panic: test timed out after 10m0s\n\trunning tests:\n\t\tTestPush (10m0s)\n\n" + plain:                       "panic: test timed out after 10m0s",
		"SIGQUIT: quit\nPC=0x46fbe1 m=0 sigcode=0\n\ngoroutine 0 [idle]:\nruntime.futex()\n\t/f.s:1 +0x1\n\n" + plain: "SIGQUIT: quit",
		"web-1  | panic: over\n" + prefixed("web-1  | ", ""):                                                          "panic: over",
		"recovered panic: it lives on\n\n" + plain:                                                                    "",
		"http: panic serving 10.0.0.1:443: boom\n" + plain:                                                            "",
	} {
		if d := textOf(t, text).Dumps[0]; d.Crash != want || d.Total != 2 {
			t.Errorf("crash %q of %d goroutines, want %q", d.Crash, d.Total, want)
		}
	}
}

// A text may have the dumps of several moments, and threads that write twice.
func TestSeveralDumps(t *testing.T) {
	plain := strings.Join(dump, "\n") + "\n\n"
	c := textOf(t, plain+"log\n"+strings.Replace(plain, "12 minutes", "13 minutes", 1)+"panic: over\n\n"+plain)
	if len(c.Dumps) != 3 || c.Dumps[1].Groups[0].Waited != 13*time.Minute || c.Dumps[1].Crash != "" || c.Dumps[2].Crash != "panic: over" {
		t.Errorf("%+v", c.Dumps)
	}
	elsewhere := "goroutine 9 [running]:\n\tgoroutine running on other thread; stack unavailable\n\n"
	again := "-----\n\nSIGQUIT: quit\nPC=0x4859c1 m=1 sigcode=0\n\ngoroutine 9 [running]:\nmain.busy()\n\t/src/app/main.go:9 +0x1\ncreated by main.main\n\t/src/app/main.go:3 +0x1\n"
	c = textOf(t, elsewhere+plain+again+again)
	if d := c.Dumps[0]; len(c.Dumps) != 1 || d.Total != 3 || d.Groups[0].Stack[0].Function != "main.busy" || d.Groups[0].CreatedBy.Line != 3 {
		t.Errorf("%+v", c.Dumps)
	}
}

func TestTruncated(t *testing.T) {
	plain := strings.Join(dump[:7], "\n") + "\n"
	for _, end := range []string{
		"goroutine 8 [select]:\n", "goroutine 8 [select]:\nmain.f()\n", "goroutine 8 [select]:\nmain.f()\n\t/src/m.go:1 +0x1\n",
		"goroutine 8 [select]:\nmain.f()\n\t/src/m.g", "goroutine 8 [select]:\nmain.f()\n\t/src/m.go:1 +0x1\ncreated by main.main in goroutine 1\n",
	} {
		if d := textOf(t, plain+end).Dumps[0]; !d.Truncated || d.Total != 2 {
			t.Errorf("%q: truncated %v, %d goroutines", end, d.Truncated, d.Total)
		}
	}
}

const counted = `goroutine profile: total 31
25 @ 0x489ace 0x41a5ae
# labels: {"queue":"a, b", "k":"v"}
#	0x489acd	main.late+0x18		/build/my program/main.go:14
#	0x41a5ad	main.(*T[...]).run+0x1	/build/main.go:20

6 @ 0x448cb1
`

func TestCounts(t *testing.T) {
	for _, text := range []string{
		counted, "HTTP/1.0 200 OK\n\n" + strings.ReplaceAll(counted, "\t", "  "), strings.ReplaceAll("\n"+counted, "\n", "\nweb-1 | "),
	} {
		d := textOf(t, text).Dumps[0]
		want := []Goroutines{
			{Count: 25, Stack: Stack{{"main.late", "/build/my program/main.go", 14}, {"main.(*T[...]).run", "/build/main.go", 20}}},
			{Count: 6},
		}
		if d.States || d.Truncated || d.Total != 31 || !reflect.DeepEqual(d.Groups, want) {
			t.Errorf("got  %+v\nwant %+v", d, want)
		}
	}
	if d := textOf(t, counted[:len(counted)-12]).Dumps[0]; !d.Truncated || d.Total != 25 {
		t.Errorf("cut off: %+v", d)
	}
	c := textOf(t, strings.Replace(counted, "goroutine profile", "goroutineleak profile", 1))
	if len(c.Dumps) != 0 || c.Leaks == nil || c.Leaks.Samples[0].Count != 25 || c.Leaks.Samples[0].Stack[0].Line != 14 {
		t.Errorf("leaks %+v", c.Leaks)
	}
	if c := textOf(t, counted+"\n"+strings.Join(dump, "\n")); len(c.Dumps) != 2 || c.Dumps[0].States || !c.Dumps[1].States {
		t.Errorf("both forms in a file: %+v", c.Dumps)
	}
}

// Any text is read without a panic, and counts are consistent.
func FuzzText(f *testing.F) {
	f.Add(strings.Join(dump, "\n"))
	f.Add(counted)
	f.Add(`{"s":"panic: a\n\ngoroutine 1 [a (b] {k: "v"}:\nmain.f(...)\n\t<autogenerated>:1\n"}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Read(nil, []File{{"a", []byte(text)}})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			return
		}
		for _, d := range c.Dumps {
			n := 0
			for _, g := range d.Groups {
				n += g.Count
				if g.Waited < 0 || len(g.Stack) > maxFrames || d.States != (g.ID != 0) {
					t.Errorf("%+v", g)
				}
			}
			if n != d.Total {
				t.Errorf("%d goroutines in groups of %d", n, d.Total)
			}
		}
	})
}

// A header begins with its word, and its numbers are possible.
func FuzzHeader(f *testing.F) {
	f.Add(`> goroutine 7 gp=0x1 m=0 [chan receive (nil chan), 3 minutes labels:{"a": "b"}] {c: d}:`)
	f.Fuzz(func(t *testing.T, line string) {
		prefix, g, ok := header([]byte(line))
		if ok && (!strings.HasPrefix(line[len(prefix):], "goroutine ") || g.Count != 1 || g.Waited < 0) {
			t.Errorf("%q: %q, %+v", line, prefix, g)
		}
	})
}
