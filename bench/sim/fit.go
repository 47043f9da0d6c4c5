package sim

import (
	"cmp"
	"math"
	"slices"
)

// nears and fars are the transfer times that are tried: nanoseconds within a domain,
// and how many times as much from another one.
var (
	nears = []float64{5, 9, 16, 27, 45, 80}
	fars  = []float64{2, 4}
)

// fewestNs is how long a run lasts at least, and fewestOperations how many operations
// of the published measurement it has time for.
const (
	fewestNs         = 20e3
	fewestOperations = 300
)

// A trial is one curve with the model's result for each machine.
type trial struct {
	curve    *Curve
	design   string
	programs func(cores int, work float64) []Program
	points   []Point     // to be predicted
	start    *Point      // the point of one CPU, which sets the local work; or nil
	ns       [][]float64 // for each machine, for each point
	errors   []float64   // for each machine: see distance
}

// machines returns the machines to try for a host.
func machines(domain int, apart bool) []Machine {
	var all []Machine
	for _, near := range nears {
		for _, far := range fars {
			if apart || far == fars[0] {
				all = append(all, Machine{Domain: domain, Near: near, Far: near * far})
			}
		}
	}
	return all
}

// defaultWork is the local work of a curve that has no point for one CPU.
const defaultWork = 5

// newTrial returns nil if there is no program for the curve, or nothing to predict.
func newTrial(c *Curve) *trial {
	t := &trial{curve: c}
	t.design, t.programs = programsOf(c)
	t.points = thin(c.Points)
	if len(t.points) > 0 && t.points[0].CPUs == 1 {
		t.start, t.points = &t.points[0], t.points[1:]
	}
	if t.programs == nil || len(t.points) == 0 {
		return nil
	}
	return t
}

// run simulates the curve on a machine.
func (t *trial) run(m Machine) ([]float64, error) {
	work := defaultWork + 0.0
	if t.start != nil {
		work = t.localWork()
	}
	ns := make([]float64, len(t.points))
	for i, p := range t.points {
		rate, err := total(m, t.programs(p.CPUs, work), max(fewestNs, fewestOperations*p.Ns))
		if err != nil {
			return nil, err
		}
		ns[i] = 1 / rate
	}
	return ns, nil
}

// total is the rate of all cores together.
func total(m Machine, programs []Program, duration float64) (float64, error) {
	rates, err := Run(m, programs, duration)
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum, err
}

// localWork returns the work between two accesses with which one CPU takes as long as
// published, or 0 if that is shorter than the accesses alone.
func (t *trial) localWork() float64 {
	low, high := 0.0, 2*t.start.Ns
	for range 20 {
		work := (low + high) / 2
		rate, err := total(Machine{}, t.programs(1, work), 200*t.start.Ns)
		if err != nil || 1/rate > t.start.Ns {
			high = work
		} else {
			low = work
		}
	}
	return low
}

// distance is the mean of |log(simulated/published)| of a curve's points: 0.69 means a
// factor of two.
func (t *trial) distance(ns []float64) float64 {
	sum := 0.0
	for i, p := range t.points {
		sum += math.Abs(math.Log(ns[i] / p.Ns))
	}
	return min(sum/float64(len(t.points)), math.Log(1000))
}

// A Score is how wrong the model is on one curve, whose host's transfer times were
// fitted to the host's other curves only.
type Score struct {
	Curve   *Curve
	Design  string
	Machine Machine   // as fitted to the others
	Points  []Point   // published
	Ns      []float64 // predicted
	Factor  float64   // mean factor between the two
	Worst   float64   // largest factor
	Own     float64   // mean factor if the curve itself is fitted
}

// A Host is a machine with several published curves.
type Host struct {
	Name    string
	Scores  []Score
	Best    Machine   // of all curves
	Pairs   []float64 // see pairs
	Skipped []*Curve  // the model has no program for them
}

// Fit fits each host, and predicts each of its curves from the others. A host with a
// single curve has nothing to fit from and is left out.
func Fit(curves []*Curve) ([]Host, error) {
	var hosts []Host
	for _, group := range byHost(curves) {
		host := Host{Name: group[0].Host()}
		var trials []*trial
		for _, c := range group {
			if t := newTrial(c); t != nil {
				trials = append(trials, t)
			} else {
				host.Skipped = append(host.Skipped, c)
			}
		}
		if len(trials) < 2 {
			continue
		}
		if err := host.fit(trials); err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// byHost groups curves by their host, in order of appearance.
func byHost(curves []*Curve) [][]*Curve {
	var groups [][]*Curve
	for _, c := range curves {
		at := slices.IndexFunc(groups, func(g []*Curve) bool { return g[0].Host() == c.Host() })
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], c)
	}
	return groups
}

func (h *Host) fit(trials []*trial) error {
	domain, largest := trials[0].curve.Domain, 0
	for _, t := range trials {
		largest = max(largest, t.points[len(t.points)-1].CPUs)
	}
	all := machines(domain, domain > 0 && largest > domain)
	for _, t := range trials {
		for _, m := range all {
			ns, err := t.run(m)
			if err != nil {
				return err
			}
			t.ns = append(t.ns, ns)
			t.errors = append(t.errors, t.distance(ns))
		}
	}
	for _, t := range trials {
		at, _ := best(all, trials, t)
		_, own := best(all, []*trial{t})
		s := Score{Curve: t.curve, Design: t.design, Machine: all[at], Points: t.points, Ns: t.ns[at]}
		s.Factor, s.Own = math.Exp(t.errors[at]), math.Exp(own)
		for i, p := range t.points {
			s.Worst = max(s.Worst, s.Ns[i]/p.Ns, p.Ns/s.Ns[i])
		}
		h.Scores = append(h.Scores, s)
	}
	at, _ := best(all, trials)
	h.Best = all[at]
	h.Pairs = pairs(all, trials)
	return nil
}

// pairs returns, for each two curves at a count of 4 CPUs or more that both have, the
// factor between the predicted and the published ratio of the two. The machine is fitted
// to the host's other curves; if there are none, to all.
func pairs(all []Machine, trials []*trial) []float64 {
	var factors []float64
	for i, a := range trials {
		for _, b := range trials[:i] {
			at, _ := best(all, trials, a, b)
			if len(trials) == 2 {
				at, _ = best(all, trials)
			}
			for j, p := range a.points {
				k := slices.IndexFunc(b.points, func(q Point) bool { return q.CPUs == p.CPUs })
				if k < 0 || p.CPUs < 4 {
					continue
				}
				wrong := math.Log(a.ns[at][j] / b.ns[at][k] / (p.Ns / b.points[k].Ns))
				factors = append(factors, math.Exp(math.Abs(wrong)))
			}
		}
	}
	return factors
}

// best returns the machine with the least mean error of all trials but some.
func best(all []Machine, trials []*trial, except ...*trial) (at int, least float64) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	at = slices.MinFunc(order, func(a, b int) int {
		return cmp.Compare(meanError(trials, a, except...), meanError(trials, b, except...))
	})
	return at, meanError(trials, at, except...)
}

// meanError is the mean of distance on one machine.
func meanError(trials []*trial, machine int, except ...*trial) float64 {
	sum, n := 0.0, 0
	for _, t := range trials {
		if !slices.Contains(except, t) {
			sum += t.errors[machine]
			n++
		}
	}
	return sum / float64(max(1, n))
}

// Quantile returns the value below which the given part of the values lies.
func Quantile(values []float64, part float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
