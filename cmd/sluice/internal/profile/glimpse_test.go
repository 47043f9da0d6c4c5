package profile

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// A glimpse gives GOMAXPROCS of a service without metrics. A longer one takes
// the place of a small one.
func TestGlimpse(t *testing.T) {
	small := tracedMoment(t)
	large := append(bytes.Clone(small), make([]byte, smallGlimpse)...) // the decoder ends at the zeros
	for name, c := range map[string]struct {
		trace []byte
		want  []string
	}{
		"small": {small, []string{"/debug/pprof/trace?seconds=0.001", "/debug/pprof/trace?seconds=0.02"}},
		"large": {large, []string{"/debug/pprof/trace?seconds=0.001"}},
	} {
		f := serve(t, map[string]http.HandlerFunc{
			"/debug/metrics":     http.NotFound,
			"/debug/pprof/trace": func(w http.ResponseWriter, _ *http.Request) { w.Write(c.trace) },
		})
		s := f.at(t)
		if before := watch(t, s); before.GOMAXPROCS != 0 || before.Glimpse != nil {
			t.Fatalf("%s: GOMAXPROCS %d without a glimpse", name, before.GOMAXPROCS)
		}
		*f.requested = nil
		after, err := s.Glimpse(t.Context())
		if err != nil || after.GOMAXPROCS != 3 || after.Glimpse == nil || after.Trace != nil {
			t.Errorf("%s: %+v, %v", name, after, err)
		}
		if !slices.Equal(*f.requested, c.want) {
			t.Errorf("%s: requested %q", name, *f.requested)
		}
		dir := filepath.Join(t.TempDir(), "saved")
		if err := s.Save(dir); err != nil {
			t.Fatal(err)
		}
		if c, err := Open(dir); err != nil || c.Trace != nil || c.GOMAXPROCS != after.GOMAXPROCS || !reflect.DeepEqual(c.Glimpse, after.Glimpse) {
			t.Errorf("%s: saved %+v, %v", name, c, err)
		}
		if _, err := os.Stat(filepath.Join(dir, glimpseFile)); err == nil {
			t.Errorf("%s: the whole trace was saved", name)
		}
		// A trace is taken beside it.
		if c, err := s.More(t.Context(), KindTrace, time.Second); err != nil || c.Trace == nil || c.Glimpse == nil {
			t.Errorf("%s: with a trace %+v, %v", name, c, err)
		}
	}
}

// tracedMoment returns a trace of almost nothing, 3 kB, recorded with Go 1.26 at
// GOMAXPROCS=3. A trace of this process may be a hundred times as large: it has a stack of
// each goroutine that another test left behind.
func tracedMoment(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/moment.trace")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestInvalidGlimpse(t *testing.T) {
	for text, want := range map[string]string{
		`{"format":"sluice glimpse 1"}`:                                      "impossible figures",
		`{"format":"sluice glimpse 1","glimpse":{"Window":-1}}`:              "impossible figures",
		`{"format":"sluice glimpse 1","gomaxprocs":-1,"glimpse":{}}`:         "impossible figures",
		`{"format":"sluice glimpse 1","gomaxprocs":1000000,"glimpse":{}}`:    "impossible figures",
		`{"format":"sluice glimpse 1","glimpse":{"Window":"a millisecond"}}`: "invalid figures",
		`{"format":"sluice glimpse 2","glimpse":{}}`:                         "unsupported format",
	} {
		if _, err := Open(folder(t, map[string][]byte{"glimpse.json": []byte(text)})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestNoGlimpse(t *testing.T) {
	f := serve(t, map[string]http.HandlerFunc{"/debug/metrics": http.NotFound, "/debug/pprof/trace": http.NotFound})
	s := f.at(t)
	watch(t, s)
	c, err := s.Glimpse(t.Context())
	if err != nil || c.CPU == nil || c.GOMAXPROCS != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if !slices.ContainsFunc(c.Missing, func(m Missing) bool { return m.Kind == KindGlimpse && strings.Contains(m.Reason, "404") }) {
		t.Errorf("%+v", c.Missing)
	}
}

// Texts and traces may be compressed, as profiles always are.
func TestCompressedFiles(t *testing.T) {
	pack := func(data []byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	moment := tracedMoment(t)
	metrics := []byte(`{"metrics":{"/sched/gomaxprocs:threads":4,"/sync/mutex/wait/total:seconds":3}}`)
	dir := folder(t, map[string][]byte{
		"goroutine.txt.gz": pack([]byte(hotText)), "glimpse.out.gz": pack(moment), "metrics.json.gz": pack(metrics),
		"cpu.pprof": cpuDrawing(spent(time.Second, sendStack...)).bytes(t),
	})
	c, err := Open(dir)
	if err != nil || c.CPU == nil || c.Glimpse == nil || c.Goroutines == nil || !c.Goroutines.StatesKnown || c.GOMAXPROCS != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	cut := pack(moment)
	if _, err := Open(folder(t, map[string][]byte{"trace.out.gz": cut[:len(cut)/2]})); err == nil || !strings.Contains(err.Error(), "trace.out.gz: ") {
		t.Errorf("half a file: %v", err)
	}
}
