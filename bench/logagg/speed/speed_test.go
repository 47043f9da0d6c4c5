package speed

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/traffic"
	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/results"
)

// small returns the settings of a short measurement in one process.
func small(lines int) Settings {
	s := Settings{Lines: lines, Connections: 8, Capacity: 128, Batch: 16, Rounds: 2, Procs: []int{1, 2}}
	s.Prepare = func(ctx context.Context, address string) (func() error, error) {
		prepared := traffic.Load{Seed: 1, Lines: s.Lines, Connections: s.Connections}.Prepare()
		return func() error { _, err := prepared.Send(ctx, address, 1); return err }, nil
	}
	return s
}

func TestMeasure(t *testing.T) {
	before, used := runtime.GOMAXPROCS(0), paced.CPU()
	s, reports := small(2000), 0
	figures, err := s.Measure(t.Context(), func(done, all int) {
		if reports++; done != reports || all != 4 {
			t.Errorf("reported %d of %d", done, all)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(figures) != 2*len(s.Variants()) || reports != 4 || runtime.GOMAXPROCS(0) != before {
		t.Errorf("%d figures, %d reports, GOMAXPROCS is %d", len(figures), reports, runtime.GOMAXPROCS(0))
	}
	used = paced.CPU() - used // by all runs and the code between them
	for _, f := range figures {
		if len(f.Runs) != s.Rounds {
			t.Errorf("%v: %d rounds", f.Variant, len(f.Runs))
		}
		for _, run := range f.Runs {
			if run.PerSecond <= 0 || run.Delay <= 0 || paced.CPU() > 0 && run.CPU <= 0 {
				t.Errorf("%v: %+v", f.Variant, run)
			}
			used -= run.CPU * time.Duration(s.Lines)
		}
	}
	if used < 0 {
		t.Errorf("all runs together have used %v more CPU time than the process", -used)
	}
	text := s.Markdown(figures)
	for _, f := range figures {
		if !strings.Contains(text, "| "+f.String()+" | ") {
			t.Errorf("no row for %v", f.Variant)
		}
	}
}

// TestOutside: the kinds that keep events outside have rows of their own,
// beside the built-in channel.
func TestOutside(t *testing.T) {
	s := small(500)
	s.Outside, s.Procs = true, []int{2}
	figures, err := s.Measure(t.Context(), func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	text := s.Markdown(figures)
	for _, kind := range []string{"native", "spill", "durable", "jetstream"} {
		if strings.Count(text, "| "+kind+", batches | ") != 1 {
			t.Errorf("%s has no row in %s", kind, text)
		}
	}
	if len(figures) != 4 {
		t.Errorf("%d figures", len(figures))
	}
}

// TestFails: failures are reported, and a measurement without a sender ends.
func TestFails(t *testing.T) {
	s := small(100)
	broken := errors.New("broken")
	s.Prepare = func(context.Context, string) (func() error, error) { return nil, broken }
	if _, err := s.Measure(t.Context(), nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	s.Prepare = func(context.Context, string) (func() error, error) { return func() error { return nil }, nil }
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Measure(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestMarkdown: the table for given figures.
func TestMarkdown(t *testing.T) {
	figure := func(kind string, batch int, perSecond ...float64) Figure {
		f := Figure{Variant: Variant{kind, batch}, Procs: 2}
		for i, n := range perSecond {
			f.Runs = append(f.Runs, Run{n, time.Duration(100 + i), time.Duration(i+1) * time.Millisecond})
		}
		return f
	}
	s := Settings{Host: results.Host{CPU: "M1", Commit: "c0ffee"}, Lines: 5, Connections: 2, Capacity: 8, Batch: 4, Rounds: 2, Procs: []int{2}}
	text := s.Markdown([]Figure{
		figure("native", 1, 100e3, 200e3), figure("bounded", 1, 120e3, 220e3), figure("native", 4, 200e3, 400e3), figure("bounded", 4, 190e3, 410e3),
	})
	for _, want := range []string{
		"- machine: M1", "- commit: c0ffee", "medians of 2 rounds of 5 lines over 2 connections; a channel of 8 events; batches of 4",
		"up to 4%\nfrom the median", "| native | 1.00 | 150 | 100 | 1.5 |",
		"| bounded | 1.15 | 170 |",
		"| bounded, batches | 0.99 | 300 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not contain %q:\n%s", want, text)
		}
	}
}

func TestParts(t *testing.T) {
	for _, test := range []struct{ stack, want string }{
		{"runtime.lock2 runtime.chansend runtime.chansend1 " + module + "bench/logagg/queue.nativeSender.Send", "channel"},
		{"runtime.futex runtime.mcall", "scheduler"},
		{module + "internal/segqueue.(*Chain[...]).Send " + module + "bench/logagg/input.(*stream).read", "channel"},
		{"syscall.Syscall internal/poll.(*FD).Read net.(*conn).Read", "reading"},
		{"indexbytebody bytes.IndexByte " + module + "bench/logagg/parse.passQuoted", "parsing"},
		{"indexbytebody " + module + "bench/logagg/frame.(*Reader).Next " + module + "bench/logagg/input.(*stream).read", "framing"},
		{"runtime.mapaccess2 " + module + "bench/logagg/count.(*Table).add", "counting"},
		{"runtime.scanobject runtime.gcBgMarkWorker", "collector"},
		{"time.now", other},
	} {
		if got := partOf(strings.Fields(test.stack)); got != test.want {
			t.Errorf("%s belongs to %s, want %s", test.stack, got, test.want)
		}
	}
}

// TestProfile: the parts add up to the total, and the table contains them.
func TestProfile(t *testing.T) {
	s := small(2000)
	variants := s.Variants()[:2]
	all, err := s.Profile(t.Context(), variants, func(int, int) {})
	if err != nil || len(all) != len(variants) {
		t.Fatalf("%v, %d profiles", err, len(all))
	}
	for i, shares := range all {
		var sum time.Duration
		for _, spent := range shares.CPU {
			sum += spent
		}
		if sum != shares.All || shares.Variant != variants[i] {
			t.Errorf("%+v", shares)
		}
	}
	all[0].All, all[0].CPU = 4*time.Millisecond, map[string]time.Duration{"channel": time.Millisecond, other: 3 * time.Millisecond}
	s.Host.Commit = "c0ffee"
	text := s.MarkdownShares(all)
	for _, want := range []string{"- commit: c0ffee", "| native | 1 | 1000 | 1.33 | 250 (25%) | 0 (0%) |", " 750 (75%) |\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not contain %q:\n%s", want, text)
		}
	}
	if _, err := read(bytes.NewBufferString("no profile")); err == nil {
		t.Error("an invalid profile was accepted")
	}
	if err := pprof.StartCPUProfile(new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	if _, err := s.Profile(t.Context(), variants, nil); err == nil {
		t.Error("two profiles at once")
	}
}
