package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// A line is a benchmark with its repetitions in Go's format.
type line struct {
	name, unit string
	values     []float64
}

// header has the lab's settings of an experiment.
const header = "goos: linux\ngoarch: amd64\ncpu: abacus\ngo: go1.26.8\ndate: 2026-11-21T12:00:00Z\nexperiment: elastic\n\n"

// later has the settings of a later run.
var later = strings.Replace(header, "12:00:00", "12:03:00", 1)

// run returns a file.
func run(header string, lines ...line) string {
	var b strings.Builder
	b.WriteString(header)
	for _, l := range lines {
		for _, v := range l.values {
			fmt.Fprintf(&b, "Benchmark%s 100 %v %s\n", l.name, v, l.unit)
		}
	}
	return b.String()
}

// write makes files old.txt and new.txt.
func write(t *testing.T, was, is string) (oldPath, newPath string) {
	t.Helper()
	dir := t.TempDir()
	oldPath, newPath = filepath.Join(dir, "old.txt"), filepath.Join(dir, "new.txt")
	for path, text := range map[string]string{oldPath: was, newPath: is} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return oldPath, newPath
}

// compared compares two texts.
func compared(t *testing.T, was, is string, o Options) *Comparison {
	t.Helper()
	oldPath, newPath := write(t, was, is)
	c, err := Files(oldPath, newPath, o)
	if err != nil {
		t.Fatal(err)
	}
	// The result must not depend on where the test runs.
	c.Old.Path, c.New.Path = "old", "new"
	return c
}

// around returns n values around the center, the first half below it.
func around(center float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = center * (1 + 0.01*(float64(i)-float64(n-1)/2)/float64(n))
	}
	return values
}

// one compares a single point.
func one(t *testing.T, name, unit string, was, is []float64) *Point {
	t.Helper()
	c := compared(t, run(header, line{name, unit, was}), run(later, line{name, unit, is}), Defaults)
	if len(c.Points) != 1 {
		t.Fatalf("%d points", len(c.Points))
	}
	return c.Points[0]
}

func TestVerdict(t *testing.T) {
	high, low := around(120, 9), around(100, 9)
	tests := []struct {
		name       string
		unit       string
		was, is    []float64
		want       Verdict
		regression bool
	}{
		{"a longer time", "ns/op", low, high, Worse, true},
		{"a shorter time", "ns/op", high, low, Better, false},
		{"a longer time by less than the threshold", "ns/op", low, around(103, 9), Worse, false},
		{"more bytes", "B/op", low, high, Worse, true},
		{"more bytes at the peak", "B/op-peak", low, high, Worse, true},
		{"more bytes in all", "B-drained", low, high, Worse, true},
		{"a rate that grew", "ops/s", low, high, Better, false},
		{"a rate that fell", "M/s", high, low, Worse, true},
		{"megabytes a second", "MB/s", high, low, Worse, true},
		{"nobody knows", "widgets", low, high, Higher, false},
		{"nobody knows either", "widgets", high, low, Lower, false},
		{"noise", "ns/op", low, slices.Concat(around(99, 5), around(101, 4)), Same, false},
		{"the same values", "ns/op", low, low, Same, false},
		{"nothing on both sides", "allocs/op", make([]float64, 6), make([]float64, 6), Same, false},
		{"something from nothing", "allocs/op", make([]float64, 6), around(1, 6), Worse, true},
		{"three of each cannot tell", "ns/op", low[:3], high[:3], TooFew, false},
		{"one against many can", "ns/op", low[:1], around(120, 40), Worse, true},
		{"the same median, spread otherwise", "ns/op",
			[]float64{5, 5, 5, 5, 5, 5, 5, 9, 9, 9, 9, 9}, []float64{1, 1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 5, 5}, Same, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := one(t, "Elastic/contender=native", tt.unit, tt.was, tt.is)
			if p.Verdict != tt.want || p.Regression != tt.regression {
				t.Errorf("verdict %q, regression %v (%s, p=%.3f), want %q, %v", p.Verdict, p.Regression, p.Delta, p.P, tt.want, tt.regression)
			}
		})
	}
}

func TestUnitMetadata(t *testing.T) {
	lines := func(v float64) line { return line{"Elastic", "values/s", around(v, 9)} }
	declared := func(better string) Verdict {
		unit := "Unit values/s better=" + better + "\n"
		return compared(t, header+unit+run("", lines(100)), later+run("", lines(120)), Defaults).Points[0].Verdict
	}
	for better, want := range map[string]Verdict{"higher": Better, "lower": Worse, "sideways": Higher} {
		if got := declared(better); got != want {
			t.Errorf("better=%s: verdict %q, want %q", better, got, want)
		}
	}
}

// A file may reverse the direction of a known unit.
func TestUnitMetadataComesFirst(t *testing.T) {
	c := compared(t, header+"Unit ns/op better=higher\n"+run("", line{"Elastic", "ns/op", around(100, 9)}),
		run(later, line{"Elastic", "ns/op", around(120, 9)}), Defaults)
	if got := c.Points[0].Verdict; got != Better {
		t.Errorf("verdict %q, want %q", got, Better)
	}
}

func TestExactUnit(t *testing.T) {
	file := func(header string, v float64) string {
		return header + "Unit B-drained assume=exact\n" + run("", line{"Elastic", "B-drained", []float64{v}})
	}
	for v, want := range map[float64]bool{200: true, 101: false, 50: false} {
		c := compared(t, file(header, 100), file(later, v), Defaults)
		p := c.Points[0]
		if p.Regression != want || !p.Exact || p.Verdict == Same || p.Verdict == TooFew {
			t.Errorf("100 -> %v: %+v, want regression %v", v, p, want)
		}
		if c.Decision.Tested != 1 || len(c.Decision.Noise) != 0 || (c.Decision.Outcome == Failed) != want {
			t.Errorf("100 -> %v: decision %+v: one repetition decides, and is tested with no other", v, c.Decision)
		}
	}
}

func TestLeastP(t *testing.T) {
	// The two orders in which samples do not overlap, of all orders.
	for _, tt := range []struct {
		n1, n2 int
		orders float64 // n1+n2 choose n1
	}{{1, 1, 2}, {3, 3, 20}, {4, 4, 70}, {6, 6, 924}, {6, 9, 5005}} {
		if got, want := testOf(tt.n1, tt.n2).least, 2/tt.orders; math.Abs(got-want) > 1e-12 {
			t.Errorf("the least p of %d and %d is %v, want %v", tt.n1, tt.n2, got, want)
		}
	}
}

// The interval of a change has 1 in it if the test does not reject that nothing changed,
// and holds the true change at least as often as it promises.
func TestInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	const times = 2000
	covered := 0
	for range times {
		was, is := drawn(random, 100, 5+random.IntN(8)), drawn(random, 120, 5+random.IntN(8))
		p := newPoint(Key{Unit: "sec/op"}, &[2][]float64{was, is}, benchfmt.UnitMetadataMap{}, Defaults.Alpha)
		lo, hi := p.Interval[0], p.Interval[1]
		if none := lo <= 0 && 0 <= hi; none != (p.P > 0.05) {
			t.Errorf("%v to %v with p=%.3f", lo, hi, p.P)
		}
		if lo <= 0.2 && 0.2 <= hi {
			covered++
		}
	}
	if covered < times*94/100 {
		t.Errorf("%d of %d intervals cover the change", covered, times)
	}
	for name, sample := range map[string][]float64{"too few": {1, 1, 1}, "a zero": {0, 1, 1, 1, 1, 1}} {
		if got := interval(sample, sample); got[0].finite() || got[1].finite() {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := interval(around(48, 70), around(96, 90)); math.Abs(float64(got[0])-1) > 0.01 || math.Abs(float64(got[1])-1) > 0.01 {
		t.Errorf("of twice as much: %v", got)
	}
}

func TestLabel(t *testing.T) {
	for want, key := range map[string]Key{
		"elastic/procs/n=5000/native_N_slots-2":        {Experiment: "elastic", Name: "Elastic/sweep=procs/work=procs/n=5000/contender=native_N_slots-2"},
		"elastic/procs/work=seq/sluice.Elastic":        {Experiment: "elastic", Name: "Elastic/sweep=procs/work=seq/contender=sluice.Elastic"},
		"Elastic-2":                                    {Experiment: "elastic", Name: "Elastic-2"},
		"Encode/format=json-48":                        {Name: "Encode/format=json-48"},
		"example.com/q.Encode/work=a/contender=json-8": {Package: "example.com/q", Name: "Encode/work=a/contender=json-8"},
	} {
		if got := (&Comparison{packages: true}).label(key); got != want {
			t.Errorf("%+v: %q, want %q", key, got, want)
		}
	}
}

// The points of a comparison are grouped by unit.
func TestGrouped(t *testing.T) {
	file := func(header string) string {
		return header + "BenchmarkE/x 1 10 ns/op 20 B/op\nBenchmarkE/y 1 10 ns/op 20 B/op\nBenchmarkE/x 1 3 allocs/op\n"
	}
	var got []string
	for _, p := range compared(t, file(header), file(later), Defaults).Points {
		got = append(got, p.Unit+" "+p.Name)
	}
	if want := []string{"sec/op E/x", "sec/op E/y", "B/op E/x", "B/op E/y", "allocs/op E/x"}; !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}

func TestOnlyInOne(t *testing.T) {
	shared := line{"E/contender=shared", "ns/op", around(10, 6)}
	c := compared(t, run(header, shared, line{"E/contender=gone", "ns/op", around(10, 6)}),
		run(later, line{"E/contender=new", "ns/op", around(10, 6)}, shared, line{"E/contender=shared", "B/op", around(10, 6)}), Defaults)
	if len(c.Points) != 1 || c.Points[0].Name != shared.name || c.Points[0].Unit != "sec/op" {
		t.Errorf("points %+v", c.Points)
	}
	names := func(keys []Key) (all []string) {
		for _, k := range keys {
			all = append(all, k.Name+" "+k.Unit)
		}
		return all
	}
	if got := names(c.OnlyOld); !slices.Equal(got, []string{"E/contender=gone sec/op"}) {
		t.Errorf("only in OLD: %q", got)
	}
	if got := names(c.OnlyNew); !slices.Equal(got, []string{"E/contender=new sec/op", "E/contender=shared B/op"}) {
		t.Errorf("only in NEW: %q", got)
	}
}

// The same name in two packages is two points.
func TestPackages(t *testing.T) {
	file := func(header string, a, b float64) string {
		return header + "pkg: a\n" + run("", line{"X", "ns/op", around(a, 6)}) + "pkg: b\n" + run("", line{"X", "ns/op", around(b, 6)})
	}
	c := compared(t, file("", 10, 10), file("", 10, 20), Defaults)
	if len(c.Points) != 2 || c.Points[0].Verdict != Same || c.Points[1].Verdict != Worse || c.Points[1].Package != "b" {
		t.Errorf("points %+v", c.Points)
	}
}

// A repetition of 0 belongs to the others, whose unit was converted.
func TestZero(t *testing.T) {
	p := one(t, "Elastic", "ns/op", []float64{0, 10, 10, 10}, []float64{10, 0, 10, 10, 10})
	if p.Old.N != 4 || p.New.N != 5 || p.Unit != "sec/op" {
		t.Errorf("%d and %d values in %s", p.Old.N, p.New.N, p.Unit)
	}
}

func TestGeomean(t *testing.T) {
	file := func(header string, values ...float64) string {
		var lines []line
		for i, v := range values {
			lines = append(lines, line{fmt.Sprintf("E/n=%d", i), "ns/op", []float64{v}})
		}
		return run(header, lines...)
	}
	if got := float64(compared(t, file(header, 10, 10), file(later, 20, 45), Defaults).Units[0].Geomean); math.Abs(got-2) > 1e-9 {
		t.Errorf("of 2 and 4.5: %v, want 2", got)
	}
	for _, to := range []float64{0, -1} {
		if got := float64(compared(t, file(header, 10, 10), file(later, 20, to), Defaults).Units[0].Geomean); !math.IsNaN(got) {
			t.Errorf("to %v: %v, want none", to, got)
		}
	}
}

func TestDirectionOfUnknown(t *testing.T) {
	for unit, want := range map[string]int{
		"sec/op": -1, "sec/value": -1, "sec": -1, "B/op": -1, "allocs/op": -1, "B-drained": -1, "bytes/op": -1,
		"cpu-sec/op": -1, "delay-p50-sec": -1, "delay-p99-sec": -1, "delay-sec": -1,
		"blocked-send-sec/op": 0, "cpu-share": 0, "delayed": 0, "values/s": +1, "M/sec": +1, "B/s": +1, "widgets": 0, "second-hand": 0, "Boats": 0, "%": 0,
	} {
		if got := direction(unit, benchfmt.UnitMetadataMap{}); got != want {
			t.Errorf("direction of %s is %d, want %d", unit, got, want)
		}
	}
}
