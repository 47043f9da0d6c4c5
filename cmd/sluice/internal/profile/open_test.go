package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// everything has a file of each kind.
func everything(t *testing.T) map[string][]byte {
	t.Helper()
	cpu := cpuDrawing(spent(time.Second, sendStack...))
	cpu.at = noon
	mutex := func(n int64, at time.Time) []byte {
		d := waitDrawing(waited(n, time.Duration(n)*time.Second, below("runtime.unlock", "runtime.chansend")...))
		d.at = at
		return d.bytes(t)
	}
	leak := goroutineDrawing(there(2, sendStack...))
	leak.types = []string{"goroutineleak/count"}
	return map[string][]byte{
		"a": cpu.bytes(t),
		"b": mutex(7, noon.Add(5*time.Second)), // names do not tell, times do
		"c": mutex(3, noon),
		"d": waitDrawing(waited(1, time.Second, sendStack...)).bytes(t),
		"e": goroutineDrawing(there(64, sendStack...)).bytes(t),
		"f": goroutineDrawing(there(60, sendStack...)).bytes(t),
		"g": []byte(hotText),
		"h": leak.bytes(t),
		"i": tracedExchange(t),
		"j": []byte(`{"go":"go1.26.8","cpus":8,"time":"2026-01-02T12:00:05Z","metrics":{"/sched/gomaxprocs:threads":4,"/sync/mutex/wait/total:seconds":3}}`),
		"k": []byte("go_sched_gomaxprocs_threads 4\ngo_sync_mutex_wait_total_seconds_total 1\n"),
	}
}

func TestOpen(t *testing.T) {
	files := everything(t)
	files["f-before.pprof"], files["k-before.txt"] = files["f"], files["k"]
	delete(files, "f")
	delete(files, "k")
	files["truth.json"], files["README"], files[".hidden"] = []byte(`{"a": 1}`), []byte("not ours\n"), nil
	dir := folder(t, files)
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.CPU == nil || c.CPU.Total != time.Second || c.Window != time.Second || !c.Start.Equal(noon) {
		t.Errorf("CPU %+v, from %v for %v", c.CPU, c.Start, c.Window)
	}
	if c.Mutex == nil || len(c.Mutex.Sites) != 1 || c.Mutex.Sites[0] != (Contention{sendSite, 4, 4 * time.Second}) || c.Mutex.Window != 5*time.Second {
		t.Errorf("mutex %+v", c.Mutex)
	}
	if c.Block == nil || c.Block.Sites[0].Count != 1 || c.Block.Window != 0 {
		t.Errorf("block %+v", c.Block)
	}
	if g := c.Goroutines; g == nil || !g.StatesKnown || !g.InKnown || g.Sites[0].In != 64 || g.Sites[0].Earlier != 60 {
		t.Errorf("goroutines %+v", c.Goroutines)
	}
	if c.Leaks == nil || c.Leaks.Total != 2 || c.Leaks.Sites[0].Site != sendSite {
		t.Errorf("leaks %+v", c.Leaks)
	}
	if c.Trace == nil || c.Trace.Wakeups < exchanges {
		t.Errorf("trace %+v", c.Trace)
	}
	wait, ok := c.Metrics.MutexWait()
	if wait != 2*time.Second || !ok || c.GoVersion != "go1.26.8" || c.GOMAXPROCS != 4 || c.CPUs != 8 {
		t.Errorf("waited %v, %s, GOMAXPROCS %d, CPUs %d", wait, c.GoVersion, c.GOMAXPROCS, c.CPUs)
	}
	if c.Target != dir {
		t.Errorf("target %q", c.Target)
	}
}

// Each kind by itself is a capture, compressed or not.
func TestOpenOne(t *testing.T) {
	for name, data := range everything(t) {
		dir := folder(t, map[string][]byte{name: data})
		c, err := Open(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		parts := 0
		for _, there := range []bool{c.CPU != nil, c.Mutex != nil, c.Block != nil, c.Goroutines != nil, c.Metrics != nil, c.Trace != nil, c.Leaks != nil} {
			if there {
				parts++
			}
		}
		if parts != 1 {
			t.Errorf("%s: %d parts in %+v", name, parts, c)
		}
		if raw := unzipped(t, data); !bytes.Equal(raw, data) {
			if _, err := Open(filepath.Join(folder(t, map[string][]byte{name: raw}), name)); err != nil {
				t.Errorf("%s, uncompressed: %v", name, err)
			}
		}
	}
}

// An empty contention profile is disabled, whatever its name.
func TestOpenEmptyProfile(t *testing.T) {
	empty := waitDrawing().bytes(t)
	c, err := Open(folder(t, map[string][]byte{
		"mutex": empty, "mutex-before": empty, "block.pprof": empty, "cpu": cpuDrawing().bytes(t),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if c.Mutex != nil || c.Block != nil || len(c.Missing) != 2 || c.CPU == nil {
		t.Errorf("%+v", c)
	}
	// No events since the first of two is a fact.
	same := waitDrawing(waited(1, time.Second, sendStack...)).bytes(t)
	c, err = Open(folder(t, map[string][]byte{"block": same, "block-before": same, "goroutine": goroutineDrawing().bytes(t)}))
	if err != nil {
		t.Fatal(err)
	}
	if c.Block == nil || len(c.Block.Sites) != 0 {
		t.Errorf("block %+v, missing %v", c.Block, c.Missing)
	}
}

// drawingOf is a CPU profile of one second with another duration.
func drawingOf(window time.Duration) drawing {
	d := cpuDrawing(spent(time.Second, sendStack...))
	d.window = window
	return d
}

func TestOpenBad(t *testing.T) {
	good := cpuDrawing(spent(time.Second, sendStack...)).bytes(t)
	heap := drawing{types: []string{"alloc_objects/count", "inuse_space/bytes"}}
	many := bytes.Repeat([]byte{0x12, 0}, maxMessages+1)
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "empty file: the service sent nothing; fetch it again"},
		"foreign":          {[]byte("hello\n"), "unknown file type"},
		"a web page":       {[]byte("<html>\n<head>\n<title>/debug/pprof/</title>"), "a web page, not a profile: fetch the profile itself"},
		"a picture":        {[]byte("\x89PNG\r\n\x1a\n"), "unknown file type"},
		"JSON":             {[]byte(`{"a": 1}`), "unknown file type"},
		"another format":   {[]byte(`{"format": "sluice capture 9"}`), "sluice capture 9"},
		"heap":             {heap.bytes(t), "alloc_objects, inuse_space"},
		"debug=1":          {[]byte("goroutine profile: total 7\n"), "debug=1 text of a goroutine profile"},
		"cut off":          {good[:len(good)/2], "truncated file: fetch it again"},
		"gzip of nothing":  {zipped(t, nil), "invalid profile"},
		"gzip of a text":   {zipped(t, []byte("hello")), "not a profile"},
		"a gzip bomb":      {zipped(t, make([]byte, maxProfile+1)), "larger than 64 MB when uncompressed"},
		"a bomb of fields": {zipped(t, many), "entries"},
		"nameless":         {waitDrawing().bytes(t), "name it mutex or block"},
		"a trace's header": {[]byte("go 1.26 trace\x00\x00\x00"), "no goroutine events"},
		"debug=1, hostile": {[]byte("gor\x1b[31moutine profile: total 7\n"), "text of a gor?[31moutine profile"},
		"two lines":        {(drawing{types: []string{"al\nloc/count"}}).bytes(t), "al?loc"},
		"a moment":         {drawingOf(time.Nanosecond).bytes(t), "implausible CPU time of 1s in 1ns"},
		"a century":        {drawingOf(100 * 365 * 24 * time.Hour).bytes(t), "implausible length of 876000h0m0s"},
		"too many Ps":      {[]byte(`{"format": "sluice capture 1", "gomaxprocs": 1000000}`), "implausible GOMAXPROCS 1000000"},
		"busier than all":  {[]byte(`{"format": "sluice capture 1", "machine": {"cpus": 2, "busy_cores": 3}}`), "implausible use of 3 cores of 2 CPUs"},
		"fewer than no Ps": {[]byte(`{"format": "sluice capture 1", "cpus": -1}`), "on -1 CPUs"},
		"a header alone":   {[]byte(`{"format": "sluice capture 1"}`), "found no profile, trace or metrics"},
		"of C++":           {cpuDrawing(spent(time.Second, "std::sort<Key.a>", "main")).bytes(t), "no Go function names"},
		"without names":    {cpuDrawing(spent(time.Second, "", ".")).bytes(t), "no Go function names"},
		"impossible":       {cpuDrawing(drawn{[]int64{1, -1}, sendStack}).bytes(t), "impossible CPU times"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder(t, map[string][]byte{"file": test.data}), "file")
			_, err := Open(path)
			var file *FileError
			if !errors.As(err, &file) || file.Name != path || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want a line with the file and %q", err, test.want)
			}
		})
	}
}

func TestOpenBadSets(t *testing.T) {
	cpu := cpuDrawing(spent(time.Second, sendStack...)).bytes(t)
	wait := func(n int64) []byte { return waitDrawing(waited(n, time.Second, sendStack...)).bytes(t) }
	for name, test := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"two CPU profiles":     {map[string][]byte{"a": cpu, "b": cpu}, "too many cpu files for one capture (want at most 1)"},
		"three block profiles": {map[string][]byte{"a": wait(1), "b": wait(2), "c": wait(3)}, "too many block files for one capture (want at most 2)"},
		"a restart":            {map[string][]byte{"block": wait(10), "block-before": wait(100)}, "the process restarted"},
		"counters that shrink": {map[string][]byte{"m.json": metricsOf(5), "m-before.json": metricsOf(100)}, "the process restarted"},
		"nothing of ours":      {map[string][]byte{"README": []byte("text")}, "found no profile"},
		"nothing":              {nil, "found no profile"},
		"a broken one":         {map[string][]byte{"a": cpu, "b": cpu[:len(cpu)-9]}, "truncated file"},
	} {
		if _, err := Open(folder(t, test.files)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := Open("nonesuch"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Open(); err == nil {
		t.Error("no files were accepted as a capture")
	}
}

func metricsOf(cycles int) []byte {
	return fmt.Appendf(nil, `{"metrics": {%q: %d}}`, metricCycles, cycles)
}
