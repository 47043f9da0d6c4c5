package livepage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// A fakeTape is a flight recorder without a trace.
type fakeTape struct {
	takes   time.Duration // to write a file
	broken  error         // of WriteTo
	started int
	stopped int
	writing bool
	writes  atomic.Int64
	overlap bool
}

func (f *fakeTape) Start() error { f.started++; return nil }
func (f *fakeTape) Stop()        { f.stopped++ }
func (f *fakeTape) WriteTo(w io.Writer) (int64, error) {
	f.overlap = f.overlap || f.writing
	f.writing = true
	time.Sleep(f.takes)
	f.writing = false
	n, err := fmt.Fprintf(w, "trace %d", f.writes.Add(1))
	return int64(n), errors.Join(err, f.broken)
}

// A log has what the callbacks were given.
type log struct {
	mu sync.Mutex
	seen
}

type seen struct {
	paths, whys []string
	errs        []error
}

func (l *log) see() seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

func (l *log) options(o FlightOptions) FlightOptions {
	o.OnWrite = func(path, why string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.paths, l.whys = append(l.paths, path), append(l.whys, why)
	}
	o.OnError = func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.errs = append(l.errs, err)
	}
	return o
}

func record(t *testing.T, dir string, o FlightOptions, f tape) *FlightRecorder {
	t.Helper()
	r, err := newFlightRecorder(dir, o, f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// elapse lets time pass in a bubble, and what has happened be seen.
func elapse(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestFlightOfOldValue: a value that waits too long in one of the named channels.
func TestFlightOfOldValue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	synctest.Test(t, func(t *testing.T) {
		var got log
		var f fakeTape
		r := record(t, dir, got.options(FlightOptions{OldestValue: map[string]time.Duration{nameOf(t): 400 * time.Millisecond, "another": time.Second}, Every: 10 * time.Second}), &f)
		defer r.Close()
		quiet := sluice.NewBounded[int](2, &sluice.BoundedOptions[int]{Name: nameOf(t)})
		slow := sluice.NewBounded[int](2, &sluice.BoundedOptions[int]{Name: nameOf(t)})
		unlimited := sluice.NewBounded[int](2, &sluice.BoundedOptions[int]{Name: "unlimited"})
		unlimited.TrySend(1)
		for range 20 {
			elapse(100 * time.Millisecond)
			quiet.TrySend(1)
			quiet.TryRecv()
		}
		if f.writes.Load() != 0 {
			t.Errorf("%q", got.see().whys)
		}
		began := time.Now()
		slow.TrySend(1)
		elapse(5 * time.Second)
		if len(got.see().paths) != 1 || !strings.HasPrefix(got.see().whys[0], fmt.Sprintf("the oldest value of channel %q is ", nameOf(t))) || !strings.HasSuffix(got.see().whys[0], " old, above the limit of 400ms") {
			t.Fatalf("%q", got.see())
		}
		when, err := time.Parse(flightPrefix+flightTime+flightSuffix, filepath.Base(got.see().paths[0]))
		if err != nil {
			t.Fatal(err)
		}
		if age := when.Sub(began); age < 400*time.Millisecond || age > 600*time.Millisecond {
			t.Errorf("written when the value was %v old", age)
		}
		if text, err := os.ReadFile(got.see().paths[0]); string(text) != "trace 1" {
			t.Errorf("%q, %v", text, err)
		}
		elapse(10 * time.Second)
		if len(got.see().paths) != 2 || len(got.see().errs) != 0 || len(filesIn(t, dir)) != 2 {
			t.Errorf("%q", got.see())
		}
		runtime.KeepAlive([]any{quiet, slow, unlimited})
	})
}

// TestFlightOfLatency: Observe never blocks, files have a minimum interval and a maximum
// number, and no two are written at once.
func TestFlightOfLatency(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"notes.txt", "flight-plan.txt", flightPrefix + "1999" + flightSuffix, flightPart} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var got log
		f := fakeTape{takes: 3 * time.Second}
		r := record(t, dir, got.options(FlightOptions{Latency: 20 * time.Millisecond, Files: 3, Every: 5 * time.Second}), &f)
		observe := func(d time.Duration, times int) {
			began := time.Now()
			for range times {
				r.Observe(d)
			}
			if time.Since(began) != 0 {
				t.Error("Observe has blocked")
			}
		}
		observe(20*time.Millisecond, 10)
		elapse(time.Minute)
		if f.writes.Load() != 0 {
			t.Errorf("%q", got.see().whys)
		}
		for range 60 {
			observe(21*time.Millisecond, 10)
			elapse(time.Second)
		}
		synctest.Wait()
		if f.writes.Load() != 60/8+1 || f.overlap || len(got.see().errs) != 0 || got.see().whys[0] != "a latency of 21ms is above the limit of 20ms" {
			t.Errorf("%d writes, %q", f.writes.Load(), got.see())
		}
		want := []string{"flight-plan.txt"}
		for _, path := range got.see().paths[len(got.see().paths)-3:] {
			want = append(want, filepath.Base(path))
		}
		if all := filesIn(t, dir); fmt.Sprint(all) != fmt.Sprint(append(want[1:], want[0], "notes.txt")) && fmt.Sprint(all) != fmt.Sprint(append(want, "notes.txt")) {
			t.Errorf("%q, want %q", all, want)
		}
		r.Close()
		observe(time.Second, 10)
		elapse(time.Minute)
		if int(f.writes.Load()) != len(got.see().paths) {
			t.Error("a file after Close")
		}
	})
}

// TestFlightClose: Close waits for the file, from any number of goroutines.
func TestFlightClose(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var got log
		f := fakeTape{takes: 3 * time.Second}
		r := record(t, dir, got.options(FlightOptions{Latency: 1, OldestValue: map[string]time.Duration{"x": 1}}), &f)
		r.Observe(2)
		elapse(time.Second)
		began := time.Now()
		var closes sync.WaitGroup
		for range 3 {
			closes.Go(r.Close)
		}
		closes.Wait()
		if time.Since(began) != 2*time.Second || f.stopped != 1 || len(got.see().paths) != 1 || len(filesIn(t, dir)) != 1 {
			t.Errorf("after %v, %d, %q", time.Since(began), f.stopped, got.see())
		}
	})
}

// TestFlightErrors: a failure is reported, leaves no file, and is not repeated before the
// next interval.
func TestFlightErrors(t *testing.T) {
	dir := t.TempDir()
	full := errors.New("disk full")
	synctest.Test(t, func(t *testing.T) {
		var got log
		f := fakeTape{broken: full}
		r := record(t, dir, got.options(FlightOptions{Latency: 1, Every: time.Minute}), &f)
		defer r.Close()
		for range 90 {
			r.Observe(2)
			elapse(time.Second)
		}
		if len(got.see().errs) != 2 || !errors.Is(got.see().errs[0], full) || len(got.see().paths) != 0 || len(filesIn(t, dir)) != 0 {
			t.Errorf("%q, %q", got.see(), filesIn(t, dir))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		elapse(time.Minute)
		r.Observe(2)
		synctest.Wait()
		if len(got.see().errs) != 3 || !errors.Is(got.see().errs[2], os.ErrNotExist) {
			t.Errorf("%q", got.see().errs)
		}
	})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var f fakeTape
	if _, err := newFlightRecorder(file, FlightOptions{Latency: 1}, &f); err == nil || f.started != 0 {
		t.Errorf("%v, started %d times", err, f.started)
	}
}

// A mute channel blocks in Stats until it is freed. Later tests may still read it, from outside
// of its bubble.
type mute struct {
	free  chan struct{}
	freed atomic.Bool
}

func (s *mute) Stats() sluice.Stats {
	if !s.freed.Load() {
		<-s.free
	}
	return sluice.Stats{}
}

// TestFlightOfStuckChannel: a channel that does not answer holds up neither the others nor
// Close.
func TestFlightOfStuckChannel(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &mute{free: make(chan struct{})}
		inspect.Register(nameOf(t), "Stuck", s)
		old := sluice.NewBounded[int](2, &sluice.BoundedOptions[int]{Name: nameOf(t)})
		old.TrySend(1)
		var got log
		var f fakeTape
		r := record(t, dir, got.options(FlightOptions{OldestValue: map[string]time.Duration{nameOf(t): time.Second}}), &f)
		elapse(3 * time.Second)
		r.Close()
		if len(got.see().paths) != 1 {
			t.Errorf("%q", got.see())
		}
		s.freed.Store(true)
		close(s.free)
		synctest.Wait()
		runtime.KeepAlive(old)
	})
}

func TestFlightOptions(t *testing.T) {
	for want, o := range map[string]*FlightOptions{
		"no limit (want OldestValue or Latency)": nil,
		"no limit":                               {OldestValue: map[string]time.Duration{}},
		`limit 0s of channel "x"`:                {OldestValue: map[string]time.Duration{"x": 0}},
		"negative option":                        {Latency: time.Second, Files: -1},
		"negative":                               {Latency: -1},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "livepage.NewFlightRecorder: "+want) {
					t.Errorf("%s: %s", want, got)
				}
			}()
			NewFlightRecorder(t.TempDir(), o)
		}()
	}
}

// TestRealFlight: the runtime's recorder writes a trace, and is the only one.
func TestRealFlight(t *testing.T) {
	dir := t.TempDir()
	wrote := make(chan string, 1)
	o := &FlightOptions{Latency: 1, OnWrite: func(path, _ string) { wrote <- path }, OnError: func(err error) { t.Error(err) }}
	r, err := NewFlightRecorder(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewFlightRecorder(dir, o); err == nil || !strings.HasPrefix(err.Error(), "livepage: a program can have one flight recorder at a time: ") {
		t.Errorf("%v", err)
	}
	r.Observe(time.Second)
	text, err := os.ReadFile(<-wrote)
	if err != nil || !bytes.HasPrefix(text, []byte("go 1.")) {
		t.Errorf("%.16q, %v", text, err)
	}
	r.Close()
	if r, err = NewFlightRecorder(dir, o); err != nil {
		t.Fatal(err)
	}
	r.Close()
}
