package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// A fake is a service in memory, for tests in a bubble of package synctest.
type fake struct {
	goroutines int
	text       int     // bytes of a dump
	flow       int     // bytes of the map; 0 without one
	fixed      int     // bytes of each trace, and each second again
	rate       float64 // bytes of a trace per second
	speed      float64 // bytes per second of its connection; 0 if it is fast
	pages      map[string]http.HandlerFunc

	mu        sync.Mutex
	requested []string
	traces    []time.Duration
}

// profileOf returns a profile of n events of some types at a function.
func profileOf(n int, function string, types ...string) []byte {
	p := &profile.Profile{Period: 1, PeriodType: &profile.ValueType{Type: types[0], Unit: "count"}, TimeNanos: time.Now().UnixNano()}
	f := &profile.Function{ID: 1, Name: function, Filename: "main.go"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 10}}}
	sample := &profile.Sample{Location: []*profile.Location{l}}
	for _, t := range types {
		name, unit, _ := strings.Cut(t, "/")
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: unit})
		sample.Value = append(sample.Value, int64(n))
	}
	p.Function, p.Location, p.Sample = []*profile.Function{f}, []*profile.Location{l}, []*profile.Sample{sample}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func goroutines(n int) []byte { return profileOf(n, "main.work", "goroutine/count") }

// textOf returns a dump of at least size bytes.
func textOf(size int) []byte {
	var b bytes.Buffer
	for id := 1; b.Len() < size; id++ {
		fmt.Fprintf(&b, "goroutine %d [chan receive]:\nmain.work(0x1)\n\t/src/main.go:10 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:5 +0x2d\n\n", id)
	}
	return b.Bytes()[:b.Len()-1]
}

// traceHead begins each trace.
const traceHead = "go 1.26 trace\x00\x00\x00"

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/debug/pprof/")
	seconds, _ := strconv.ParseFloat(r.FormValue("seconds"), 64)
	d := time.Duration(seconds * float64(time.Second))
	f.mu.Lock()
	f.requested = append(f.requested, strings.TrimPrefix(r.URL.RequestURI(), "/debug/"))
	if name == "trace" {
		f.traces = append(f.traces, d)
	}
	f.mu.Unlock()
	if page := f.pages[name]; page != nil {
		page(w, r)
		return
	}
	if d > 0 {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return
		}
	}
	var data []byte
	switch name {
	case "goroutine":
		if data = goroutines(f.goroutines); r.FormValue("debug") == "2" {
			data = textOf(f.text)
		}
	case "trace":
		data = append([]byte(traceHead), make([]byte, f.traceSize(d))...)
	case "profile":
		data = profileOf(1, "main.work", "samples/count", "cpu/nanoseconds")
	case "mutex":
		data = profileOf(1, "sync.(*Mutex).Unlock", "contentions/count", "delay/nanoseconds")
	case "block":
		data = profileOf(1, "runtime.chanrecv1", "contentions/count", "delay/nanoseconds")
	case "/debug/sluice":
		if f.flow > 0 {
			data = []byte(`{"time":"2026-01-02T15:04:05Z","stages":[],"channels":[],"edges":[]` + strings.Repeat(" ", f.flow) + "}")
		}
	}
	if data == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if f.speed > 0 {
		time.Sleep(time.Duration(float64(len(data)) / f.speed * float64(time.Second)))
	}
	w.Write(data)
}

// traceSize returns the bytes of a trace after its head.
func (f *fake) traceSize(d time.Duration) int {
	return f.fixed*(1+int(d.Seconds())) + int(f.rate*d.Seconds())
}

// A pipes is a listener whose connections are in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// serve starts a fake, and returns it as a Service. stop ends all that it started.
func (f *fake) serve(t *testing.T, o Options) (s *Service, stop func()) {
	t.Helper()
	p := &pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: f}
	go server.Serve(p)
	s, err := At("localhost:1", o)
	if err != nil {
		t.Fatal(err)
	}
	s.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		select {
		case p.conns <- there:
			return here, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s, func() {
		close(p.closed)
		server.Close()
		time.Sleep(time.Minute) // until handlers have seen it
	}
}

func (s *Service) file(name string) []byte {
	return s.files[name]
}

func reasons(missing []capture.Missing) map[string]string {
	all := map[string]string{}
	for _, m := range missing {
		all[m.What] = m.Reason
	}
	return all
}

// TestOrder: what is requested in which order, and that it is kept.
func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{goroutines: 20, text: 5000, flow: 100, fixed: 4000, rate: 10_000}
		s, stop := f.serve(t, Options{Trace: true, Leaks: true})
		defer stop()
		began := time.Now()
		c, err := s.Watch(t.Context(), 5900*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
		want := []string{"pprof/goroutine", "pprof/goroutine?debug=2", "sluice?format=flow",
			"pprof/profile?seconds=5", "pprof/trace?seconds=0.001", "pprof/trace?seconds=0.02", "pprof/trace?seconds=0.12", "pprof/trace?seconds=2",
			"pprof/goroutine", "pprof/goroutine?debug=2", "sluice?format=flow", "pprof/goroutineleak"}
		if !slices.Equal(f.requested, want) {
			t.Errorf("%q\nwant %q", f.requested, want)
		}
		var names []string
		for _, file := range s.all() {
			names = append(names, file.Name)
		}
		if want := []string{"cpu.pprof", "flow.json", "goroutine-before.pprof", "goroutine-before.txt", "goroutine.pprof", "goroutine.txt", "trace.out"}; !slices.Equal(names, want) {
			t.Errorf("%q", names)
		}
		if got := reasons(s.header.Missing); len(got) != 1 || !strings.Contains(got["leaks"], "Go 1.27") {
			t.Errorf("%q", got)
		}
		if len(s.file(traceFile)) != len(traceHead)+4000*3+20_000 {
			t.Errorf("a trace of %d bytes", len(s.file(traceFile)))
		}
		if !c.Live || c.Target != "http://localhost:1/debug/pprof" || c.Flow == nil || c.Trace == nil || len(c.Dumps) != 4 || c.CPU == nil || len(c.Missing) != 1 {
			t.Errorf("%q", c.Missing)
		}
	})
}

// TestContention: without a trace, the contention profiles cover the window of the CPU
// profile.
func TestContention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{goroutines: 20, text: 5000}
		s, stop := f.serve(t, Options{})
		defer stop()
		began := time.Now()
		c, err := s.Watch(t.Context(), 5*time.Second)
		if err != nil || c.CPU == nil || c.Mutex == nil || c.Block == nil || c.Trace != nil || len(c.Missing) > 0 || time.Since(began) != 5*time.Second {
			t.Fatalf("%+v, %v after %v", c, err, time.Since(began))
		}
		for _, name := range []string{"profile", "mutex", "block"} {
			if !slices.Contains(f.requested, "pprof/"+during(name, 5*time.Second)) {
				t.Errorf("%s: %q", name, f.requested)
			}
		}
	})
}

// TestLimits: however large, fast and slow a service is, an observation takes at most 4 MB
// and 10 s, and has a whole trace if a short one can fit.
func TestLimits(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			w.Write(make([]byte, 1<<16))
		}
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			time.Sleep(time.Millisecond)
			w.Write([]byte("x"))
			http.NewResponseController(w).Flush()
		}
	}
	labels := profileOf(1, "main.work", "goroutine/count")
	if p, err := profile.ParseData(labels); err == nil {
		for i := range 30_000 {
			s := *p.Sample[0]
			s.Label = map[string][]string{"request": {strconv.FormatUint(uint64(i)*0x9e3779b97f4a7c15, 36)}}
			p.Sample = append(p.Sample, &s)
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		if labels = b.Bytes(); len(labels) <= maxProfile {
			t.Fatalf("%d bytes", len(labels))
		}
	}
	labeled := func(w http.ResponseWriter, _ *http.Request) { w.Write(labels) }
	all := func(page http.HandlerFunc, names ...string) map[string]http.HandlerFunc {
		pages := map[string]http.HandlerFunc{}
		for _, name := range names {
			pages[name] = page
		}
		return pages
	}
	everything := []string{"goroutine", "profile", "trace", "/debug/sluice"}
	for name, test := range map[string]struct {
		f            *fake
		least, most  time.Duration // of the trace; 0 without one
		missing      string        // names of parts
		cut, counted bool          // the dumps
		without      bool          // dumps
		failed       bool
	}{
		"idle":             {f: &fake{goroutines: 5, text: 3000, fixed: 4000, rate: 100}, least: maxTrace, most: maxTrace},
		"busy":             {f: &fake{goroutines: 50, text: 30_000, flow: 10_000, fixed: 8000, rate: 1e6}, least: time.Second, most: maxTrace},
		"a hot chain":      {f: &fake{goroutines: 12, text: 6000, fixed: 40_000, rate: 30e6}, least: minTrace, most: 100 * time.Millisecond},
		"hotter":           {f: &fake{goroutines: 12, text: 6000, fixed: 40_000, rate: 70e6}, least: longGlimpse, most: minTrace},
		"hottest":          {f: &fake{goroutines: 12, text: 6000, fixed: 40_000, rate: 300e6}, least: longGlimpse / 4, most: longGlimpse / 4},
		"many goroutines":  {f: &fake{goroutines: 9000, text: 6 << 20, flow: 200_000, fixed: 150_000, rate: 200_000}, least: time.Second, most: maxTrace, missing: "states of goroutines", cut: true},
		"many and hot":     {f: &fake{goroutines: 9000, text: 6 << 20, flow: 200_000, fixed: 150_000, rate: 30e6}, least: minTrace, most: 50 * time.Millisecond, missing: "states of goroutines", cut: true},
		"50,000":           {f: &fake{goroutines: 50_000, fixed: 900_000, rate: 200_000}, least: minTrace, most: time.Second, missing: "states of goroutines", counted: true},
		"a slow link":      {f: &fake{goroutines: 50, text: 30_000, fixed: 8000, rate: 1e6, speed: 200_000}, least: longGlimpse, most: time.Second},
		"a slower link":    {f: &fake{goroutines: 50, text: 200_000, fixed: 8000, rate: 1e6, speed: 20_000}, most: maxTrace, missing: "map,states of goroutines", counted: true},
		"a large map":      {f: &fake{goroutines: 5, text: 3000, flow: 1 << 20, fixed: 4000}, least: maxTrace, most: maxTrace, missing: "map"},
		"labels":           {f: &fake{goroutines: 30_000, fixed: 4000, pages: all(labeled, "goroutine")}, least: maxTrace, most: maxTrace, missing: "states of goroutines", counted: true},
		"endless dumps":    {f: &fake{fixed: 4000, pages: all(endless, "goroutine")}, least: maxTrace, most: maxTrace, missing: "goroutines", without: true},
		"an endless trace": {f: &fake{goroutines: 5, text: 3000, pages: all(endless, "trace")}, missing: "trace"},
		"a slow trace":     {f: &fake{goroutines: 5, text: 3000, pages: all(drip, "trace")}, missing: "trace"},
		"all hang":         {f: &fake{pages: all(hang, everything...)}, failed: true},
		"all drip":         {f: &fake{pages: all(drip, everything...)}, failed: true},
		"late goroutines":  {f: &fake{fixed: 4000, pages: all(hang, "goroutine")}, least: maxTrace, most: maxTrace, missing: "goroutines,map", without: true},
		"all but one hang": {f: &fake{goroutines: 5, text: 3000, pages: all(hang, everything[1:]...)}, missing: "cpu,map,trace"},
		"all endless":      {f: &fake{pages: all(endless, everything...)}, failed: true},
		"profiles endless": {f: &fake{goroutines: 5, text: 3000, flow: 100, fixed: 4000, pages: all(endless, "profile")}, least: maxTrace, most: maxTrace, missing: "cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := test.f
				s, stop := f.serve(t, Options{Trace: true})
				defer stop()
				began := time.Now()
				c, err := s.Watch(t.Context(), 5*time.Second)
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("took %v", took)
				}
				if left := s.left.Load(); left < -32<<10 {
					t.Errorf("read %d bytes", maxBytes-left)
				}
				if (err != nil) != test.failed {
					t.Fatal(err)
				}
				if err != nil {
					return
				}
				missing := strings.Join(slices.Sorted(maps.Keys(reasons(s.header.Missing))), ",")
				if missing != test.missing {
					t.Errorf("missing %q", s.header.Missing)
				}
				kept := time.Duration(0)
				for _, d := range f.traces {
					if len(s.file(traceFile)) == len(traceHead)+f.traceSize(d) {
						kept = d
					}
				}
				if kept < test.least || kept > test.most {
					t.Errorf("kept %v of %v, want from %v to %v", kept, f.traces, test.least, test.most)
				}
				texts, cut := 0, 0
				for _, d := range c.Dumps {
					if d.States {
						texts++
					}
					if d.Truncated {
						cut++
					}
				}
				if test.without {
					if len(c.Dumps) > 0 {
						t.Errorf("%d dumps", len(c.Dumps))
					}
					return
				}
				if len(c.Dumps)-texts != 2 || cut > 0 != test.cut || (texts == 0) != test.counted {
					t.Errorf("%d dumps, %d with states, %d cut", len(c.Dumps), texts, cut)
				}
			})
		})
	}
}

// TestMissing: each part may be refused.
func TestMissing(t *testing.T) {
	t.Parallel()
	refuse := func(code int, why string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, why, code) }
	}
	for name, test := range map[string]struct {
		pages map[string]http.HandlerFunc
		want  map[string]string // beginnings
	}{
		"a CPU profile runs": {map[string]http.HandlerFunc{"profile": refuse(500, "Could not enable CPU profiling\x1b[2J\u202e")},
			map[string]string{"cpu": `status 500 Internal Server Error: Could not enable CPU profiling\x1b[2J\u202e`}},
		"one handler": {map[string]http.HandlerFunc{"goroutine": http.NotFound, "trace": http.NotFound},
			map[string]string{"goroutines": "status 404", "trace": "status 404"}},
		"another host": {map[string]http.HandlerFunc{"/debug/sluice": refuse(403, `sluice: host "x" is refused`)},
			map[string]string{"map": `host "x" is refused`}},
		"no map":                  {map[string]http.HandlerFunc{"/debug/sluice": refuse(403, "no")}, nil},
		"a page instead of a map": {map[string]http.HandlerFunc{"/debug/sluice": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }}, nil},
		"no profile": {map[string]http.HandlerFunc{"goroutine": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }},
			map[string]string{"states of goroutines": "left out: their number is not known"}},
		"leaks": {map[string]http.HandlerFunc{"goroutineleak": refuse(401, "")}, map[string]string{"leaks": "status 401 Unauthorized: pass user"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if test.pages["goroutineleak"] == nil {
					test.pages["goroutineleak"] = func(w http.ResponseWriter, _ *http.Request) { w.Write(goroutines(1)) }
				}
				f := &fake{goroutines: 5, text: 3000, fixed: 4000, pages: test.pages}
				s, stop := f.serve(t, Options{Trace: true, Leaks: true})
				defer stop()
				began := time.Now()
				if _, err := s.Watch(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < time.Second {
					t.Errorf("dumps are %v apart", took)
				}
				if len(f.traces) > 0 && slices.Max(f.traces) > time.Second {
					t.Errorf("traces of %v in a second", f.traces)
				}
				got := reasons(s.header.Missing)
				for what, reason := range got {
					if want, ok := test.want[what]; !ok || !strings.HasPrefix(reason, want) {
						t.Errorf("%s: %q, want %q", what, reason, want)
					}
				}
				if len(got) != len(test.want) {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// TestUnreachable: nothing can be read.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, stop := new(fake).serve(t, Options{})
		defer stop()
		s.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		_, err := s.Watch(t.Context(), time.Second)
		var file *capture.FileError
		if !errors.As(err, &file) || file.Name != s.Target() || !strings.Contains(err.Error(), "no whole response within 2s: is the host right") {
			t.Errorf("%v", err)
		}
	})
	for _, refuse := range []http.HandlerFunc{http.NotFound, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }} {
		synctest.Test(t, func(t *testing.T) {
			pages := map[string]http.HandlerFunc{}
			for _, name := range []string{"goroutine", "profile", "trace"} {
				pages[name] = refuse
			}
			s, stop := (&fake{pages: pages}).serve(t, Options{Trace: true})
			defer stop()
			began := time.Now()
			if _, err := s.Watch(t.Context(), 5*time.Second); err == nil || !strings.Contains(err.Error(), ": status 40") || time.Since(began) > 0 {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	}
	s, err := At("127.0.0.1:1", Options{}) // another process may get the port of a listener that was closed
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Watch(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "connection refused: nothing listens on") {
		t.Errorf("%v", err)
	}
}

// TestCanceled: the end of ctx ends each phase at once.
func TestCanceled(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second, 4 * time.Second, 5500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
			f := &fake{goroutines: 5, text: 3000, fixed: 4000}
			if after != 2*time.Second {
				f.pages = map[string]http.HandlerFunc{"/debug/sluice": slow, "goroutineleak": slow}
			}
			s, stop := f.serve(t, Options{Trace: true, Leaks: true})
			defer stop()
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			began := time.Now()
			if _, err := s.Watch(ctx, 5*time.Second); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != after {
				t.Errorf("%v: %v after %v", after, err, time.Since(began))
			}
		})
	}
}

// TestMachine: other processes are counted only if the service is on this machine.
func TestMachine(t *testing.T) {
	t.Parallel()
	for target, local := range map[string]bool{"localhost:1": true, "127.0.0.1:1": true, "unix:/x": true, "h:1": false, "10.0.0.1:1": false} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s, err := At(target, Options{Others: func() (*float64, int) { seconds := 100 + 1.5*time.Since(began).Seconds(); return &seconds, 4 }})
			if err != nil {
				t.Fatal(err)
			}
			end := s.watchMachine()
			time.Sleep(2 * time.Second)
			end()
			if m := s.header.Machine; (m != nil) != local || local && *m != (capture.Machine{CPUs: 4, Busy: 1.5}) {
				t.Errorf("%s: %+v", target, m)
			}
		})
	}
}

// TestCutText: a dump that is cut off is known to be, wherever it was.
func TestCutText(t *testing.T) {
	t.Parallel()
	whole := textOf(maxDump + 1000)
	for at := range bytes.Index(whole, []byte("\n\n")) + 2 { // one goroutine
		if whole[at+maxDump-1] != '\n' && whole[at+maxDump] != '\n' { // a cut inside a line
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			cut := whole[at:]
			f := &fake{goroutines: 1000, pages: map[string]http.HandlerFunc{"goroutine": func(w http.ResponseWriter, r *http.Request) {
				if r.FormValue("debug") == "2" {
					w.Write(cut)
				} else {
					w.Write(goroutines(1000))
				}
			}}}
			s, stop := f.serve(t, Options{})
			defer stop()
			s.left.Store(maxBytes)
			s.files = map[string][]byte{}
			if err := s.readGoroutines(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			c, err := capture.Read(nil, s.all())
			if err != nil || len(c.Dumps) != 2 || c.Dumps[0].Truncated || !c.Dumps[1].Truncated {
				t.Errorf("%d: %v", at, err)
			}
		})
	}
}
