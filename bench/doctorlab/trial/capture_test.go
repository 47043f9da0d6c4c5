package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// Capture replaces a fixture, which the doctor can read. The scenario needs
// little CPU.
func TestCapture(t *testing.T) {
	root := t.TempDir()
	old := filepath.Join(root, "standby", "old")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := trial(t.Context(), "-capture", "standby", "-o", root, "-rounds", "1")
	if status != 0 || !strings.Contains(stdout, "items/s, ") {
		t.Fatalf("status %d, %s%s", status, stdout, stderr)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the new fixture has files of the old one")
	}
	dirs, err := fixtures(root)
	if err != nil || len(dirs) != 1 || dirs[0] != filepath.Join(root, "standby") {
		t.Fatalf("fixtures %q, %v", dirs, err)
	}
	truth, err := readTruth(dirs[0])
	if err != nil || truth.check() != nil || truth.Rate <= 0 || len(truth.Gains) != len(truth.Scenario.Remedies) {
		t.Errorf("truth %+v, %v", truth, err)
	}
	programs, _ := scenariosOf(t)
	if o, err := ask(t.Context(), programs.doctor, filepath.Join(dirs[0], fullForm.name)); err != nil || o.Verdict != idle {
		t.Errorf("the doctor says %+v, %v", o, err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("unexpected files besides the fixture: %v, %v", entries, err)
	}
}

// A failed capture keeps the old fixture.
func TestFailedCapture(t *testing.T) {
	root := t.TempDir()
	old := filepath.Join(root, "standby", "old")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := capture(ctx, io.Discard, programs{scenario: os.Args[0]}, scenario{Name: "standby"}, root, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Stat(old); err != nil {
		t.Error(err)
	}
}

func TestStripPaths(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "cpu.pprof")
	m := &profile.Mapping{ID: 1, File: "/home/user/scenario.exe"}
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, Mapping: []*profile.Mapping{m}}
	if err := p.Write(out); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := stripPaths(dir); err != nil {
		t.Fatal(err)
	}
	if got := absolutePaths(t, name); len(got) != 0 {
		t.Errorf("paths %q remain", got)
	}
	if err := os.WriteFile(name, []byte("no profile"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := stripPaths(dir); err == nil || !strings.Contains(err.Error(), "cpu.pprof: ") {
		t.Errorf("invalid profile: %v", err)
	}
}

// absolutePaths returns the absolute paths in the named profile.
func absolutePaths(t *testing.T, name string) (paths []string) {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p, err := profile.Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Mapping {
		if strings.ContainsAny(m.File, `/\`) {
			paths = append(paths, m.File)
		}
	}
	for _, f := range p.Function {
		if filepath.IsAbs(f.Filename) || strings.HasPrefix(f.Filename, "/") {
			paths = append(paths, f.Filename)
		}
	}
	return append(paths, p.Comments...)
}

func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	for i, size := range []int{maxFixture / 2, maxFixture / 2, 1} {
		if err := tooLarge(dir); err != nil {
			t.Errorf("%d files of half the size: %v", i, err)
		}
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := tooLarge(dir); err == nil || !strings.Contains(err.Error(), "fixture of 1024 kB is too large") {
		t.Error(err)
	}
}
