package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// Capture replaces a fixture, which the doctor can read, or one form of it. The
// scenario needs little CPU.
func TestCapture(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "standby")
	put(t, dir, "old/file")
	capture := func(list string) *Truth {
		t.Helper()
		status, stdout, stderr := trial(t.Context(), "-capture", "standby", "-forms", list, "-o", root, "-rounds", "1")
		if status != 0 || !strings.Contains(stdout, "items/s, ") {
			t.Fatalf("status %d, %s%s", status, stdout, stderr)
		}
		truth, err := readTruth(dir)
		if err != nil || truth.check() != nil || truth.Rate <= 0 || len(truth.Gains) != len(truth.Scenario.Remedies) {
			t.Errorf("truth %+v, %v", truth, err)
		}
		if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
			t.Errorf("unexpected files besides the fixture: %v, %v", entries, err)
		}
		return truth
	}
	before := capture("full")
	if after := capture("bare"); !reflect.DeepEqual(before, after) {
		t.Errorf("the truth changed with another form: %+v", after)
	}
	programs, _ := scenariosOf(t)
	for _, f := range []form{fullForm, bareForm} {
		if o, err := ask(t.Context(), programs.doctor, filepath.Join(dir, f.name)); err != nil || o.Verdict != idle {
			t.Errorf("form %s: the doctor says %+v, %v", f.name, o, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, bareForm.name))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	want := []string{"capture.json", "cpu.pprof", "glimpse.json.gz", "goroutine-before.pprof", "goroutine.pprof", "goroutine.txt.gz", "mutex-before.pprof", "mutex.pprof"}
	if pprof.Lookup("goroutineleak") != nil { // from Go 1.27 on
		want = append(want, "goroutineleak.pprof")
		slices.Sort(want)
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("bare has %q, want %q", names, want)
	}
	if !captured(filepath.Join(dir, "old")) {
		t.Error("a form that was not captured is gone")
	}
}

// A capture of all forms removes everything else.
func TestReplace(t *testing.T) {
	dir, fresh := filepath.Join(t.TempDir(), "a"), t.TempDir()
	put(t, dir, "bare/old", "other/old")
	put(t, fresh, "bare/new")
	if err := replace(dir, fresh, "bare"); err != nil {
		t.Fatal(err)
	}
	if !captured(filepath.Join(dir, "other")) {
		t.Error("another form is gone")
	}
	put(t, fresh, "full/new")
	if err := replace(dir, fresh, allForms); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "full" {
		t.Errorf("%v, %v", entries, err)
	}
}

// Texts and traces are compressed; a large trace does not stay.
func TestShrink(t *testing.T) {
	dir := t.TempDir()
	noise := make([]byte, 2*smallTrace)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		noise[i] = byte(x)
	}
	for name, data := range map[string][]byte{"goroutine.txt": []byte("text"), "glimpse.json": noise, "trace.out": noise, "cpu.pprof": noise} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := shrink(dir); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	if want := []string{"cpu.pprof", "glimpse.json.gz", "goroutine.txt.gz"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
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
	if err := capture(ctx, io.Discard, programs{scenario: os.Args[0]}, scenario{Name: "standby"}, root, allForms, 1); !errors.Is(err, context.Canceled) {
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
