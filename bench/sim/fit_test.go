package sim

import (
	"math"
	"os"
	"strings"
	"testing"
)

const header = "source,machine,version,workload,procs,ops_per_s_or_ns,unit,note,kind,design,cpus,domain\n"

func TestReadCurves(t *testing.T) {
	curves, err := ReadCurves(strings.NewReader(header +
		"a,m,C,atomic add,2,50000000,ops/s,,curve,FAA,2,2\n" +
		"a,m,C,atomic add,1,6.1,ns/op,,curve,FAA,2,2\n" +
		"a,m,C,atomic add,4,17,ns/op,more threads than CPUs,curve,FAA,2,2\n" +
		"a,m,C,latency,2,105,ns,,other,,,\n"))
	if err != nil || len(curves) != 1 {
		t.Fatalf("%d curves: %v", len(curves), err)
	}
	if c := curves[0]; c.Domain != 2 || len(c.Points) != 2 || c.Points[0] != (Point{1, 6.1}) || c.Points[1] != (Point{2, 20}) {
		t.Errorf("%+v", c)
	}
	for _, bad := range []string{"", header + "a,m,C,w,many,1,ns/op,,curve,FAA,2,2\n", header + "a,m,C,w,1,fast,ns/op,,curve,FAA,2,2\n", header + "a\n"} {
		if _, err := ReadCurves(strings.NewReader(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestFitFindsTheMachine: from curves that the model itself has made, the fit finds the
// machine, and predicts each curve from the others.
func TestFitFindsTheMachine(t *testing.T) {
	truth := Machine{Domain: 4, Near: 27, Far: 54}
	var curves []*Curve
	for _, workload := range []string{"atomic add", "cas add", "ticket spin"} {
		c := &Curve{Machine: "m", Version: "C++", Workload: workload, Domain: 4}
		_, programs := programsOf(c)
		for _, cpus := range []int{1, 2, 4, 8} {
			rate, err := total(truth, programs(cpus, 5), 1e5)
			if err != nil {
				t.Fatal(err)
			}
			c.Points = append(c.Points, Point{cpus, 1 / rate})
		}
		curves = append(curves, c)
	}
	curves = append(curves, &Curve{Machine: "m", Workload: "unheard of", Points: []Point{{1, 1}, {2, 2}}},
		&Curve{Machine: "alone", Workload: "atomic add", Points: []Point{{1, 9}, {2, 9}}})
	hosts, err := Fit(curves)
	if err != nil || len(hosts) != 1 {
		t.Fatalf("%d hosts: %v", len(hosts), err)
	}
	h := hosts[0]
	if h.Best != truth || len(h.Scores) != 3 || len(h.Skipped) != 1 {
		t.Errorf("%v: %d scores, %d skipped", h.Best, len(h.Scores), len(h.Skipped))
	}
	for _, s := range h.Scores {
		if s.Machine != truth || s.Factor > 1.1 {
			t.Errorf("%s: %v, wrong by %.2f", s.Design, s.Machine, s.Factor)
		}
	}
	for _, factor := range h.Pairs {
		if factor > 1.2 {
			t.Errorf("a ratio of two curves is wrong by %.2f", factor)
		}
	}
}

// TestPublished: on one published machine, fetch-and-add, compare-and-swap and spinning
// locks follow from the other curves.
func TestPublished(t *testing.T) {
	f, err := os.Open("../../cmd/sluice/internal/predict/published.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	curves, err := ReadCurves(f)
	if err != nil {
		t.Fatal(err)
	}
	var laptop []*Curve
	for _, c := range curves {
		if strings.HasPrefix(c.Machine, "Ice Lake") {
			laptop = append(laptop, c)
		}
	}
	hosts, err := Fit(laptop)
	if err != nil || len(hosts) != 1 {
		t.Fatalf("%d hosts: %v", len(hosts), err)
	}
	for _, s := range hosts[0].Scores {
		if s.Design != "sleeping lock" && s.Factor > 1.5 {
			t.Errorf("%s is wrong by %.2f", s.Design, s.Factor)
		}
	}
}

func TestQuantile(t *testing.T) {
	if q := Quantile([]float64{3, 1, 2}, 0.5); q != 2 {
		t.Errorf("the median of 3, 1, 2 is %v", q)
	}
	if q := Quantile(nil, 0.5); !math.IsNaN(q) {
		t.Errorf("the median of nothing is %v", q)
	}
}
