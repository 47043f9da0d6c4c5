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

// A fixture is made anew in place of the old one, and the doctor reads it. The scenario
// is one that needs little CPU.
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
		t.Error("what was in the old fixture is in the new one")
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
	if o, err := ask(t.Context(), programs.doctor, dirs[0]); err != nil || o.Verdict != idle {
		t.Errorf("the doctor says %+v, %v", o, err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("there is more than the fixture: %v, %v", entries, err)
	}
}

// An old fixture stays when there is no new one.
func TestCaptureInVain(t *testing.T) {
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

func TestForgetPaths(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "cpu.pprof")
	m := &profile.Mapping{ID: 1, File: "/home/somebody/scenario.exe"}
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
	if err := forgetPaths(dir); err != nil {
		t.Fatal(err)
	}
	if got := strange(t, name); len(got) != 0 {
		t.Errorf("it still has %q", got)
	}
	if err := os.WriteFile(name, []byte("no profile"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := forgetPaths(dir); err == nil || !strings.Contains(err.Error(), "cpu.pprof: ") {
		t.Errorf("what is no profile: %v", err)
	}
}

// strange returns the absolute paths in the profile of that name.
func strange(t *testing.T, name string) (paths []string) {
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
	if err := tooLarge(dir); err == nil || !strings.Contains(err.Error(), "it has 1024 kB") {
		t.Error(err)
	}
}
