package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program's test looks at a count that is published after the value that it waits for. It fails if
// the sender pauses for long in between.
var program = map[string]string{
	"go.mod": "module github.com/sluice-go/sluice\n\ngo 1.25\n",
	"order_test.go": `package order

import (
	"runtime"
	"sync/atomic"
	"testing"
)

func TestOrder(t *testing.T) {
	for range 10_000 {
		var sent atomic.Int64
		c := make(chan int, 1)
		go func() { c <- 1; sent.Add(1) }()
		<-c
		for range 20 {
			runtime.Gosched()
		}
		if sent.Load() == 0 {
			t.Fatal("the value came before the count")
		}
	}
}
`,
}

// TestRun: a test that depends on who is first fails with pauses, and the checkout stays as it is.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, contents := range program {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q", "add ."} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Setenv("GOWORK", "off")
	if err := run(dir, 1<<31, []string{"-count=1", "-run", "None", "."}); err != nil {
		t.Errorf("no test: %v", err)
	}
	if err := run(dir, 100, []string{"-count=1", "."}); err == nil || err.Error() != "exit status 1" {
		t.Errorf("a test that depends on who is first: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != len(program)+1 { // and .git
		t.Errorf("the checkout has %v, %v", left, err)
	}
}

// TestPaused: pauses are before statements that publish, on the same line, and in no function with a directive.
func TestPaused(t *testing.T) {
	for before, want := range map[string]string{
		"x := 1":                          "x := 1",
		"mu.Lock()":                       "jitter.Pause(); mu.Lock()",
		"c <- 1":                          "jitter.Pause(); c <- 1",
		"if v := <-c; v { f() }":          "jitter.Pause(); if v := <-c; v { f() }",
		"if x { <-c }":                    "if x { jitter.Pause(); <-c }",
		"L: for x.Load() {}":              "jitter.Pause(); L: for x.Load() {}",
		"switch x { case 1: n.Store(1) }": "switch x { case 1: jitter.Pause(); n.Store(1) }",
		"select { case <-c: close(d) }":   "jitter.Pause(); select { case <-c: jitter.Pause(); close(d) }",
		"go func() { c <- 1 }()":          "jitter.Pause(); go func() { jitter.Pause(); c <- 1 }()",
		"defer func() { mu.Unlock() }()":  "defer func() { jitter.Pause(); mu.Unlock() }()",
	} {
		const start, end = "package p\n\nfunc _() { ", " }\n\n//go:nosplit\nfunc _() { c <- 1 }\n"
		got, err := paused("p.go", []byte(start+before+end))
		if before == want {
			if got != nil || err != nil {
				t.Errorf("%s: %s, %v", before, got, err)
			}
			continue
		}
		text, ok := strings.CutSuffix(string(got), end)
		_, body, found := strings.Cut(text, "func _() { ")
		if err != nil || !ok || !found || body != want {
			t.Errorf("%s: %q, %v", before, got, err)
		}
	}
}
