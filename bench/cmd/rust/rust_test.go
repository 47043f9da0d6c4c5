package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bench/workload"
)

func TestRows(t *testing.T) {
	all := choose(regexp.MustCompile(""))
	if len(all) != 24 {
		t.Errorf("%d rows, want 24", len(all))
	}
	for _, r := range all {
		// The Rust program checks its own values.
		for _, run := range []func(uint64) (workload.Result, error){
			func(n uint64) (workload.Result, error) { return r.nativeWork.Run(r.native, n) },
			func(n uint64) (workload.Result, error) { return r.oursWork.Run(r.ours, n) },
		} {
			if _, err := run(100); err != nil {
				t.Errorf("%s: %v", r.name, err)
			}
		}
	}
	some := choose(regexp.MustCompile("^Bounded 8 8->1$"))
	if len(some) != 1 || some[0].slots != "8" || some[0].senders != 8 || some[0].receivers != 1 {
		t.Errorf("one row: %+v", some)
	}
}

func TestRead(t *testing.T) {
	all := map[string][]float64{"kanal": {1}}
	if err := read([]byte("kanal\t37.3\nflume async\t150.0\n"), all); err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{"kanal": {1, 37.3}, "flume async": {150}}
	if !maps.EqualFunc(all, want, slices.Equal) {
		t.Errorf("%v, want %v", all, want)
	}
	for _, out := range []string{"kanal 37.3\n", "kanal\tfast\n", "kanal\t0.0\n"} {
		if err := read([]byte(out), all); err == nil || !strings.Contains(err.Error(), "want a name") {
			t.Errorf("%q: %v", out, err)
		}
	}
}

func TestLine(t *testing.T) {
	r := row{name: "Bounded 1 1->1"}
	got := line(r, map[string]float64{native: 120.04, "flume async": 99.95})
	want := "Bounded 1 1->1       120.0       -       -         -         -       -           -               -       100.0"
	if got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if len(heading()) != len(got) {
		t.Errorf("the heading has %d characters, a row %d", len(heading()), len(got))
	}
}

// TestWithoutCargo: without cargo nothing is measured, and that is no error.
func TestWithoutCargo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := report(t.Context(), settings{}); err != nil {
		t.Error(err)
	}
}

func TestMistakes(t *testing.T) {
	for _, args := range []string{"-rows (", "-procs 0", "-rounds 0", "-time 1us", "x"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	if _, err := build(t.Context(), "cargo"); err == nil || !strings.Contains(err.Error(), "top of the repository") {
		t.Errorf("in another folder: %v", err)
	}
}
