package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bench/command"
	"github.com/sluice-go/sluice/bench/doctorlab/remote"
)

// TestMain runs services, and what is outside of them, in processes of the test binary.
func TestMain(m *testing.M) {
	if remote.IsChild() || len(os.Args) > 1 && os.Args[1] == "-serve" {
		main()
		return
	}
	m.Run()
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "exactly one"},
		{[]string{"-score", "a", "-live", "b"}, "exactly one"},
		{[]string{"-list", "-serve", "words"}, "exactly one"},
		{[]string{"-serve", "nothing"}, "unknown service"},
		{[]string{"-serve", "words", "-remedy", "mutex"}, "unknown remedy"},
		{[]string{"-capture", "all"}, "requires -o"},
		{[]string{"-measure", "all", "-o", "x"}, "requires -o"},
		{[]string{"-measure", "all", "-rounds", "0"}, "invalid -rounds"},
		{[]string{"-measure", "all", "more"}, "unexpected argument"},
		{[]string{"-unknown"}, "not defined"},
	} {
		if err := run(t.Context(), c.args, io.Discard); !errors.As(err, new(command.Misuse)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}

func TestChoose(t *testing.T) {
	l, _ := newLab()
	for _, c := range []struct {
		names string
		want  int
	}{{"all", 3}, {"records", 1}, {"leak,trips", 2}, {string(held), 3}} {
		if chosen, err := l.choose(c.names); err != nil || len(chosen) != c.want {
			t.Errorf("%s: %d services, %v", c.names, len(chosen), err)
		}
	}
	if _, err := l.choose("records,nothing"); err == nil {
		t.Error("an unknown service was chosen")
	}
}

// TestMeasure measures a service.
func TestMeasure(t *testing.T) {
	l, out := newLab()
	var err error
	if l.program, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	words, err := find("words", batch)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.measure(t.Context(), &words, []string{batch}, 1); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "gains.json")
	if err := l.gains.write(name); err != nil {
		t.Fatal(err)
	}
	read, err := readGains(name)
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := read.gain("words", "batch"); !ok || g.Median <= 0 || g.Rounds != 1 {
		t.Errorf("the gain is %+v", g)
	}
	if !strings.HasPrefix(out.String(), "words: ") {
		t.Errorf("printed %q", out)
	}
	if err := l.measure(t.Context(), &description{Name: "nothing"}, []string{batch}, 1); err == nil || !strings.Contains(err.Error(), "unknown service") {
		t.Errorf("an unknown service: %v", err)
	}
	if _, err := l.rate(t.Context(), "words", "mutex"); err == nil || !strings.Contains(err.Error(), "unknown remedy") {
		t.Errorf("an unknown remedy: %v", err)
	}
}

// TestMeasuredTable compares the gains in the repository with the table. It leaves out
// gains that were measured beside other work: more cores than there are in demand.
func TestMeasuredTable(t *testing.T) {
	gains, err := readGains("../gains.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all() {
		m := gains.Services[s.Name]
		if demand, err := strconv.ParseFloat(m.Load, 64); err == nil && demand > 2*float64(m.CPUs) {
			continue
		}
		for _, r := range s.Right {
			if g, ok := gains.gain(s.Name, r); !ok || g.Median < pays {
				t.Errorf("%s: %s is called right, and gives x%.2f", s.Name, r, g.Median)
			}
		}
	}
}

func TestSaved(t *testing.T) {
	root := t.TempDir()
	if _, err := saved(root); err == nil {
		t.Error("an empty folder has observations")
	}
	for _, dir := range []string{"records/1", "records/2", "trips/1"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if folders, err := saved(root); err != nil || len(folders["records"]) != 2 || len(folders["trips"]) != 1 {
		t.Errorf("found %v, %v", folders, err)
	}
}
