package compare

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/perf/benchfmt"
)

// plain is the output of "go test -bench . ./...", as it is.
const plain = "goos: linux\npkg: example.com/q\ncpu: abacus\n" +
	"BenchmarkSend-8   \t 8326529\t       120.1 ns/op\t      48 B/op\n" +
	"BenchmarkSend-8   \t 8256569\t       121.1 ns/op\t      48 B/op\n" +
	"BenchmarkPool/cap=64-8         \t  297183\t      3364.9 ns/op\n" +
	"PASS\nok  \texample.com/q\t8.120s\n" +
	"goos: linux\npkg: example.com/r\ncpu: abacus\n" +
	"BenchmarkSend-8   \t       1\t1234567890 ns/op\t 1.5e+03 items\nPASS\nok  \texample.com/r\t1.1s\n"

// parsed reads the text as NEW.
func parsed(t *testing.T, text string) (*Comparison, error) {
	t.Helper()
	c := newComparison("", "new", Defaults)
	_, err := c.side(1).read(strings.NewReader(text), new(benchfmt.Reader))
	return c, err
}

// said is what was read, as text.
func said(t *testing.T, text string) string {
	t.Helper()
	r, err := parsed(t, text)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(r.values), func(a, b Key) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
		fmt.Fprintln(&b, key, r.values[key][1])
	}
	fmt.Fprint(&b, r.New.Settings, r.New.Skipped, r.New.Failures)
	return b.String()
}

// eachLine changes each line of a text.
func eachLine(text, with string) string {
	return regexp.MustCompile(`(?m)^(.*)\n`).ReplaceAllString(text, with+"\n")
}

// events is the text as "go test -json" writes it: a name and its result are two events.
func events(pkg, text string) (all []string) {
	for _, part := range regexp.MustCompile(`(?m)^Benchmark\S+ *\t|.*\n`).FindAllString(text, -1) {
		event, _ := json.Marshal(map[string]string{"Time": "2026-01-02T03:04:05.678Z", "Action": "output", "Package": pkg, "Test": "X", "Output": part})
		all = append(all, string(event)+"\n")
	}
	return append(all, `{"Action":"pass","Package":"`+pkg+`","Elapsed":8.1}`+"\n")
}

func jsonOf(text string) string {
	first, second, _ := strings.Cut(text, "goos: linux\npkg: example.com/r\n")
	return strings.Join(slices.Concat(events("example.com/q", first), events("example.com/r", "goos: linux\npkg: example.com/r\n"+second)), "")
}

// interleaved is the stream of packages that are tested at the same time.
func interleaved(text string) (mixed string) {
	first, second, _ := strings.Cut(text, "goos: linux\npkg: example.com/r\n")
	both := [][]string{events("example.com/q", first), events("example.com/r", "goos: linux\npkg: example.com/r\n"+second)}
	for len(both[0])+len(both[1]) > 0 {
		for i := range both {
			if len(both[i]) > 0 {
				mixed += both[i][0]
				both[i] = both[i][1:]
			}
		}
	}
	return mixed
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func wideText(text string) string {
	b, _ := binary.Append(nil, binary.LittleEndian, utf16.Encode([]rune("\ufeff"+text)))
	return string(b)
}

// TestForms: in each form in which systems store it, the output says the same.
func TestForms(t *testing.T) {
	want := said(t, plain)
	if strings.Count(want, "\n") != 5 || !strings.HasSuffix(want, "[] []") {
		t.Fatalf("of the plain text:\n%s", want)
	}
	for name, text := range map[string]string{
		"CRLF":                 strings.ReplaceAll(plain, "\n", "\r\n"),
		"BOM":                  "\ufeff" + plain,
		"UTF-16":               wideText(plain),
		"gzip":                 zipped(plain),
		"gzip of UTF-16":       zipped(wideText(plain)),
		"no line feed":         strings.TrimSuffix(plain, "\n"),
		"spaces for tabs":      strings.ReplaceAll(plain, "\t", "    "),
		"colors":               eachLine(plain, "\x1b[32m$1\x1b[0m\x1b[K"),
		"hyperlinks":           eachLine(plain, "\x1b]8;;http://a\x1b\\$1\x1b]8;;\a"),
		"GitHub":               eachLine(plain, "2026-01-02T03:04:05.6789012Z $1"),
		"gh run view":          eachLine(plain, "bench (1.26)\tRun go test\t2026-01-02T03:04:05.6789012Z $1"),
		"gh with a BOM":        "bench\tRun\t\ufeff2026-01-02T03:04:05.6789012Z \n" + eachLine(plain, "bench\tRun\t2026-01-02T03:04:05.67Z $1"),
		"GitLab":               "section_start:1560896352:step_script\r\x1b[0K" + plain,
		"GitLab with times":    eachLine(plain, "2026-05-22T12:43:46.962646Z 00O $1"),
		"GitLab in pieces":     regexp.MustCompile(`(?m)^(Benchmark\S+ *\t)`).ReplaceAllString(plain, "$1\n2026-05-22T12:43:46.962646Z 01O+"),
		"Jenkins":              eachLine(plain, "[2026-01-02T03:04:05.678Z] $1"),
		"clock":                eachLine(plain, "03:04:05 $1"),
		"package":              eachLine(plain, "[example.com/q] $1"),
		"time and package":     eachLine(plain, "2026-01-02T03:04:05Z [q] $1"),
		"container":            eachLine(plain, "bench-1  | $1"),
		"JSON":                 jsonOf(plain),
		"JSON of two packages": interleaved(plain),
		"JSON at GitHub":       eachLine(interleaved(plain), "2026-01-02T03:04:05.678Z $1"),
		"verbose":              strings.ReplaceAll(plain, "BenchmarkPool/", "=== RUN   BenchmarkPool/cap=64\nBenchmarkPool/cap=64\nBenchmarkPool/"),
		"verbose with output":  strings.ReplaceAll(plain, "BenchmarkSend-8 ", "BenchmarkSend\nsome log line\nno line feedBenchmarkSend-8 "),
		"output before":        strings.ReplaceAll(plain, "BenchmarkSend-8 ", "some log line\nno line feedBenchmarkSend-8 "),
		"interrupted":          strings.ReplaceAll(plain, "BenchmarkSend-8   \t", "BenchmarkSend-8   \tsome log line\n"),
		"by a number":          strings.ReplaceAll(plain, "BenchmarkSend-8   \t", "BenchmarkSend-8   \t42 users\nlevel: info\nok then\n{\"a\": 1}\n"),
		"without a line feed":  strings.ReplaceAll(plain, "BenchmarkSend-8   \t", "BenchmarkSend-8   \tdone: 100%"),
		"by progress":          strings.ReplaceAll(plain, "BenchmarkSend-8   \t", "BenchmarkSend-8   \t10%\r100%\r\n"),
		"interrupted JSON":     interleaved(strings.ReplaceAll(plain, "BenchmarkSend-8   \t", "BenchmarkSend-8   \tlog of 2026-01-02 03:04:05\n")),
		"long lines between":   strings.ReplaceAll(plain, "\n", "\n"+strings.Repeat("x", 3*maxLine)+"\n"),
	} {
		if got := said(t, text); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Packages of a log with prefixes are told apart by their prefix.
func TestPrefixedPackages(t *testing.T) {
	line := "BenchmarkSend-8 1 10 ns/op\n"
	r, err := parsed(t, "[q] pkg: q\n[r] pkg: r\n[q] "+line+"[r] "+line+"[r] "+line+"x: "+line)
	if err != nil || len(r.values[Key{Package: "q", Name: "Send-8", Unit: "sec/op"}][1]) != 1 || len(r.values[Key{Package: "r", Name: "Send-8", Unit: "sec/op"}][1]) != 2 {
		t.Errorf("%v: %v", r.values, err)
	}
}

// TestUnreadable: what looks like a result and cannot be read is counted, with its place;
// what does not look so is not.
func TestUnreadable(t *testing.T) {
	good := "BenchmarkSend-8 \t100\t 12 ns/op\n"
	for text, want := range map[string]string{
		"BenchmarkPool-8 100 fast\n":                  "new:2: BenchmarkPool-8 100 fast",
		"BenchmarkPool-8 lots 10 ns/op\n":             "new:2: BenchmarkPool-8 lots 10 ns/op",
		"BenchmarkPool-8 100 10 ns/op 3\n":            "new:2: BenchmarkPool-8 100 10 ns/op 3",
		"BenchmarkPool-8 99999999999999999999 1 ns\n": "new:2: parsing iteration count: value out of range",
		"BenchmarkPool-8 100 NaN ns/op\n":             "new:2: Pool-8 NaN",
		"BenchmarkPool-8 100 +Inf ns/op\n":            "new:2: Pool-8 +Inf",
		"  8326529\t       120.1 ns/op\n":             "new:2: 8326529 120.1 ns/op",
		"BenchmarkPool-8 \tlog\nPASS\n":               "",
		"moved 42 120 users\nwhole: 12 ns/op\n":       "",
		"BenchmarkPool-8 \tsaid 42 120 users\n":       "",
	} {
		r, err := parsed(t, good+text+good)
		if got := strings.Join(r.New.Skipped, ", "); err != nil || got != want || len(r.values) != 1 {
			t.Errorf("%q: %q (%v), want %q", text, got, err, want)
		}
	}
}

// TestFailures: what failed is named, once.
func TestFailures(t *testing.T) {
	for text, want := range map[string]string{
		"BenchmarkPool-8   \tpanic: closed\n\ngoroutine 51 [running]:\nexit status 2\nFAIL\tq\t8.1s\nFAIL\n": "BenchmarkPool-8: panic: closed",
		"BenchmarkPool-8   \tlog\npanic: closed\nFAIL\tq\t8.1s\n":                                            "BenchmarkPool-8: panic: closed",
		"panic: test timed out after 10m0s\n\tpanic: again\n":                                                "panic: test timed out after 10m0s",
		"fatal error: all goroutines are asleep - deadlock!\n":                                               "fatal error: all goroutines are asleep - deadlock!",
		"--- FAIL: BenchmarkPool-8\n    x_test.go:88: lost\nFAIL\nexit status 1\nFAIL\tq\t8.1s\n":            "BenchmarkPool-8 failed",
		"BenchmarkPool-8   \t--- FAIL: BenchmarkPool-8\n--- FAIL: BenchmarkPool-8\nFAIL\n":                   "BenchmarkPool-8 failed",
		"BenchmarkPool\n    --- FAIL: BenchmarkPool/a-8\nFAIL\nFAIL\tq\t1s\nFAIL\tr [build failed]\nFAIL\n":  "BenchmarkPool/a-8 failed, FAIL r [build failed]",
		"FAIL\nFAIL\tq\t8.1s\n": "FAIL q 8.1s",
		"FAIL\n":                "FAIL",
		"FAILED to connect\nFAIL to connect\nit said: panic: no\nPASS\n": "",
	} {
		for form, text := range map[string]string{"text": text, "JSON": strings.Join(events("q", text), ""), "GitHub": eachLine(text, "2026-01-02T03:04:05.678Z $1")} {
			r, err := parsed(t, text)
			got := strings.Join(r.New.Failures, ", ")
			if got != want || (err == nil) != (want != "") {
				t.Errorf("%s of %q: %q (%v), want %q", form, text, got, err, want)
			}
		}
	}
}

// A package that follows a failure has its settings.
func TestSettingsAfterFailure(t *testing.T) {
	r, err := parsed(t, "pkg: q\nBenchmarkPool-8   \t--- FAIL: BenchmarkPool-8\nFAIL\nFAIL\tq\t1s\npkg: r\ncpu: abacus\nBenchmarkSend-8 1 1 ns/op\n")
	if err != nil || r.keys[0].Package != "r" || !slices.Equal(r.New.values("cpu"), []string{"abacus"}) {
		t.Errorf("%+v: %v", r, err)
	}
}

func TestTidy(t *testing.T) {
	for unit, want := range map[string]string{
		"ns/op": "1e-09 sec/op", "µs/op": "1e-06 sec/op", "us/op": "1e-06 sec/op", "ms/op": "0.001 sec/op", "s/op": "1 sec/op", "sec/op": "1 sec/op",
		"p99-µs": "1e-06 p99-sec", "MB/s": "1e+06 B/s", "GB/s": "1e+09 B/s", "KiB/op": "1024 B/op",
		"req/s": "1 req/s", "allocs/op": "1 allocs/op", "%-lockwait": "1 %-lockwait", "widgets/ms": "1 widgets/ms",
	} {
		v, tidied := tidy(1, unit)
		if got := fmt.Sprint(v, " ", tidied); got != want {
			t.Errorf("%s: %s, want %s", unit, got, want)
		}
	}
}

// A declaration in one unit holds for all that are converted to the same.
func TestTidyMetadata(t *testing.T) {
	c := compared(t, "Unit ms better=higher\n"+run(header, line{"E", "µs", around(100, 9)}), run(later, line{"E", "µs", around(120, 9)}), Defaults)
	if p := c.Points[0]; p.Unit != "sec" || p.Verdict != Better {
		t.Errorf("%+v", p)
	}
}
