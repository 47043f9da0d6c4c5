package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// folder makes a folder with n files, which contain their names.
func folder(t *testing.T, n int) (root string, paths []string) {
	t.Helper()
	root = t.TempDir()
	for i := range n {
		path := filepath.Join(root, fmt.Sprint(i%3), fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(path), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return root, paths
}

func TestSums(t *testing.T) {
	root, paths := folder(t, 40)
	var out strings.Builder
	sums, err := run(t.Context(), &out, []string{root}, 3, 1)
	if want := (summary{accepted: 40, done: 40}); sums != want || err != nil {
		t.Errorf("got %v, %v, want %v", sums, err, want)
	}
	for _, path := range paths {
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(path)), path); !strings.Contains(out.String(), line) {
			t.Errorf("the output lacks %q", line)
		}
	}
}

// A writer calls then at the first line.
type writer struct {
	then func(line string)
	once sync.Once
}

func (w *writer) Write(line []byte) (int, error) {
	w.once.Do(func() { w.then(string(line)) })
	return len(line), nil
}

// After an interrupt all accepted jobs are done, and no others.
func TestInterrupt(t *testing.T) {
	root, _ := folder(t, 300)
	stop, interrupt := context.WithCancel(t.Context())
	sums, err := run(stop, &writer{then: func(string) { interrupt() }}, []string{root}, 3, 1)
	if err != nil || sums.accepted == 300 || sums.done != sums.accepted {
		t.Errorf("got %v, %v", sums, err)
	}
}

// Too many failures end the pool, and each accepted job is counted once.
func TestFailures(t *testing.T) {
	root, paths := folder(t, 300)
	remove := func(string) {
		for _, path := range paths {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		}
	}
	sums, err := run(t.Context(), &writer{then: remove}, []string{root}, 3, 5)
	if !errors.Is(err, errTooMany) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want %v", err, errTooMany)
	}
	if sums.failed < 5 || sums.done+sums.failed+sums.notStarted != sums.accepted {
		t.Errorf("got %v", sums)
	}
}

func TestMissingFolder(t *testing.T) {
	_, err := run(t.Context(), os.Stdout, []string{filepath.Join(t.TempDir(), "missing")}, 1, 1)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want %v", err, os.ErrNotExist)
	}
}
