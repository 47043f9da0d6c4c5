package predict

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const header = "source,machine,version,workload,procs,ops_per_s_or_ns,unit,note"

func TestReadCurves(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Point
		kind       Kind
	}{
		{"both units", header + "\ns,m,v,w,2,100,ns/op,\ns,m,v,w,1,5e6,ops/s,\n", []Point{{1, 5e6}, {2, 1e7}}, Shared},
		{"the median of one count", header + "\ns,m,v,w,1,10,ops/s,\ns,m,v,w,1,30,ops/s,\ns,m,v,w,1,11,ops/s,\n", []Point{{1, 11}}, Shared},
		{"more Ps than CPUs", header + ",cpus\ns,m,v,w,1,10,ops/s,,2\ns,m,v,w,2,20,ops/s,,2\ns,m,v,w,3,5,ops/s,,2\n", []Point{{1, 10}, {2, 20}}, Shared},
		{"rows that are not curves", header + ",kind\nx,m,v,w,max,9.8,ratio,,other\ns,m,v,w,4,10,ops/s,,sharded\n", []Point{{4, 10}}, Sharded},
		{"a byte order mark and CRLF", "\ufeff" + header + "\r\ns,m,v,w,1,10,ops/s,\r\n", []Point{{1, 10}}, Shared},
		{"spaces", header + "\n s , m , v , w , 1 , 10 , ops/s ,\n", []Point{{1, 10}}, Shared},
		{"columns in another order", "kind,unit,ops_per_s_or_ns,procs,workload,version,machine,source,note\ncurve,ops/s,7,3,w,v,m,s,n\n", []Point{{3, 7}}, Shared},
	}
	for _, tt := range tests {
		curves, skipped, err := ReadCurves(strings.NewReader(tt.text))
		if err != nil || len(curves) != 1 || len(skipped) > 0 {
			t.Errorf("%s: %d curves, skipped %v, %v", tt.name, len(curves), skipped, err)
			continue
		}
		c := curves[0]
		if !slices.Equal(c.Points, tt.want) || c.Kind != tt.kind || c.Source != "s" || c.Machine != "m" || c.Version != "v" || c.Workload != "w" {
			t.Errorf("%s: %+v, want %v, %s", tt.name, c, tt.want, tt.kind)
		}
	}
}

// Counts above the CPUs are separated; a curve with no other counts is skipped.
func TestReadCurvesAbove(t *testing.T) {
	curves, _, err := ReadCurves(strings.NewReader(header + ",cpus\ns,m,v,w,1,10,ops/s,,2\ns,m,v,w,4,5,ops/s,,2\ns,n,v,w,4,5,ops/s,,2\n"))
	if err != nil || len(curves) != 1 || !slices.Equal(curves[0].Above, []int{4}) {
		t.Errorf("%+v, %v", curves, err)
	}
}

// Source, machine, version and workload identify a curve.
func TestReadCurvesApart(t *testing.T) {
	text := header + "\na,m,v,w,1,1,ops/s,\nb,m,v,w,1,1,ops/s,\na,n,v,w,1,1,ops/s,\na,m,u,w,1,1,ops/s,\na,m,v,x,1,1,ops/s,\na,m,v,w,2,1,ops/s,other note\n"
	curves, _, err := ReadCurves(strings.NewReader(text))
	if err != nil || len(curves) != 5 || len(curves[0].Points) != 2 {
		t.Errorf("%+v, %v: want 5 curves, the first with 2 points", curves, err)
	}
}

func TestReadCurvesRefuses(t *testing.T) {
	tests := []struct {
		text string
		is   error
		says string
	}{
		{"", ErrForeign, "it is empty"},
		{"name,age\nx,3\n", ErrForeign, `no column "source"`},
		{"source;machine;version;workload;procs\n", ErrForeign, "separated by ';' (want ',')"},
		{"source,\"ma\nchine", ErrForeign, `quoted-field`},
		{header + "\ns,m,v,w,zero,1,ops/s,\n", ErrNoRow, `line 2: invalid procs "zero"`},
		{header + "\ns,m,v\ns,m,v,w,1,x,ops/s,\n", ErrNoRow, "2 of 2: line 2: 3 fields (want 8, as in the first line)"},
	}
	for _, tt := range tests {
		curves, _, err := ReadCurves(strings.NewReader(tt.text))
		if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) || len(curves) > 0 {
			t.Errorf("%q: %v, error %v, want one with %q", tt.text, curves, err, tt.says)
		}
	}
}

// A malformed row is skipped, with its line and the reason. The rows around it
// are read.
func TestReadCurvesSkips(t *testing.T) {
	const all = header + ",kind,design,cpus,domain\n"
	for _, tt := range []struct{ row, says string }{
		{"s,m,v,w", "4 fields (want 12, as in the first line)"},
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
		{"s,m,v,w,1,4,ops/s,,,magic,,", `unknown design "magic" (want one of sharded, FAA`},
		{"s,m,v,w,1,4,ops/s,,,,many,", `cpus "many"`},
		{"s,m,v,w,1,4,ops/s,,,,4,0", `domain "0"`},
	} {
		text := all + "s,m,v,w,1,10,ops/s,,,,,\n" + tt.row + "\ns,m,v,w,2,20,ops/s,,,,,\n"
		curves, skipped, err := ReadCurves(strings.NewReader(text))
		if err != nil || len(curves) != 1 || !slices.Equal(curves[0].Points, []Point{{1, 10}, {2, 20}}) {
			t.Errorf("%s: %+v, %v", tt.row, curves, err)
		}
		if len(skipped) != 1 || !strings.HasPrefix(skipped[0].String(), "line 3 skipped: ") || !strings.Contains(skipped[0].String(), tt.says) {
			t.Errorf("%s: skipped %v, want %q", tt.row, skipped, tt.says)
		}
	}
	// A file without rows has no curves, and nothing to skip.
	if curves, skipped, err := ReadCurves(strings.NewReader(header + "\n")); err != nil || len(curves)+len(skipped) > 0 {
		t.Errorf("a header alone: %v, %v, %v", curves, skipped, err)
	}
}

// The built-in curves are as published: the test checks some values, and
// properties of all.
func TestPublished(t *testing.T) {
	curves := Published()
	find := func(machine, workload, version string) Curve {
		t.Helper()
		for _, c := range curves {
			if strings.Contains(c.Machine, machine) && strings.Contains(c.Workload, workload) && strings.Contains(c.Version, version) {
				return c
			}
		}
		t.Fatalf("no curve of %s on %s with %s", workload, machine, version)
		return Curve{}
	}
	for _, tt := range []struct {
		machine, workload, version string
		procs                      int
		ns                         float64
	}{
		{"i7-13700H", "MutexContention", "1.24 (spinbit", 20, 24.75},
		{"i7-13700H", "MutexContention", "1.23 (tristate", 20, 153.3},
		{"Graviton2 64", "ChanProdConsWork100", "Go 1.19.3", 64, 832},
		{"80-core", "LFChan", "Go 1.6", 80, 3196},
	} {
		c := find(tt.machine, tt.workload, tt.version)
		last := c.Points[len(c.Points)-1]
		if last.Procs != tt.procs || !closeTo(1e9/last.X, tt.ns, 1e-9) {
			t.Errorf("%s, %s: %v ns on %d CPUs, want %v on %d", tt.machine, tt.workload, 1e9/last.X, last.Procs, tt.ns, tt.procs)
		}
	}
	// 64 tasks on 12 CPUs are not a point of a curve.
	if c := find("i5-12500", "futex", "Swift"); c.Points[len(c.Points)-1].Procs != 8 {
		t.Errorf("%+v goes beyond its 12 CPUs", c)
	}
	for _, c := range curves {
		if c.Source == "" || c.Machine == "" || c.Version == "" || c.Workload == "" || c.Kind == Other || c.Design == "" {
			t.Errorf("%+v is incomplete", c)
		}
		if strings.Contains(c.Workload, "ping-pong") || strings.Contains(c.Workload, "MutexHandoff") {
			t.Errorf("%+v is not a curve", c)
		}
	}
}
