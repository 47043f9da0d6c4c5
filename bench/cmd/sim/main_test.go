package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const rows = `source,machine,version,workload,procs,ops_per_s_or_ns,unit,note,kind,design,cpus,domain
a,m,C++,atomic add,1,6.1,ns/op,,curve,FAA,4,4
a,m,C++,atomic add,4,17.4,ns/op,,curve,FAA,4,4
a,m,C++,cas add,1,11.0,ns/op,,curve,CAS loop,4,4
a,m,C++,cas add,4,66.7,ns/op,,curve,CAS loop,4,4
`

func TestScore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "curves.csv")
	if err := os.WriteFile(file, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{"-score", "-published", file}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "All 2 curves") {
		t.Errorf("output:\n%s", out.String())
	}
}

func TestErrors(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.csv")
	if err := os.WriteFile(empty, []byte(strings.SplitAfter(rows, "\n")[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"unexpected argument":       {"many"},
		"in the root of the repos":  {"-published", filepath.Join(t.TempDir(), "none.csv")},
		"no machine has two curves": {"-published", empty},
	} {
		var out bytes.Buffer
		if err := run(args, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
