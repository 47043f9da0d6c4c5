package compare

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every error names the faulty input in one line.
func TestFaultyInput(t *testing.T) {
	good := run(header, line{"Elastic/contender=a", "ns/op", around(10, 6)})
	other := run(later, line{"Elastic/contender=a", "ns/op", around(10, 6)})
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"good": good, "other": other, "copy": good, "empty": "", "blank": " \n\n",
		"foreign":  "# A letter\n\nDear reader,\nthis holds no figures.\n",
		"page":     "<!doctype html>\n<title>Report</title>\n",
		"broken":   "BenchmarkElastic lots 10 ns/op\n",
		"nameless": "BenchmarkElastic\n",
		"nan":      header + "BenchmarkElastic/contender=a 1 NaN ns/op\n",
		"long":     strings.Repeat("x", 1<<17),
		"apart":    run(later, line{"Elastic/contender=b", "ns/op", around(10, 6)}),
		"cut":      "\x1f\x8bxx", "short": zipped(good)[:40], "panic": "BenchmarkElastic-8 \tpanic: no\n",
		"procs": run(later, line{"Elastic/contender=a-8", "ns/op", around(10, 6)}),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bare", "lab", filepath.Join("odd", resultsFile)} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join("lab", resultsFile), []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("good", "link"); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ was, is, says string }{
		{"good", "gone", "gone: no such file"},
		{"gone", "good", "gone: no such file"},
		{"good", "empty", "empty is empty"},
		{"good", "blank", "blank has no result"},
		{"good", "bare", "bare has no results.txt: not a directory of sluice lab"},
		{"good", "odd", "is a directory"},
		{"good", os.DevNull, "is empty"},
		{"good", "cut", "cut: unexpected EOF"},
		{"good", "short", "unexpected EOF"},
		{"panic", "good", "panic has no result in Go's benchmark format: BenchmarkElastic-8: panic: no"},
		{"good", "foreign", "foreign has no result in Go's benchmark format: no line"},
		{"page", "good", "page has no result in Go's benchmark format: no line"},
		{"good", "broken", "broken has no result in Go's benchmark format: broken:1: BenchmarkElastic lots 10 ns/op"},
		{"good", "nameless", "nameless has no result"},
		{"good", "long", "long has no result"},
		{"good", "nan", "nan has no result in Go's benchmark format: nan:8: Elastic/contender=a NaN"},
		{"good", "good", "good and good have identical contents"},
		{"good", "./good", "identical contents"},
		{"good", "link", "identical contents"},
		{"lab", "lab/results.txt", "identical contents"},
		{"good", "copy", "identical contents"},
		{"good", "lab", "identical contents"},
		{"good", "apart", "no common point: they have points such as Elastic/contender=a and Elastic/contender=b"},
		{"good", "procs", "GOMAXPROCS is 1 in OLD and 8 in NEW: to compare two values of it, use -procs, as in -procs 1:8"},
	}
	for _, tt := range tests {
		t.Run(tt.was+" "+tt.is, func(t *testing.T) {
			c, err := Files(tt.was, tt.is, Defaults)
			if err == nil || c != nil {
				t.Fatalf("accepted: %+v", c)
			}
			if !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q", err, tt.says)
			}
		})
	}
	if _, err := Files("lab", "other", Defaults); err != nil {
		t.Errorf("a directory of the lab, and a file: %v", err)
	}
}

func TestFaultyOptions(t *testing.T) {
	oldPath, newPath := write(t, run(header, line{"E", "ns/op", around(10, 6)}), run(later, line{"E", "ns/op", around(10, 6)}))
	nan := 0.0
	nan /= nan
	for _, tt := range []struct {
		o    Options
		says string
	}{
		{Options{Alpha: 0, Threshold: 0.05}, "invalid alpha 0 (want a number between 0 and 1)"},
		{Options{Alpha: 1, Threshold: 0.05}, "invalid alpha 1 (want"},
		{Options{Alpha: nan, Threshold: 0.05}, "invalid alpha NaN"},
		{Options{Alpha: 0.05, Threshold: -0.01}, "invalid threshold -1%"},
		{Options{Alpha: 0.05, Threshold: 1000}, "invalid threshold 100000% (want 0% to 10000%)"},
		{Options{Alpha: 0.05, Threshold: nan}, "invalid threshold NaN%"},
	} {
		if _, err := Files(oldPath, newPath, tt.o); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: error %v, want %q", tt.o, err, tt.says)
		}
	}
}

// Lines among good ones that cannot be read are counted in a warning, which shows one.
func TestSkippedLines(t *testing.T) {
	c := compared(t, run(header, line{"E", "ns/op", around(10, 6)})+"BenchmarkE 100 fast\nBenchmarkF 100 fast\n",
		run(later, line{"E", "ns/op", around(10, 6)}), Defaults)
	if warnings := strings.Join(c.warnings(), "\n"); !strings.Contains(warnings, "OLD: cannot read 2 lines, such as ") || !strings.Contains(warnings, ":14: BenchmarkE 100 fast") {
		t.Errorf("warnings\n%s", warnings)
	}
}

// Two values of GOMAXPROCS are compared on request, in two runs or in one.
func TestProcs(t *testing.T) {
	at := func(header string, ns ...float64) string {
		var lines []line
		for i, suffix := range []string{"", "-2", "-8"} {
			lines = append(lines, line{"Elastic/contender=a" + suffix, "ns/op", around(ns[i], 6)})
		}
		return run(header, lines...)
	}
	oldPath, newPath := write(t, at(header, 10, 30, 50), at(later, 10, 31, 90))
	asked := func(old, new int) Options {
		o := Defaults
		o.Procs = &[2]int{old, new}
		return o
	}
	for _, tt := range []struct {
		was, is  string
		old, new int
		medians  [2]float64 // in ns
		says     string
	}{
		{oldPath, newPath, 1, 2, [2]float64{10, 31}, "NEW started 3 min after OLD."},
		{oldPath, newPath, 8, 1, [2]float64{50, 10}, "NEW started 3 min after OLD."},
		{oldPath, oldPath, 2, 8, [2]float64{30, 50}, "OLD and NEW are the points of one run at GOMAXPROCS 2 and 8."},
	} {
		c, err := Files(tt.was, tt.is, asked(tt.old, tt.new))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Points) != 1 || len(c.OnlyOld)+len(c.OnlyNew) != 0 {
			t.Fatalf("%d:%d: points %+v, alone %v %v", tt.old, tt.new, c.Points, c.OnlyOld, c.OnlyNew)
		}
		p := c.Points[0]
		if got := [2]float64{p.Old.Median * 1e9, p.New.Median * 1e9}; math.Abs(got[0]-tt.medians[0]) > 0.1 || math.Abs(got[1]-tt.medians[1]) > 0.1 {
			t.Errorf("%d:%d: medians %v, want %v", tt.old, tt.new, got, tt.medians)
		}
		if !strings.Contains(c.twoRuns(), tt.says) || len(c.warnings()) > 0 {
			t.Errorf("%d:%d: %q, warnings %q", tt.old, tt.new, c.twoRuns(), c.warnings())
		}
	}
	for want, o := range map[string]Options{
		"has no point at GOMAXPROCS 4: it has 1, 2, 8": asked(4, 8),
		"has no point at GOMAXPROCS 3: it has 1, 2, 8": asked(1, 3),
	} {
		if _, err := Files(oldPath, newPath, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A file of package testing, which leaves out GOMAXPROCS 1, is compared, too.
func TestProcsOfTesting(t *testing.T) {
	oldPath, newPath := write(t, run("pkg: a\n", line{"Encode", "ns/op", around(10, 6)}), run("pkg: a\n", line{"Encode-4", "ns/op", around(20, 6)}))
	o := Defaults
	o.Procs = &[2]int{1, 4}
	c, err := Files(oldPath, newPath, o)
	if err != nil || len(c.Points) != 1 || c.Points[0].Name != "Encode" {
		t.Errorf("%v: %+v", err, c)
	}
}
