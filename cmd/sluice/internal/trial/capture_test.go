package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestForgetPaths(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "cpu.pprof")
	m := &profile.Mapping{ID: 1, File: "/home/somebody/victim.exe"}
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
