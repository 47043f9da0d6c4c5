package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"
)

// TestHostileNames: whatever a file, or its name, holds, no command sends control or
// bidirectional characters to the terminal.
func TestHostileNames(t *testing.T) {
	t.Chdir(t.TempDir())
	const hostile = "a\x1b[2J\x1b]0;title\a\u202egnp.exe\u2066\x9b31m"
	var results, other, curves strings.Builder
	for i := range 8 {
		fmt.Fprintf(&results, "pkg: example.com/%s\ncpu: %s\nBenchmark%s-8 100 %d.5 ns/op\n", hostile, hostile, hostile, 100+i)
		fmt.Fprintf(&other, "pkg: example.com/%s\ncpu: other %s\nBenchmark%s-8 100 %d.5 ns/op\nBenchmarkX%s-8 1 nonsense\n--- FAIL: %s\n", hostile, hostile, hostile, 300+i, hostile, hostile)
	}
	curves.WriteString("source,machine,version,workload,procs,ops_per_s_or_ns,unit,note,kind,cpus\n")
	for _, procs := range []int{1, 2, 4, 8} {
		fmt.Fprintf(&curves, "%[1]s,%[1]s,%[1]s,%[1]s,%[2]d,%[2]d0000000,ops/s,%[1]s,curve,64\n", hostile, procs)
	}
	fmt.Fprintf(&curves, "a,b,c,d,%s,1,ops/s,,curve,64\n", hostile)
	var dump strings.Builder
	for i := range 20 {
		fmt.Fprintf(&dump, "goroutine %d [chan send, 20 minutes]:\nmain.%s(...)\n\t/%s.go:1\ncreated by main.%s in goroutine 1\n\t/%s.go:2\n\n", i+1, hostile, hostile, hostile, hostile)
	}
	name := "old" + strings.ReplaceAll(hostile, "/", "")
	for file, text := range map[string]string{name: results.String(), "new": other.String(), "curves.csv": curves.String(), "dump": dump.String()} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"compare", name, "new"}, {"compare", name, "new", "-v"}, {"compare", name, "gone" + hostile},
		{"predict", "curves.csv"}, {"predict", "curves.csv", "-v"}, {"predict", "curves.csv", "-list"}, {"predict", "-score", "curves.csv"},
		{"predict", name}, {"predict", "gone" + hostile}, {"predict", "curves.csv", "-series", hostile},
		{"report", "gone" + hostile}, {"doctor", "gone" + hostile}, {"doctor", name}, {"doctor", "dump"}, {"doctor", "dump", "-v"},
		{"doctor", "-json", "dump"}, {"doctor", "-pod", hostile}, {"doctor", "-save", name + "s", "-seconds", "1", pprofServer(t)}, {"lab", "gone" + hostile}, {hostile}, {"watch", hostile},
	} {
		_, stdout, stderr := sluice(t, 0, args...)
		for _, r := range stdout + stderr {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%q: %q in\n%q\n%q", args, r, stdout, stderr)
				break
			}
		}
	}
}
