package predict

import (
	"slices"
	"strings"
	"testing"
)

// results has the lab's format: repetitions, with GOMAXPROCS at the end of the
// name unless it is 1.
const results = `goos: linux
goarch: amd64
cpu: Some Xeon
go: go1.26.8
experiment: cpu-scaling

BenchmarkCpuScaling/sweep=matched/contender=native 1000 50 ns/op
BenchmarkCpuScaling/sweep=matched/contender=native 1000 40 ns/op
BenchmarkCpuScaling/sweep=matched/contender=native 1000 60 ns/op
BenchmarkCpuScaling/sweep=matched/contender=native-2 1000 100 ns/op
BenchmarkCpuScaling/sweep=matched/contender=native-8 1000 200 ns/op
BenchmarkCpuScaling/sweep=matched/contender=sluice.Sharded 1000 25 ns/op
BenchmarkCpuScaling/sweep=matched/contender=sluice.Sharded-2 1000 12.5 ns/op 7 B/op
BenchmarkCpuScaling/sweep=oversubscribed/contender=native-2 1000 12 ns/op
BenchmarkCpuScaling/sweep=oversubscribed/contender=native-4 1000 12 ns/op
BenchmarkElastic/once-2 1000 12 ns/op
BenchmarkElastic/once 1000 twelve ns/op
PASS
`

func TestReadSeriesBenchmarks(t *testing.T) {
	all, skipped, err := ReadSeries(strings.NewReader(results), "results.txt")
	if err != nil || len(all) != 2 || len(skipped) != 1 || skipped[0].Line != 17 {
		t.Fatalf("%+v, skipped %v, %v: want the two that have a curve", all, skipped, err)
	}
	native, err := Choose(all, "native")
	if err != nil {
		t.Fatal(err)
	}
	want := []Point{{1, 1e9 / 50}, {2, 1e9 / 100}, {8, 1e9 / 200}}
	for i, c := range native.Counts {
		if c.Procs != want[i].Procs || !closeTo(c.X, want[i].X, 1e-9) {
			t.Errorf("count %d: %+v, want %+v", i, c, want[i])
		}
	}
	if first := native.Counts[0]; first.N != 3 || !closeTo(first.Lo, 1e9/60, 1e-9) || !closeTo(first.Hi, 1e9/40, 1e-9) {
		t.Errorf("repetitions of one CPU: %+v", first)
	}
	if c := native.Curve; c.Machine != "Some Xeon linux/amd64" || c.Version != "Go 1.26.8" || c.Workload != native.Name || len(c.Points) != 3 {
		t.Errorf("%+v", c)
	}
	native.Limit(2)
	if above := native.Curve.Above; !slices.Equal(above, []int{8}) || len(native.Counts) != 2 || len(native.Curve.Points) != 2 {
		t.Errorf("above 2 CPUs are %v, left is %+v", above, native)
	}
}

func TestReadSeriesCurves(t *testing.T) {
	all, _, err := ReadSeries(strings.NewReader(header+"\ns,m,Go 1.26,w,2,100,ns/op,\ns,m,Go 1.26,w,1,50,ns/op,\ns,n,Go 1.26,w,1,5e6,ops/s,\n"), "mine.csv")
	if err != nil || len(all) != 2 || len(all[0].Counts) != 2 || all[0].Counts[1].X != 1e7 || all[0].Counts[1].N != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestReadSeriesRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                                     "f: no benchmark with two values",
		"hello\nworld\n":                       "f: no benchmark with two",
		"BenchmarkX-2 100 5 ns/op\n":           "f: no benchmark with two",
		"source,age\nx,3\n":                    "f: not a file of curves",
		header + "\ns,m,v,w,x,1,ops/s,\n":      `f: no row can be used: 1 of 1: line 2: invalid procs "x"`,
		header + "\n":                          "f: the file of curves has no rows of curves",
		"\ufeff" + header + "\r\n":             "f: the file of curves has no rows of curves",
		"procs,source\n":                       "f: not a file of curves",
		"BenchmarkX-2 1 5 B\nBenchmarkX 1 5 B": "f: no benchmark with two",
	} {
		if _, _, err := ReadSeries(strings.NewReader(text), "f"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %q", text, err, says)
		}
	}
}
