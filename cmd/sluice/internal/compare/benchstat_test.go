package compare

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// shapes are the cases in which two tools may disagree: the values of a point
// in OLD and in NEW, or nil.
func shapes() []struct {
	line
	is []float64
} {
	random := rand.New(rand.NewPCG(5, 6))
	whole := func(center float64, n int) []float64 { // with many ties
		values := drawn(random, center, n)
		for i := range values {
			values[i] = float64(int(values[i]))
		}
		return values
	}
	return []struct {
		line
		is []float64
	}{
		{line{"Elastic/sweep=procs/contender=slower-2", "ns/op", drawn(random, 100, 10)}, drawn(random, 120, 10)},
		{line{"Elastic/sweep=procs/contender=faster-2", "ns/op", drawn(random, 100, 10)}, drawn(random, 80, 10)},
		{line{"Elastic/sweep=procs/contender=noise-2", "ns/op", drawn(random, 100, 10)}, drawn(random, 100, 10)},
		{line{"Elastic/sweep=procs/contender=noisy-2", "ns/op", drawn(random, 100, 10)}, drawn(random, 102, 10)},
		{line{"Elastic/sweep=procs/contender=milliseconds-2", "ns/op", drawn(random, 3e6, 6)}, drawn(random, 3.3e6, 6)},
		{line{"Elastic/sweep=procs/contender=ties-2", "ns/op", whole(20, 8)}, whole(21, 8)},
		{line{"Elastic/sweep=procs/contender=equal-2", "ns/op", []float64{5, 5, 5, 5}}, []float64{5, 5, 5, 5}},
		{line{"Elastic/sweep=procs/contender=shifted-2", "ns/op", []float64{5, 5, 5, 5, 5, 5, 5, 9, 9, 9, 9, 9}}, []float64{1, 1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 5, 5}},
		{line{"Elastic/sweep=procs/contender=one-2", "ns/op", drawn(random, 100, 1)}, drawn(random, 300, 1)},
		{line{"Elastic/sweep=procs/contender=three-2", "ns/op", drawn(random, 100, 3)}, drawn(random, 300, 3)},
		{line{"Elastic/sweep=procs/contender=uneven-2", "ns/op", drawn(random, 100, 6)}, drawn(random, 120, 9)},
		{line{"Elastic/sweep=procs/contender=many", "ns/op", drawn(random, 100, 60)}, drawn(random, 103, 60)},
		{line{"Elastic/sweep=procs/contender=gone-2", "ns/op", drawn(random, 100, 6)}, nil},
		{line{"Elastic/sweep=procs/contender=new-2", "ns/op", nil}, drawn(random, 100, 6)},
		{line{"Elastic/sweep=memory/contender=a", "B/op-peak", whole(5000, 6)}, whole(9000, 6)},
		{line{"Elastic/sweep=memory/contender=b", "B/op-peak", whole(5000, 2)}, whole(9000, 2)},
		{line{"Elastic/sweep=memory/contender=a", "allocs/op", []float64{0, 0, 0, 0, 0, 0}}, []float64{1, 1, 1, 1, 1, 1}},
		{line{"Elastic/sweep=rate/contender=a", "MB/s", drawn(random, 70, 9)}, drawn(random, 60, 9)},
		{line{"Elastic/sweep=rate/contender=a", "M/s", drawn(random, 70, 9)}, drawn(random, 90, 9)},
		{line{"Elastic/sweep=rate/contender=a", "widgets", drawn(random, 70, 9)}, drawn(random, 90, 9)},
		{line{"Elastic/sweep=rate/contender=a", "exactly", []float64{3}}, []float64{4}},
		{line{"Elastic/sweep=rate/contender=b", "exactly", []float64{3, 3, 3}}, []float64{3, 3, 3}},
	}
}

// twoFiles writes the shapes in two experiments, and some in a package.
func twoFiles(t *testing.T) (oldPath, newPath string) {
	t.Helper()
	var was, is []line
	for _, s := range shapes() {
		was = append(was, s.line)
		is = append(is, line{s.name, s.unit, s.is})
	}
	units := "Unit exactly assume=exact\nUnit widgets better=higher\n"
	whole := func(header string, lines []line) string {
		return units + run(header, lines...) + run("experiment: direct-send\n", lines[:5]...) +
			run("experiment:\npkg: example.com/a\n", lines[2:9]...)
	}
	later := strings.NewReplacer("2026", "2027", "go1.26.8", "go1.27.0").Replace(header + "noise: 1%\n")
	return write(t, whole(header+"noise: 3%\n", was), whole(later, is))
}

// A judged point has the compared results, as text.
type judged struct {
	wasMedian, wasRange, isMedian, isRange, delta, p string
}

// benchstat runs benchstat, in the version of go.mod, on two files. It returns
// the points, and the geometric mean of each table.
func benchstat(t *testing.T, oldPath, newPath string, alpha float64) (points map[Key]judged, means map[Key]string) {
	t.Helper()
	suite.Needs(t, "benchstat, which it builds")
	var stdout, stderr bytes.Buffer
	command := exec.Command("go", "tool", "benchstat", "-table", "pkg,experiment", "-format", "csv",
		"-alpha", fmt.Sprint(alpha), oldPath, newPath)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	points, means = map[Key]judged{}, map[Key]string{}
	var of Key
	for text := range strings.SplitSeq(stdout.String(), "\n") {
		if heading, value, ok := strings.Cut(text, ": "); ok {
			switch heading {
			case packageKey:
				of.Package = value
			case experimentKey:
				of.Experiment = value
			}
			continue
		}
		row, err := csv.NewReader(strings.NewReader(text)).Read()
		if err != nil || len(row) < 7 {
			continue // between tables, or a table of one file
		}
		of.Name = row[0]
		switch {
		case row[0] == "" && row[2] == "CI":
			of.Unit = row[1]
		case row[0] == "geomean":
			mean := of
			mean.Name = ""
			means[mean] = row[5]
		case row[0] != "" && row[1] != "" && row[3] != "":
			points[of] = judged{row[1], row[2], row[3], row[4], row[5], row[6]}
		}
	}
	return points, means
}

// ours returns this package's results in the same form.
func ours(points []*Point) map[Key]judged {
	all := map[Key]judged{}
	for _, p := range points {
		significance := ""
		if !p.Exact {
			significance = fmt.Sprintf("p=%.3f ", p.P)
		}
		significance += fmt.Sprint("n=", p.Old.N)
		if p.New.N != p.Old.N {
			significance += fmt.Sprint("+", p.New.N)
		}
		all[p.Key] = judged{
			strconv.FormatFloat(p.Old.Median, 'g', -1, 64), p.Old.Range,
			strconv.FormatFloat(p.New.Median, 'g', -1, 64), p.New.Range,
			p.Delta, significance,
		}
	}
	return all
}

// disagreements compares the results of two tools, point by point.
func disagreements(ours, theirs map[Key]judged) (all []string) {
	for key, our := range ours {
		if their, ok := theirs[key]; !ok {
			all = append(all, fmt.Sprintf("%v: only we have it", key))
		} else if our != their {
			all = append(all, fmt.Sprintf("%v: %q here, %q in benchstat", key, our, their))
		}
	}
	for key := range theirs {
		if _, ok := ours[key]; !ok {
			all = append(all, fmt.Sprintf("%v: only benchstat has it", key))
		}
	}
	return all
}

// TestBenchstatAgrees compares every point with the real benchstat: medians,
// intervals, "~" or the percentage, p and n, and the geometric means.
func TestBenchstatAgrees(t *testing.T) {
	oldPath, newPath := twoFiles(t)
	for _, alpha := range []float64{0.05, 0.5, 0.0001} {
		t.Run(fmt.Sprint(alpha), func(t *testing.T) {
			c, err := Files(oldPath, newPath, Options{Alpha: alpha, Threshold: 0.05})
			if err != nil {
				t.Fatal(err)
			}
			theirs, means := benchstat(t, oldPath, newPath, alpha)
			if len(theirs) < 28 {
				t.Fatalf("benchstat has %d points only", len(theirs))
			}
			for _, wrong := range disagreements(ours(c.Points), theirs) {
				t.Error(wrong)
			}
			if alpha == 0.05 {
				allShapes(t, c.Points)
			}
			sameMeans(t, c.Points, means)
		})
	}
}

// allShapes checks that the shapes match their names.
func allShapes(t *testing.T, points []*Point) {
	t.Helper()
	seen := map[string]int{}
	for _, p := range points {
		kind := p.Delta
		if strings.ContainsAny(kind, "+-") {
			kind = kind[:1]
		}
		seen[kind]++
		seen["range "+p.Old.Range]++
		seen[string(p.Verdict)]++
	}
	for _, kind := range []string{"~", "+", "-", "0.00%", "?", "range ∞", "range 0%", string(Worse), string(Better), string(TooFew)} {
		if seen[kind] == 0 {
			t.Errorf("no point is %s: %v", kind, seen)
		}
	}
}

// sameMeans compares the geometric means of the tables that have one.
func sameMeans(t *testing.T, points []*Point, means map[Key]string) {
	t.Helper()
	tables := map[Key][]*Point{}
	for _, p := range points {
		of := p.Key
		of.Name = ""
		tables[of] = append(tables[of], p)
	}
	compared := 0
	for of, mean := range means {
		if mean == "" || mean == "?" {
			continue
		}
		compared++
		if got := fmt.Sprintf("%+.2f%%", 100*float64(tally(of.Unit, tables[of]).Geomean)); got != mean {
			t.Errorf("%v: geometric mean %s, benchstat has %s", of, got, mean)
		}
	}
	if compared < 4 {
		t.Errorf("compared %d geometric means of %d", compared, len(means))
	}
}

// Each disagreement is found.
func TestDisagreementIsSeen(t *testing.T) {
	oldPath, newPath := twoFiles(t)
	theirs, _ := benchstat(t, oldPath, newPath, 0.05)
	at := func(change func(*Point)) []*Point {
		c, err := Files(oldPath, newPath, Defaults)
		if err != nil {
			t.Fatal(err)
		}
		change(c.Points[1])
		return c.Points
	}
	planted := map[string][]*Point{
		"a median":      at(func(p *Point) { p.New.Median *= 1.0000001 }),
		"an interval":   at(func(p *Point) { p.Old.Range = "99%" }),
		"noise":         at(func(p *Point) { p.Delta = "~" }),
		"a percentage":  at(func(p *Point) { p.Delta = "-20.00%" }),
		"a p":           at(func(p *Point) { p.P += 0.001 }),
		"a count":       at(func(p *Point) { p.Old.N++ }),
		"a point less":  slices.Delete(at(func(*Point) {}), 1, 2),
		"a point more":  append(at(func(*Point) {}), new(Point)),
		"a better unit": at(func(p *Point) { p.Unit = "ns/op" }),
	}
	for name, points := range planted {
		want := 1
		if name == "a better unit" {
			want = 2 // one additional point, and one missing
		}
		if got := disagreements(ours(points), theirs); len(got) != want {
			t.Errorf("%s: got %q, want %d disagreements", name, got, want)
		}
	}
	// A test at another level disagrees, too.
	if got := disagreements(ours(at(func(*Point) {})), first(benchstat(t, oldPath, newPath, 0.9))); len(got) == 0 {
		t.Error("benchstat at another level agrees")
	}
}

func first(points map[Key]judged, _ map[Key]string) map[Key]judged { return points }
