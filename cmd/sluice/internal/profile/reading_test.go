package profile

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, text string) *Reading {
	t.Helper()
	r, err := readReading(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A Reading survives a round trip.
func TestReadingRoundTrip(t *testing.T) {
	r := &Reading{
		At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), GoVersion: "go1.26.8", CPUs: 2,
		Values:     map[string]float64{metricMutexWait: 1.5, metricGOMAXPROCS: 4},
		Histograms: map[string]Histogram{metricLatencies: {Counts: []uint64{3, 1}, Bounds: []float64{math.Inf(-1), 0, math.Inf(1)}}},
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, string(text)); !reflect.DeepEqual(got, r) {
		t.Errorf("%+v\nfrom %s\nwant %+v", got, text, r)
	}
}

func TestForms(t *testing.T) {
	for name, text := range map[string]string{
		"names at the top": `{"/sync/mutex/wait/total:seconds": 2, "/sched/gomaxprocs:threads": 3,
			"/sched/latencies:seconds": {"counts": [5, 2], "buckets": ["-Inf", 0.1, "+Inf"]}}`,
		"in an expvar page": `{"cmdline": ["x"], "other": {"a": 1, "/b": "text"}, "runtime": {"/sync/mutex/wait/total:seconds": 2,
			"/sched/gomaxprocs:threads": 3, "/sched/latencies:seconds": {"counts": [7], "buckets": ["-Inf", "+Inf"]}}}`,
		"Prometheus": `# HELP go_info x
go_info{version="go1.26.8"} 1
http_requests_total{path="a b"} 7
go_sync_mutex_wait_total_seconds_total 2
go_sched_gomaxprocs_threads 3
go_sched_latencies_seconds_bucket{le="1e-05"} 5
go_sched_latencies_seconds_bucket{le="+Inf"} 7
go_sched_latencies_seconds_sum NaN
go_sched_latencies_seconds_count 7
go_threads
`,
		"OpenMetrics with times": "go_sync_mutex_wait_total_seconds_total 2.0 1750000000\ngo_sched_gomaxprocs_threads 3 1\ngo_sched_latencies_seconds_bucket{le=\"+Inf\"} 7 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			m := Metrics{After: read(t, text)}
			wait, waitOK := m.MutexWait()
			procs, procsOK := m.GOMAXPROCS()
			wakes, wakesOK := m.Wakeups()
			if wait != 2*time.Second || procs != 3 || wakes != 7*8 || !waitOK || !procsOK || !wakesOK {
				t.Errorf("wait %v %v, procs %v %v, wake-ups %v %v", wait, waitOK, procs, procsOK, wakes, wakesOK)
			}
		})
	}
	if got := read(t, "go_info{version=\"go1.26.8\"} 1\ngo_goroutines 5\n"); got.GoVersion != "go1.26.8" || got.Values[metricGoroutines] != 5 {
		t.Errorf("%+v", got)
	}
	memstats := Metrics{After: read(t, `{"memstats": {"NumGC": 4, "TotalAlloc": 100}}`)}
	if n, ok := memstats.Cycles(); n != 4 || !ok {
		t.Errorf("%v collections, %v", n, ok)
	}
	if n, ok := memstats.AllocatedBytes(); n != 100 || !ok {
		t.Errorf("%v bytes, %v", n, ok)
	}
}

func TestDifferences(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	reading := func(at time.Time, wait float64, wakes uint64) *Reading {
		return &Reading{At: at, Values: map[string]float64{metricMutexWait: wait, metricCycles: wait, metricCgoCalls: wait},
			Histograms: map[string]Histogram{metricLatencies: {Counts: []uint64{wakes, 1}}}}
	}
	m := Metrics{Before: reading(start, 1, 100), After: reading(start.Add(4*time.Second), 3.5, 400)}
	wait, _ := m.MutexWait()
	wakes, _ := m.Wakeups()
	cgo, _ := m.CgoCalls()
	if wait != 2500*time.Millisecond || wakes != 2400 || m.Window() != 4*time.Second || cgo != 2.5 {
		t.Errorf("wait %v, wake-ups %v in %v, %v calls", wait, wakes, m.Window(), cgo)
	}
	m.Before.Values, m.Before.Histograms = nil, nil
	if _, ok := m.MutexWait(); ok {
		t.Error("difference without an earlier value")
	}
	if _, ok := m.Wakeups(); ok {
		t.Error("wake-ups without an earlier histogram")
	}
	m = Metrics{After: &Reading{}}
	if _, ok := m.GOMAXPROCS(); ok || m.Window() != 0 {
		t.Error("GOMAXPROCS of an empty reading")
	}
	if _, ok := m.Goroutines(); ok {
		t.Error("goroutines of an empty reading")
	}
}

// TestAbsurdReadings: impossible values are unknown.
func TestAbsurdReadings(t *testing.T) {
	for _, v := range []float64{-4, 0, 0.5, 1e300} {
		m := Metrics{After: &Reading{Values: map[string]float64{metricGOMAXPROCS: v, metricMutexWait: v}}}
		if n, ok := m.GOMAXPROCS(); ok {
			t.Errorf("GOMAXPROCS %v became %d", v, n)
		}
		if wait, _ := m.MutexWait(); wait < 0 || v > maxSeconds && wait != 0 {
			t.Errorf("a wait of %v s became %v", v, wait)
		}
	}
}

func TestBadReadings(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"cut off":            {`{"metrics": {"/sched/gomaxprocs:threads": 3, "/sched/lat`, errTruncated.Error()},
		"no JSON":            {`{"a" "b"}`, "invalid JSON of metrics"},
		"no metrics":         {`{"a": 1}`, errNoMetrics.Error()},
		"a page":             {"<html>", errNoMetrics.Error()},
		"bounds missing":     {`{"/x": {"counts": [1, 2], "buckets": [1, 2]}}`, "one bound more"},
		"shrinking buckets":  {"go_sched_latencies_seconds_bucket{le=\"1\"} 5\ngo_sched_latencies_seconds_bucket{le=\"2\"} 4\n", "histogram decrease"},
		"no number":          {"go_goroutines many\n", "not in the text format of Prometheus"},
		"impossible bounds":  {`{"/x": {"counts": [1], "buckets": ["a", "b"]}}`, errNoMetrics.Error()},
		"too large":          {"{" + strings.Repeat(" ", maxMetrics), "larger than 16 MB"},
		"a line without end": {"go_" + strings.Repeat("x", 2*maxLine), "token too long"},
	} {
		if _, err := readReading(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := readReading(strings.NewReader("")); !errors.Is(err, errNoMetrics) {
		t.Errorf("nothing: %v", err)
	}
}

// Programs publish GOMAXPROCS as they like.
func TestPublishedGOMAXPROCS(t *testing.T) {
	for page, want := range map[string]int{
		`{"GOMAXPROCS": 4, "cmdline": ["a"]}`:                                   4,
		`{"runtime.gomaxprocs": 6}`:                                             6,
		`{"gomaxprocs": 6, "runtime": {"/sched/gomaxprocs:threads": 8}}`:        8,
		`{"gomaxprocs": "many", "memstats": {"NumGC": 4}}`:                      0,
		`{"gomaxprocs": 0, "memstats": {"NumGC": 4}}`:                           0,
		`{"gomaxprocs": 1e9, "memstats": {"NumGC": 4}}`:                         0,
		`{"max_gomaxprocs_seen": 3, "memstats": {"NumGC": 4, "TotalAlloc": 1}}`: 0,
	} {
		m := Metrics{After: read(t, page)}
		if got, ok := m.GOMAXPROCS(); got != want || ok != (want > 0) {
			t.Errorf("%s: %d, %v, want %d", page, got, ok, want)
		}
	}
}
