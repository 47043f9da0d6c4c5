package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

// A second run, and one that is interrupted at once, leave the first one alone.
// Without -o, -resume resumes the newest.
func TestNoRunIsOverwritten(t *testing.T) {
	t.Chdir(t.TempDir())
	measured(t, usualOut, 0, small)
	if status, stdout, stderr := sluice(t, 0, small...); status != 0 {
		t.Fatal(stdout, stderr)
	}
	first, second := contents(t, usualOut), contents(t, usualOut+"-2")
	if status, stdout, _ := sluice(t, 1, small...); status != statusInterrupted || !strings.Contains(stdout, "Nothing was measured, and no report was written.") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	if status, stdout, _ := sluice(t, 3, small...); status != statusInterrupted || !strings.Contains(stdout, "sluice-lab-3/report.html") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	if status, stdout, stderr := sluice(t, 0, "lab", "-resume"); status != 0 || !strings.Contains(stdout, "sluice-lab-3/report.html") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if status, stdout, stderr := sluice(t, 0, "report"); status != 0 || !strings.Contains(stdout, "sluice-lab-3/report.html") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if r := read(t, usualOut+"-3"); r.Interrupted || len(r.Sittings) != 2 {
		t.Errorf("the newest run: interrupted %v, %d sittings", r.Interrupted, len(r.Sittings))
	}
	if !reflect.DeepEqual(first, contents(t, usualOut)) || !reflect.DeepEqual(second, contents(t, usualOut+"-2")) {
		t.Error("an earlier run has changed")
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = string(text)
	}
	return found
}

func TestForeignFiles(t *testing.T) {
	for name, text := range map[string]string{
		report.JSONFile:       `{"schema": 1, "experiments": []}`,
		report.BenchmarksFile: "BenchmarkX 1 2 ns/op\n",
		report.PageFile:       "<title>mine</title>",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, dir, name+": not written by sluice lab; choose another directory with -o", append(small, "-o", dir)...)
	}
	dir := t.TempDir()
	measured(t, dir, 0, small)
	for name, text := range map[string]string{
		report.BenchmarksFile: "BenchmarkX 1 2 ns/op\n",
		report.PageFile:       "<title>mine</title>",
	} {
		path := filepath.Join(dir, name)
		ours, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{append(small, "-o", dir), {"lab", "-resume", "-o", dir}, {"report", dir}} {
			refuses(t, dir, name+": not written by sluice lab", args...)
		}
		if err := os.WriteFile(path, ours, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Reading a pipe could block forever. A device replaces it here.
func TestNoRegularFile(t *testing.T) {
	for _, name := range []string{report.JSONFile, report.BenchmarksFile, report.PageFile} {
		dir := t.TempDir()
		if err := os.Symlink(os.DevNull, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		refuses(t, dir, name+" is not a regular file; choose another directory with -o", append(small, "-o", dir)...)
	}
}

// A run that cannot save its figures ends with an error.
func TestNowhereToSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	var stdout, stderr bytes.Buffer
	s := newSession(streams{&stdout, &stderr}, []lab.Experiment{pretended("quiet", sound)}, lab.Scale{}, dir)
	if err := s.run(t.Context()); err == nil || !errors.Is(err, os.ErrNotExist) || complain(&stderr, "", err) != statusFailed {
		t.Errorf("error %v", err)
	}
}
