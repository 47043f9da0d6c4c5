package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

// folder writes files to a new folder and returns its name.
func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var (
	cpuStack  = []string{"main.f", "main.main"}
	sendStack = []string{"runtime.chansend1", "main.f"}
)

func cpuProfile(t *testing.T) []byte {
	return packed(t, at(noon), cpuTypes, drawn{[]int64{1, 10e6}, cpuStack, nil})
}

func countsOf(t *testing.T, when time.Time, n int64) []byte {
	return packed(t, at(when), "goroutine/count", drawn{[]int64{n}, sendStack, nil})
}

// traced returns an execution trace of a moment.
func traced(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err)
	}
	trace.Stop()
	return b.Bytes()
}

const mapJSON = `{"time":"2026-01-02T12:00:05Z","stages":[],"edges":[],"channels":[{"id":1,"name":"jobs"}]}`

// everything has a file of each kind, and others that people have beside them.
func everything(t *testing.T) map[string][]byte {
	return map[string][]byte{
		"a":                     cpuProfile(t),
		"block.pprof":           packed(t, nil, waitTypes, drawn{[]int64{1, 5}, sendStack, nil}),
		"mutex":                 packed(t, nil, waitTypes),
		"goroutine.pprof":       countsOf(t, noon.Add(5*time.Second), 7),
		"goroutine.txt":         []byte(strings.Join(dump, "\n")),
		"goroutine-before.gz":   zipped(t, countsOf(t, noon, 6)),
		"goroutine-before.txt":  []byte(strings.Join(dump[:7], "\n")),
		"leak":                  packed(t, nil, "goroutineleak/count", drawn{[]int64{2}, sendStack, nil}),
		"trace.out":             traced(t),
		"flow.json":             []byte(mapJSON),
		"vars.json":             []byte(`{"cmdline":["app"],"memstats":{"Alloc":1}}`),
		"capture.json":          []byte(`{"format":"sluice capture 1","target":"http://x\u001b","missing":[{"what":"metrics","reason":"none"}]}`),
		"heap.pprof":            packed(t, nil, "alloc_objects/count inuse_space/bytes"),
		"threadcreate":          []byte("threadcreate profile: total 7\n1 @ 0x1\n"),
		"delta":                 packed(t, func(p *pprof.Profile) { p.DurationNanos = 1e9 }, "goroutine/count", drawn{[]int64{-1}, sendStack, nil}),
		"index.html":            []byte("<html>\n<head>\n<title>/debug/pprof/</title>"),
		"README":                []byte("not a profile\n"),
		"empty":                 nil,
		"cut.pprof":             cpuProfile(t)[:100],
		"picture\x1b[31m\u202e": []byte("\x89PNG\r\n\x1a\n\x00"),
		".hidden":               []byte("x"),
	}
}

func TestOpenFolder(t *testing.T) {
	dir := folder(t, everything(t))
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.CPU == nil || c.Block == nil || c.Mutex != nil || c.Leaks == nil || c.Flow == nil || c.Live {
		t.Errorf("%+v", c)
	}
	if !c.Start.Equal(noon) || c.Target != `http://x\x1b` || c.Flow.Channels[0].Name != "jobs" {
		t.Errorf("from %v, %s, map %+v", c.Start, c.Target, c.Flow)
	}
	var moments []string
	for _, d := range c.Dumps {
		moments = append(moments, fmt.Sprint(d.At.Second(), d.Total, d.States))
	}
	if want := []string{"0 6 false", "0 1 true", "5 7 false", "5 2 true"}; !reflect.DeepEqual(moments, want) {
		t.Errorf("dumps %q, want %q", moments, want)
	}
	if r, err := c.Trace.Open(); err != nil {
		t.Error(err)
	} else if data, err := io.ReadAll(r); err != nil || int64(len(data)) != c.Trace.Size || r.Close() != nil {
		t.Errorf("%d bytes of the trace of %d, %v", len(data), c.Trace.Size, err)
	}
	missing := map[string]string{}
	for _, m := range c.Missing {
		missing[m.What] = m.Reason
	}
	want := map[string]string{
		"metrics": "none", "vars.json": "unknown file type", "heap.pprof": "a profile of inuse_space",
		"threadcreate": "a text of a threadcreate profile", "delta": "the difference of two", "index.html": "a web page",
		"README": "unknown file type", "empty": "empty file", "cut.pprof": "truncated file", "sub": "not a regular file",
		`picture\x1b[31m\u202e`: "unknown file type",
	}
	for what, reason := range missing {
		if want[what] == "" || !strings.Contains(reason, want[what]) {
			t.Errorf("%s is missing: %s, want %q", what, reason, want[what])
		}
		delete(want, what)
	}
	if len(want) > 0 {
		t.Errorf("missing are not %v", want)
	}
}

// Each file alone is a capture, or an error in one line that names it; beside a useful
// one it is missing.
func TestOpenOne(t *testing.T) {
	useful := map[string]bool{"a": true, "block.pprof": true, "leak": true, "trace.out": true}
	files := everything(t)
	dir := folder(t, files)
	for name := range files {
		path := filepath.Join(dir, name)
		useful := useful[name] || strings.HasPrefix(name, "goroutine") || strings.HasPrefix(name, "flow")
		_, err := Open(path)
		var file *FileError
		switch {
		case useful && err != nil:
			t.Error(err)
		case !useful && (!errors.As(err, &file) || file.Name != path || strings.ContainsAny(err.Error(), "\n\x1b\u202e")):
			t.Errorf("%q alone: %v", name, err)
		}
		if c, err := Open(filepath.Join(dir, "leak"), path); err != nil || !useful && name != "capture.json" && name != "mutex" && len(c.Missing) != 1 {
			t.Errorf("%q beside another: %+v, %v", name, c, err)
		}
	}
	for name, paths := range map[string][]string{"nothing": nil, "an empty folder": {t.TempDir()}, "a missing file": {dir + "/leak", dir + "/none"}} {
		if _, err := Open(paths...); err == nil || (name == "a missing file") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := strings.Repeat("x", 5000)
	if _, err := Read(nil, []File{{long, nil}}); err == nil || !strings.Contains(err.Error(), "empty file") {
		t.Errorf("a long name: %v", err)
	}
	useless := folder(t, map[string][]byte{"README": []byte("x"), "heap": packed(t, nil, "inuse_space/bytes")})
	if _, err := Open(useless); err == nil || !strings.Contains(err.Error(), "found no profile") || !strings.Contains(err.Error(), "a profile of inuse_space") {
		t.Errorf("a folder without a profile: %v", err)
	}
}

func TestOpenRejects(t *testing.T) {
	cpu := func(window, value int64, stack ...string) []byte {
		return packed(t, func(p *pprof.Profile) { p.DurationNanos = window }, cpuTypes, drawn{[]int64{1, value}, stack, nil})
	}
	for want, data := range map[string][]byte{
		"implausible CPU time of 1s in 1ns":     cpu(1, 1e9, cpuStack...),
		"impossible counts":                     cpu(1e9, -1, cpuStack...),
		"no Go function names":                  cpu(1e9, 1, "std::sort<Key.a>", "main", "", "."),
		"or no goroutine waited":                packed(t, nil, waitTypes),
		"impossible counts or times":            countsOf(t, noon, 1<<40),
		"the difference of two":                 countsOf(t, noon, -1),
		"does not help here":                    packed(t, nil, "cpu/seconds"),
		"sluice capture 9":                      []byte(`{"format": "sluice capture 9"}`),
		"implausible use of 3 cores of 2 CPUs":  []byte(`{"format": "sluice capture 1", "machine": {"cpus": 2, "busy_cores": 3}}`),
		"unknown file type":                     []byte(`{"a": 1}`),
		"a text of a heap-like profile":         []byte("heap-like profile: total 3\n"),
		"truncated file: fetch it again, and w": []byte("goroutine profile: total 3\n"),
		"gzip: invalid header":                  []byte("\x1f\x8bxxxxxxxxxxxxxxxxxxxxxx"),
	} {
		_, err := Open(filepath.Join(folder(t, map[string][]byte{"file": data}), "file"))
		if file := (*FileError)(nil); !errors.As(err, &file) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Names decide where times do not.
func TestOrder(t *testing.T) {
	text := func(id string) []byte { return []byte("goroutine " + id + " [select]:\nmain.f()\n\t/m.go:1\n") }
	c, err := Open(folder(t, map[string][]byte{
		"d-after.txt": text("4"), "d10.txt": text("3"), "d9.txt": text("2"), "z_before.txt": text("1"), "a": cpuProfile(t), "b": cpuProfile(t),
	}))
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range c.Dumps {
		if d.Groups[0].ID != uint64(i+1) {
			t.Errorf("%d is number %d", d.Groups[0].ID, i+1)
		}
	}
	if len(c.Missing) != 1 || !strings.Contains(c.Missing[0].Reason, "one cpu file too many") {
		t.Errorf("missing %v", c.Missing)
	}
}

func TestRead(t *testing.T) {
	machine := &Machine{CPUs: 4, Busy: 1.5}
	h := &Header{Format: HeaderFormat, Target: "http://x", Start: noon, Machine: machine, Missing: []Missing{{"mutex", "refused"}}}
	c, err := Read(h, []File{
		{"trace.out", traced(t)}, {"goroutine.txt", []byte(strings.Join(dump, "\n"))}, {"mutex.pprof", packed(t, nil, waitTypes)},
	})
	if err != nil || !c.Live || c.Target != "http://x" || !c.Start.Equal(noon) || c.Machine != machine || len(c.Missing) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := Read(nil, nil); err == nil {
		t.Error("nothing is a capture")
	}
}

// A folder that is not a capture is refused, and what is listed is bounded.
func TestMany(t *testing.T) {
	files := map[string][]byte{}
	for i := range maxFiles - 1 {
		files[fmt.Sprint(i)] = []byte("x")
	}
	files["goroutines"] = []byte(strings.Join(dump, "\n"))
	dir := folder(t, files)
	c, err := Open(dir)
	if err != nil || len(c.Missing) != maxMissing+1 || c.Missing[maxMissing].Reason != fmt.Sprint(maxFiles-1-maxMissing, " more parts") {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "one more"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "a folder with 1001 files (at most 1000)") {
		t.Errorf("%v", err)
	}
}
