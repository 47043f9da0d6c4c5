package rounds_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bench/results"
	"github.com/sluice-go/sluice/bench/rounds"
)

// flags parses a command line as a command does.
func flags(args ...string) (f rounds.Flags, err error) {
	f.Define(flag.NewFlagSet("test", flag.ContinueOnError), "cells", "`regexp`", 3, "`file`")
	return f, f.Parse(args)
}

// table returns a table whose cells measure themselves.
func table(f rounds.Flags, measure func(string) (string, error)) rounds.Table[string, string] {
	t := rounds.Table[string, string]{
		Name:    func(cell string) string { return cell },
		Measure: measure,
		Section: "test",
		Markdown: func(_ string, procs int, lines []string) string {
			return fmt.Sprintf("GOMAXPROCS %d: %s", procs, strings.Join(lines, ", "))
		},
	}
	for _, cell := range []string{"one", "two"} {
		if f.Match.MatchString(cell) {
			t.Cells = append(t.Cells, cell)
		}
	}
	return t
}

func same(cell string) (string, error) { return cell, nil }

// TestReport: each GOMAXPROCS has its section.
func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	f, err := flags("-procs", "1, 2", "-o", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := table(f, same).Report(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for section, want := range map[string]string{"test 1": "GOMAXPROCS 1: one, two\n", "test 2": "GOMAXPROCS 2: one, two\n"} {
		if got := results.Get(string(document), section); got != want {
			t.Errorf("section %s: %q, want %q", section, got, want)
		}
	}
}

// TestReportIncomplete: a table that is interrupted, fails, or is empty leaves the file alone.
func TestReportIncomplete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	f, err := flags("-procs", "1", "-o", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	measured := 0
	interrupted := func(cell string) (string, error) { measured++; interrupt(); return cell, nil }
	if err := table(f, interrupted).Report(ctx, f); err != nil || measured != 1 {
		t.Errorf("interrupted in the first cell: measured %d, %v", measured, err)
	}
	broken := errors.New("broken")
	fails := func(string) (string, error) { return "", broken }
	if err := table(f, fails).Report(t.Context(), f); !errors.Is(err, broken) || !strings.Contains(err.Error(), "one") {
		t.Errorf("a cell that fails: %v", err)
	}
	if f, err = flags("-cells", "three", "-o", path); err != nil {
		t.Fatal(err)
	}
	if err := table(f, same).Report(t.Context(), f); err == nil || !strings.Contains(err.Error(), `-cells: no cell matches "three"`) {
		t.Errorf("no cells: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}

func TestFlags(t *testing.T) {
	for _, wrong := range [][]string{{"x"}, {"-cells", "("}, {"-procs", "0"}, {"-procs", ""}, {"-rounds", "0"}} {
		if _, err := flags(wrong...); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
	f, err := flags()
	if err != nil || len(f.Procs) != 3 || f.Rounds != 3 || f.Out != "" || !f.Match.MatchString("any") {
		t.Errorf("%+v, %v", f, err)
	}
}
