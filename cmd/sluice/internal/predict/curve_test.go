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
		{"columns in another order", "kind,unit,ops_per_s_or_ns,procs,workload,version,machine,source,note\ncurve,ops/s,7,3,w,v,m,s,n\n", []Point{{3, 7}}, Shared},
	}
	for _, tt := range tests {
		curves, err := ReadCurves(strings.NewReader(tt.text))
		if err != nil || len(curves) != 1 {
			t.Errorf("%s: %d curves, %v", tt.name, len(curves), err)
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
	curves, err := ReadCurves(strings.NewReader(header + ",cpus\ns,m,v,w,1,10,ops/s,,2\ns,m,v,w,4,5,ops/s,,2\ns,n,v,w,4,5,ops/s,,2\n"))
	if err != nil || len(curves) != 1 || !slices.Equal(curves[0].Above, []int{4}) {
		t.Errorf("%+v, %v", curves, err)
	}
}

// Source, machine, version and workload identify a curve.
func TestReadCurvesApart(t *testing.T) {
	text := header + "\na,m,v,w,1,1,ops/s,\nb,m,v,w,1,1,ops/s,\na,n,v,w,1,1,ops/s,\na,m,u,w,1,1,ops/s,\na,m,v,x,1,1,ops/s,\na,m,v,w,2,1,ops/s,other note\n"
	curves, err := ReadCurves(strings.NewReader(text))
	if err != nil || len(curves) != 5 || len(curves[0].Points) != 2 {
		t.Errorf("%+v, %v: want 5 curves, the first with 2 points", curves, err)
	}
}

func TestReadCurvesRefuses(t *testing.T) {
	const all = header + ",kind,design,cpus,domain\n"
	tests := []struct {
		text    string
		foreign bool
		says    string
	}{
		{"", true, "EOF"},
		{"name,age\nx,3\n", true, `no column "source"`},
		{header + "\ns,m,v\n", true, "wrong number of fields"},
		{header + "\ns,m,v,w,zero,1,ops/s,\n", false, `line 2: invalid procs "zero"`},
		{header + "\ns,m,v,w,1,1,ops/s,\ns,m,v,w,0,1,ops/s,\n", false, `line 3: invalid procs "0"`},
		{header + "\ns,m,v,w,1,-4,ops/s,\n", false, `ops_per_s_or_ns "-4" (want a positive number)`},
		{header + "\ns,m,v,w,1,inf,ops/s,\n", false, `ops_per_s_or_ns "inf" (want a positive number)`},
		{header + "\ns,m,v,w,1,4,µs,\n", false, `unknown unit "µs" (want ops/s or ns/op)`},
		{all + "s,m,v,w,1,4,ops/s,,graph,,,\n", false, `kind "graph"`},
		{all + "s,m,v,w,1,4,ops/s,,,magic,,\n", false, `unknown design "magic" (want one of sharded, FAA`},
		{all + "s,m,v,w,1,4,ops/s,,,,many,\n", false, `cpus "many"`},
		{all + "s,m,v,w,1,4,ops/s,,,,4,0\n", false, `domain "0"`},
	}
	for _, tt := range tests {
		_, err := ReadCurves(strings.NewReader(tt.text))
		if err == nil || errors.Is(err, ErrForeign) != tt.foreign || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: error %v, want one with %q", tt.text, err, tt.says)
		}
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
		{"i7-13700H", "MutexContention", "spinbit (=1.24)", 20, 24.75},
		{"i7-13700H", "MutexContention", "tristate (=1.23)", 20, 153.3},
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
	if len(curves) < 100 {
		t.Errorf("%d curves", len(curves))
	}
}
