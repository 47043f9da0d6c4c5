package predict

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const header = "source,machine,version,workload,procs,ops_per_s_or_ns,unit,note"

// samePoint compares points without their intervals.
func samePoint(a, b Point) bool { return a.Procs == b.Procs && a.X == b.X }

// A file needs a count of CPUs and a throughput; the names of its columns, their
// order, case and separator are free, and labels are optional.
func TestReadCSV(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []Point
		kind       Kind
		cpus       int
	}{
		{"both units", header + "\ns,m,v,w,2,100,ns/op,\ns,m,v,w,1,5e6,ops/s,\n", points(1, 5e6, 2, 1e7), Shared, 0},
		{"the median of one count", header + "\ns,m,v,w,1,10,ops/s,\ns,m,v,w,1,30,ops/s,\ns,m,v,w,1,11,ops/s,\n", points(1, 11), Shared, 0},
		{"rows that are not curves", header + ",kind\nx,m,v,w,max,9.8,ratio,,other\ns,m,v,w,4,10,ops/s,,sharded\n", points(4, 10), Sharded, 0},
		{"a byte order mark and CRLF", "\ufeff" + header + "\r\ns,m,v,w,1,10,ops/s,\r\n", points(1, 10), Shared, 0},
		{"spaces", header + "\n s , m , v , w , 1 , 10 , ops/s ,\n", points(1, 10), Shared, 0},
		{"columns in another order", "kind,unit,ops_per_s_or_ns,procs,workload,version,machine,source,note\ncurve,ops/s,7,3,w,v,m,s,n\n", points(3, 7), Shared, 0},
		{"the minimal file", MinimalFile, points(1, 31e6, 2, 24.5e6, 4, 22.1e6), Shared, 0},
		{"CPUs of the machine", "threads,cpus,ops\n1,8,10\n2,8,20\n", points(1, 10, 2, 20), Shared, 8},
		{"semicolons and case", "Goroutines ; NS/op\n1;100\n4;50\n", points(1, 1e7, 4, 2e7), Shared, 0},
		{"tabs", "GOMAXPROCS\tops per s\n1\t3\n2\t6\n", points(1, 3, 2, 6), Shared, 0},
		{"other columns", "run,cpus,remark,throughput\na,1,x,3\nb,2,\"y, z\",6\n", points(1, 3, 2, 6), Shared, 0},
	} {
		curves, skipped, err := Read([]byte(tt.text), "f")
		if err != nil || len(curves) != 1 || len(skipped) > 0 {
			t.Errorf("%s: %d curves, skipped %v, %v", tt.name, len(curves), skipped, err)
			continue
		}
		c := curves[0]
		labels := c.Source+c.Machine+c.Version+c.Workload == "smvw" && c.Name == "s | m | v | w"
		if none := c.facts() == "" && c.Name == "f"; !labels && !none {
			t.Errorf("%s: %+v", tt.name, c)
		}
		if !slices.EqualFunc(c.Points, tt.want, samePoint) || c.Kind != tt.kind || c.CPUs != tt.cpus {
			t.Errorf("%s: %+v, want %v, %s, of %d CPUs", tt.name, c, tt.want, tt.kind, tt.cpus)
		}
	}
}

// Repetitions of a count have an interval.
func TestReadRepetitions(t *testing.T) {
	curves, _, err := Read([]byte("cpus,ops\n"+strings.Repeat("1,10\n1,12\n1,11\n", 4)+"2,5\n"), "f")
	if err != nil || len(curves) != 1 {
		t.Fatal(curves, err)
	}
	if p := curves[0].Points; p[0].X != 11 || p[0].Lo >= 11 || p[0].Hi <= 11 || p[0].N != 12 || p[1] != (Point{2, 5, 5, 5, 1}) {
		t.Errorf("%+v", p)
	}
}

// Counts above the CPUs are separated; a curve with no other counts is skipped.
func TestReadAbove(t *testing.T) {
	curves, _, err := Read([]byte(header+",cpus\ns,m,v,w,1,10,ops/s,,2\ns,m,v,w,4,5,ops/s,,2\ns,n,v,w,4,5,ops/s,,2\n"), "f")
	if curves = limited(curves); err != nil || len(curves) != 1 || !slices.Equal(curves[0].Above, []int{4}) || len(curves[0].Points) != 1 {
		t.Errorf("%+v, %v", curves, err)
	}
}

// Source, machine, version and workload identify a curve.
func TestReadApart(t *testing.T) {
	text := header + "\na,m,v,w,1,1,ops/s,\nb,m,v,w,1,1,ops/s,\na,n,v,w,1,1,ops/s,\na,m,u,w,1,1,ops/s,\na,m,v,x,1,1,ops/s,\na,m,v,w,2,1,ops/s,other note\n"
	curves, _, err := Read([]byte(text), "f")
	if err != nil || len(curves) != 5 || len(curves[0].Points) != 2 {
		t.Errorf("%+v, %v: want 5 curves, the first with 2 points", curves, err)
	}
}

// A file that is none says what is missing, and what a file looks like.
func TestReadRefuses(t *testing.T) {
	for _, tt := range []struct {
		text string
		is   error
		says string
	}{
		{"", ErrForeign, "it is empty"},
		{"hello\nworld\n", ErrForeign, "no count of CPUs (procs, threads, goroutines or cpus) and no throughput (ops/s or ns/op)"},
		{"name,age\nx,3\n", ErrForeign, "\n  cpus,ops/s\n  1,31000000\n"},
		{"cpus,age\n1,3\n", ErrForeign, "the first line has no throughput (ops/s or ns/op)."},
		{"name,ops\n1,3\n", ErrForeign, "the first line has no count of CPUs"},
		{"procs,ops_per_s_or_ns\n1,3\n", ErrForeign, "no unit of ops_per_s_or_ns"},
		{"source,\"ma\nchine", ErrForeign, `quoted-field`},
		{header + "\n", nil, "f: the file has no rows of curves"},
		{header + "\ns,m,v,w,zero,1,ops/s,\n", ErrNoRow, `line 2: invalid procs "zero"`},
		{header + "\ns,m,v\ns,m,v,w,1,x,ops/s,\n", ErrNoRow, "no row can be used: record on line 2: wrong number of fields"},
		{"BenchmarkX-2 100 5 ns/op\n", nil, "f: no benchmark with two values of GOMAXPROCS: run sluice lab cpu-scaling, or go test -bench . -cpu 1,2,4"},
		{"BenchmarkX-2 1 5 B\nBenchmarkX 1 5 B", nil, "f: no benchmark with two"},
	} {
		curves, _, err := Read([]byte(tt.text), "f")
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) || len(curves) > 0 {
			t.Errorf("%q: %v, error %v, want one with %q", tt.text, curves, err, tt.says)
		}
	}
}

// A malformed row is skipped, with its line and the reason. The rows around it
// are read.
func TestReadSkips(t *testing.T) {
	const all = header + ",kind,design,cpus,domain\n"
	for _, tt := range []struct{ row, says string }{
		{"s,m,v,w", "wrong number of fields"},
		{`s,m,v,w,1,1,ops/s,a "quoted" word,,,,`, "quote"},
		{"s,m,v,w,0,1,ops/s,,,,,", `invalid procs "0" (want a number of CPUs, from 1 to 65536)`},
		{"s,m,v,w,999999999,1,ops/s,,,,,", `invalid procs "999999999"`},
		{"s,m,v,w,2.5,1,ops/s,,,,,", `invalid procs "2.5"`},
		{"s,m,v,w,1,-4,ops/s,,,,,", `ops_per_s_or_ns "-4" (want a positive number, such as 17.82)`},
		{"s,m,v,w,1,0,ops/s,,,,,", `ops_per_s_or_ns "0"`},
		{`s,m,v,w,1,"17,82",ops/s,,,,,`, `ops_per_s_or_ns "17,82"`},
		{"s,m,v,w,1,NaN,ops/s,,,,,", `ops_per_s_or_ns "NaN"`},
		{"s,m,v,w,1,inf,ops/s,,,,,", `ops_per_s_or_ns "inf"`},
		{"s,m,v,w,1,1e-310,ns/op,,,,,", `ops_per_s_or_ns "1e-310"`},
		{"s,m,v,w,1,4,µs,,,,,", `unknown unit "µs" (want ops/s or ns/op)`},
		{"s,m,v,w,1,4,ops/s,,graph,,,", `kind "graph"`},
		{"s,m,v,w,1,4,ops/s,,,,many,", `cpus "many"`},
		{"s,m,v,w,1,4,ops/s,,,,4,0", `domain "0"`},
	} {
		curves, skipped, err := Read([]byte(all+"s,m,v,w,1,10,ops/s,,,,,\n"+tt.row+"\ns,m,v,w,2,20,ops/s,,,,,\n"), "f")
		if err != nil || len(curves) != 1 || !slices.Equal(curves[0].Points, points(1, 10, 2, 20)) {
			t.Errorf("%s: %+v, %v", tt.row, curves, err)
		}
		if len(skipped) != 1 || !strings.Contains(skipped[0].Error(), "line 3") || !strings.Contains(skipped[0].Error(), tt.says) {
			t.Errorf("%s: skipped %v, want %q", tt.row, skipped, tt.says)
		}
	}
}

// results has the lab's format: repetitions, with GOMAXPROCS at the end of the
// name unless it is 1. So has the output of go test -bench.
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

func TestReadBenchmarks(t *testing.T) {
	all, skipped, err := Read([]byte(results), "results.txt")
	if err != nil || len(all) != 2 || len(skipped) != 1 || !strings.HasPrefix(skipped[0].Error(), "line 17: ") {
		t.Fatalf("%+v, skipped %v, %v: want the two that have a curve", all, skipped, err)
	}
	native, err := Choose(all, "native")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range points(1, 1e9/50, 2, 1e9/100, 8, 1e9/200) {
		if c := native.Points[i]; c.Procs != want.Procs || !closeTo(c.X, want.X, 1e-9) {
			t.Errorf("count %d: %+v, want %+v", i, c, want)
		}
	}
	if first := native.Points[0]; first.N != 3 || !closeTo(first.Lo, 1e9/60, 1e-9) || !closeTo(first.Hi, 1e9/40, 1e-9) {
		t.Errorf("repetitions of one CPU: %+v", first)
	}
	if native.Machine != "Some Xeon linux/amd64" || native.Version != "Go 1.26.8" || native.Workload != native.Name {
		t.Errorf("%+v", native)
	}
	native.Limit(2)
	if !slices.Equal(native.Above, []int{8}) || len(native.Points) != 2 {
		t.Errorf("above 2 CPUs are %v, left is %+v", native.Above, native)
	}
}

// The built-in curves are as published: the test checks some values, and
// properties of all.
func TestPublished(t *testing.T) {
	for _, tt := range []struct {
		machine, workload, version string
		procs                      int
		ns                         float64
	}{
		{"i7-13700H", "MutexContention", "1.24 (spinbit", 20, 24.75},
		{"i7-13700H", "MutexContention", "1.23 (tristate", 20, 153.3},
		{"Graviton2 64", "ChanProdConsWork100", "Go 1.19.3", 64, 832},
		{"Graviton2 64", "MapOf, 100% loads", "Go 1.19.3", 64, 0.38},
		{"80-core", "LFChan", "Go 1.6", 80, 3196},
	} {
		i := slices.IndexFunc(Published(), func(c Curve) bool {
			return strings.Contains(c.Machine, tt.machine) && strings.Contains(c.Workload, tt.workload) && strings.Contains(c.Version, tt.version)
		})
		if i < 0 {
			t.Fatalf("no curve of %s on %s with %s", tt.workload, tt.machine, tt.version)
		}
		if last := Published()[i].Points[len(Published()[i].Points)-1]; last.Procs != tt.procs || !closeTo(1e9/last.X, tt.ns, 1e-2) {
			t.Errorf("%s, %s: %v ns on %d CPUs, want %v on %d", tt.machine, tt.workload, 1e9/last.X, last.Procs, tt.ns, tt.procs)
		}
	}
	kinds := map[Kind]int{}
	for _, c := range Published() {
		kinds[c.Kind]++
		if c.Source == "" || c.Machine == "" || c.Version == "" || c.Workload == "" || len(c.Points) < MinCounts || len(c.Above) > 0 {
			t.Errorf("%+v is incomplete", c)
		}
	}
	if kinds[Shared] < 100 || kinds[Sharded] < 50 {
		t.Errorf("%v: too few of a kind", kinds)
	}
}
