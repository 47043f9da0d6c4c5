package profile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fake is a service with handmade profiles.
type fake struct {
	*httptest.Server
	requested *[]string // paths and queries, in order
}

// serve starts a fake with the usual pages; pages replaces handlers by path.
func serve(t *testing.T, pages map[string]http.HandlerFunc) fake {
	t.Helper()
	var lock sync.Mutex
	requested := []string{}
	counts := map[string]int64{}
	usual := map[string]func(n int64) []byte{
		"/debug/pprof/profile":   func(int64) []byte { return cpuDrawing(spent(time.Second, sendStack...)).bytes(t) },
		"/debug/pprof/goroutine": func(n int64) []byte { return goroutineDrawing(there(10*n, sendStack...)).bytes(t) },
		"/debug/pprof/mutex": func(n int64) []byte {
			return waitDrawing(waited(n, time.Second, below("runtime.unlock", "runtime.chansend")...)).bytes(t)
		},
		"/debug/pprof/block": func(n int64) []byte { return waitDrawing(waited(5*n, time.Second, sendStack...)).bytes(t) },
		"/debug/pprof/trace": func(int64) []byte { return tracedExchange(t) },
		"/debug/metrics": func(n int64) []byte {
			r := &Reading{At: noon.Add(time.Duration(n) * time.Second), GoVersion: "go1.26.8", CPUs: 2,
				Values:     map[string]float64{metricMutexWait: float64(n), metricGOMAXPROCS: 2},
				Histograms: map[string]Histogram{metricLatencies: {Counts: []uint64{uint64(1000 * n)}, Bounds: []float64{0, 1}}}}
			text, err := json.Marshal(r)
			if err != nil {
				t.Error(err)
			}
			return text
		},
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		if !r.Close {
			t.Errorf("the connection for %s remains open", r.URL)
		}
		lock.Lock()
		requested = append(requested, r.URL.RequestURI())
		counts[r.URL.Path]++
		n := counts[r.URL.Path]
		lock.Unlock()
		if page, ok := pages[r.URL.Path]; ok {
			page(w, r)
		} else if r.URL.Query().Get("debug") == "2" {
			w.Write([]byte(hotText))
		} else if page, ok := usual[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write(page(n))
		} else {
			http.NotFound(w, r)
		}
	}
	f := fake{httptest.NewServer(http.HandlerFunc(handler)), &requested}
	t.Cleanup(f.Close)
	return f
}

// at returns the service at f, with short limits.
func (f fake) at(t *testing.T) *Service {
	t.Helper()
	s, err := At(f.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func watch(t *testing.T, s *Service, extra ...Kind) *Capture {
	t.Helper()
	c, err := s.Watch(t.Context(), time.Nanosecond, extra...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The cheapest requests come first, and there are no unnecessary ones.
func TestOrder(t *testing.T) {
	f := serve(t, nil)
	c := watch(t, f.at(t))
	want := []string{
		"/debug/pprof/goroutine", "/debug/pprof/mutex", "/debug/metrics", "/debug/sluice?format=flow", "/debug/pprof/profile?seconds=1",
		"/debug/metrics", "/debug/pprof/goroutine", "/debug/pprof/goroutine?debug=2", "/debug/pprof/mutex", "/debug/pprof/goroutineleak",
	}
	if !reflect.DeepEqual(*f.requested, want) {
		t.Errorf("requests %q\nwant %q", *f.requested, want)
	}
	wait, _ := c.Metrics.MutexWait()
	if wait != time.Second || c.CPU == nil || c.Mutex.Sites[0].Count != 1 || c.GOMAXPROCS != 2 || c.Block != nil || c.Trace != nil {
		t.Errorf("waited %v, %+v", wait, c)
	}
	if g := c.Goroutines; g.Earlier != 10 || !g.GrowthKnown || !g.StatesKnown {
		t.Errorf("%+v", g)
	}
	if len(c.Missing) != 1 || c.Missing[0].Kind != KindLeak || !strings.Contains(c.Missing[0].Reason, "GOEXPERIMENT") {
		t.Errorf("missing %+v", c.Missing)
	}
}

// Saved profiles are read as the same capture.
func TestSave(t *testing.T) {
	f := serve(t, nil)
	address := strings.Replace(f.URL, "http://", "http://user:secret@", 1)
	s, err := At(address, "")
	if err != nil {
		t.Fatal(err)
	}
	busy := 100.0
	s.Busy = func() (float64, int, bool) { busy += 1e6; return busy, 4, true } // more than the machine has
	watched := watch(t, s, KindBlock, KindTrace)
	if m := watched.Machine; m == nil || *m != (Machine{CPUs: 4, Busy: 4}) {
		t.Errorf("machine %+v", m)
	}
	if watched.Block == nil || watched.Trace == nil {
		t.Fatalf("%+v", watched)
	}
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(watched, opened) {
		t.Errorf("watched %+v\n\nopened %+v", watched, opened)
	}
	if opened.Target != f.URL+"/debug/pprof/" || s.Target() != f.URL+"/debug/pprof" {
		t.Errorf("target %q, %q", opened.Target, s.Target())
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil || strings.Contains(string(text), "secret") {
			t.Errorf("%s has the password, or %v", entry.Name(), err)
		}
	}
	var file *FileError
	if err := s.Save(dir); !errors.As(err, &file) || !strings.Contains(err.Error(), "the folder is not empty") {
		t.Errorf("saved twice: %v", err)
	}
}

// A folder that cannot be written completely is removed, and an existing empty
// one is kept.
func TestFailedSave(t *testing.T) {
	s := serve(t, nil).at(t)
	watch(t, s)
	s.files = append(s.files, File{"no/such/folder", nil})
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new", "empty"} {
		if err := s.Save(filepath.Join(root, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(root, "*"))
	hidden, _ := filepath.Glob(filepath.Join(root, ".*"))
	if err != nil || len(left) != 1 || len(hidden) != 0 {
		t.Errorf("left over: %q, %q, %v", left, hidden, err)
	}
	if err := Vacant("."); err == nil || !strings.Contains(err.Error(), "name a new one") {
		t.Errorf("the current folder: %v", err)
	}
	s.files = s.files[:len(s.files)-1]
	if err := s.Save(filepath.Join(root, "empty")); err != nil {
		t.Errorf("into an empty folder: %v", err)
	}
}

func TestMore(t *testing.T) {
	f := serve(t, nil)
	s := f.at(t)
	watch(t, s)
	for range 2 { // a second time takes the place of the first
		c, err := s.More(t.Context(), KindTrace, time.Second)
		if err != nil || c.Trace == nil || c.CPU == nil {
			t.Fatalf("%+v, %v", c, err)
		}
		dir := filepath.Join(t.TempDir(), "saved")
		if err := s.Save(dir); err != nil {
			t.Fatal(err)
		}
		again, err := Open(dir)
		if err != nil || !reflect.DeepEqual(again.Trace, c.Trace) || again.GOMAXPROCS != c.GOMAXPROCS {
			t.Errorf("%v: saved %+v, have %+v", err, again, c)
		}
		if _, err := os.Stat(filepath.Join(dir, "trace.out")); err == nil {
			t.Error("the whole trace was saved")
		}
		c, err = s.More(t.Context(), KindBlock, time.Nanosecond)
		if err != nil || c.Block == nil || c.Block.Sites[0].Count != 5 || c.Trace == nil {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	c, err := s.More(t.Context(), KindCPU, time.Second)
	if err != nil || len(c.Missing) != 2 || !strings.Contains(c.Missing[1].Reason, "cannot be added later") {
		t.Errorf("%+v, %v", c.Missing, err)
	}
}

// Traces are shorter for busier services.
func TestTraceTime(t *testing.T) {
	rate := func(perSecond uint64) *Capture {
		reading := func(at time.Time, n uint64) *Reading {
			return &Reading{At: at, Histograms: map[string]Histogram{metricLatencies: {Counts: []uint64{n / wakeupsPerSample}}}}
		}
		return &Capture{Metrics: &Metrics{Before: reading(noon, 0), After: reading(noon.Add(time.Second), perSecond)}}
	}
	for name, test := range map[string]struct {
		c       *Capture
		d, want time.Duration
	}{
		"not known": {&Capture{}, time.Minute, unsizedTrace},
		"idle":      {rate(80), time.Minute, maxTraceTime},
		"busy":      {rate(traceSize / tracePerWakeup), time.Minute, time.Second},
		"storm":     {rate(1 << 40), time.Minute, minTraceTime},
		"asked":     {rate(80), 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		if got := traceTime(test.c, test.d); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Missing pages are recorded, and the others are read.
func TestParts(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusInternalServerError)
		w.Write([]byte("Could not enable CPU profiling:\x1b[31m already in use\nmore\n"))
	}
	f := serve(t, map[string]http.HandlerFunc{
		"/debug/pprof/profile": refuse, "/debug/metrics": http.NotFound, "/debug/pprof/mutex": http.NotFound,
	})
	c := watch(t, f.at(t))
	reasons := map[Kind]string{}
	for _, m := range c.Missing {
		reasons[m.Kind] = m.Reason
	}
	if got := reasons[KindCPU]; got != "status 500 Internal Server Error: Could not enable CPU profiling:[31m already in use" {
		t.Errorf("CPU: %q", got)
	}
	if len(c.Missing) != len(reasons) {
		t.Errorf("several records of one kind: %+v", c.Missing)
	}
	if reasons[KindMutex] != "status 404 Not Found" || !strings.Contains(reasons[KindMetrics], "found no page") || c.Goroutines == nil || c.CPU != nil {
		t.Errorf("%q, %+v", reasons, c)
	}
}

// A target that is not a Go service gives a one-line error, and no more
// requests.
func TestNoService(t *testing.T) {
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	for name, test := range map[string]struct {
		page http.HandlerFunc
		want string
	}{
		"404":                 {http.NotFound, "status 404 Not Found"},
		"a web page":          {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html><body>hello")) }, "the response is a web page"},
		"another host":        {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, "refused a redirect to another host"},
		"in a circle":         {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "more than 3 redirects"},
		"to https":            {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "https://"+r.Host, http.StatusFound) }, "refused a redirect from http to https"},
		"nothing":             {func(http.ResponseWriter, *http.Request) {}, "empty response"},
		"noise":               {func(w http.ResponseWriter, _ *http.Request) { w.Write(noise(100)) }, "unknown file type"},
		"a connection closed": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "connection closed without a response"},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.Write(noise(10))
		}, "incomplete response"},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, map[string]http.HandlerFunc{"/debug/pprof/goroutine": test.page})
			_, err := f.at(t).Watch(t.Context(), time.Nanosecond)
			var file *FileError
			if !errors.As(err, &file) || !strings.HasPrefix(err.Error(), f.URL+"/debug/pprof/goroutine: ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want a line with %q", err, test.want)
			}
		})
	}
}

// Responses above the limit are rejected, in any encoding.
func TestTooMuch(t *testing.T) {
	f := serve(t, map[string]http.HandlerFunc{"/big": func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			w.Write(make([]byte, 1<<20))
		}
	}})
	s := f.at(t)
	u, err := s.base.Parse("/big")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.getter.get(t.Context(), u, usualGrace, 2<<20); err == nil || err.Error() != "response larger than 2 MB" {
		t.Errorf("%v", err)
	}
	if data, err := s.getter.get(t.Context(), u, usualGrace, 3<<20); err != nil || len(data) != 3<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestTargets(t *testing.T) {
	for target, want := range map[string]string{
		":6060":                 "http://localhost:6060/debug/pprof",
		"http://h:1/":           "http://h:1/debug/pprof",
		"https://h/debug/pprof": "https://h/debug/pprof",
		"h:1/x/debug/pprof/":    "http://h:1/x/debug/pprof",
		"http://user:secret@h:1/debug/pprof/?a=b": "http://h:1/debug/pprof",
	} {
		s, err := At(target, "")
		if err != nil || s.Target() != want || !strings.HasSuffix(s.base.String(), "/debug/pprof/") {
			t.Errorf("%s: %v, %v", target, s, err)
		}
	}
	if s, err := At("http://user:secret@h:x/", ""); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, %v", s, err)
	}
}

// The use of this machine counts for a service on this machine, if it is known.
func TestMachine(t *testing.T) {
	t.Parallel()
	for host, here := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.1.2.3": true, "[::1]": true, "192.0.2.1": false, "service.example": false} {
		for _, known := range []bool{true, false} {
			s, err := At(host+":6060", "")
			if err != nil {
				t.Fatal(err)
			}
			s.Busy = func() (float64, int, bool) { return 1, 2, known }
			s.watchMachine()()
			if got := s.machine != nil; got != (here && known) {
				t.Errorf("%s, known %v: %+v", host, known, s.machine)
			}
		}
	}
}
