package predict

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Limits of predictions, as multiples of the largest measured count.
const (
	Near = 2
	Far  = 4
)

// extrapolate predicts the throughput on n CPUs, more than were measured: from
// the last point, the logarithmic mean of the law and a constant throughput.
//
// A constant throughput is the serial limit: a lock that admits one goroutine
// at a time and does not cost more with more waiters, as the runtime's since Go
// 1.24. The law alone takes the last points for the beginning of a collapse. On
// published curves the two err on opposite sides: the score shows both, and
// that their mean is better than either (docs/adr/0011-prediction.md).
func extrapolate(law Law, last Point, n float64) float64 {
	return last.X * math.Sqrt(law.At(n)/law.At(float64(last.Procs)))
}

// between predicts the throughput on n CPUs, between two measured counts, by
// logarithmic interpolation.
func between(a, b Point, n float64) float64 {
	part := math.Log(n/float64(a.Procs)) / math.Log(float64(b.Procs)/float64(a.Procs))
	return math.Exp((1-part)*math.Log(a.X) + part*math.Log(b.X))
}

// A reach is the distance of a figure from the measured counts.
type reach int

const (
	inside reach = iota // between measured counts, the larger up to Near times the smaller
	gap                 // the same, up to Far times
	near                // up to Near times the largest
	far                 // up to Far times
	reaches
)

// A trial predicts a count of a published curve from some of its other points.
type trial struct {
	curve   *Curve
	index   int // of the curve
	group   int // the same for curves of one source or one machine
	reach   reach
	points  []Point
	truth   Point
	crosses bool // a boundary of a last-level cache or socket that the points do not cross
}

// trials returns all trials that the curves allow. The known points are thinned
// to doublings, as in a sweep. The truth is the largest count in reach, so that
// no trial is easy because it adds only one CPU.
func trials(curves []Curve) []trial {
	var all []trial
	groups := groups(curves)
	for i := range curves {
		c := &curves[i]
		if c.Kind != Shared {
			continue
		}
		add := func(r reach, points []Point, truth Point) {
			last := points[len(points)-1].Procs
			crosses := truth.Procs > c.Domain && last <= c.Domain // never with an unknown domain, 0
			all = append(all, trial{c, i, groups[i], r, points, truth, crosses})
		}
		for known := MinCounts; known < len(c.Points); known++ {
			points := doublings(c.Points[:known])
			if len(points) < MinCounts {
				continue
			}
			last := points[len(points)-1].Procs
			var farthest [reaches]Point
			for _, p := range c.Points[known:] {
				switch {
				case p.Procs <= Near*last:
					farthest[near] = p
				case p.Procs <= Far*last:
					farthest[far] = p
				}
			}
			for _, r := range []reach{near, far} {
				if farthest[r].Procs > 0 {
					add(r, points, farthest[r])
				}
			}
		}
		for i := 1; i+1 < len(c.Points); i++ {
			for r, apart := range []int{inside: Near, gap: Far} {
				if pair := around(c.Points, i, apart); pair != nil && reachBetween(pair[0], pair[1]) == reach(r) {
					add(reach(r), pair, c.Points[i])
				}
			}
		}
	}
	return all
}

// around returns the most distant pair of points with the i-th point between
// them and a ratio of counts of at most apart, or nil.
func around(points []Point, i, apart int) []Point {
	var widest []Point
	for a := range i {
		for b := len(points) - 1; b > i; b-- {
			ratio := float64(points[b].Procs) / float64(points[a].Procs)
			if ratio <= float64(apart) && (widest == nil || ratio > float64(widest[1].Procs)/float64(widest[0].Procs)) {
				widest = []Point{points[a], points[b]}
			}
		}
	}
	return widest
}

// reachBetween is inside or gap.
func reachBetween(a, b Point) reach {
	if b.Procs <= Near*a.Procs {
		return inside
	}
	return gap
}

// doublings returns the first and the last point, and those between them with
// at least twice the CPUs of the one before.
func doublings(points []Point) []Point {
	if len(points) < 3 {
		return points
	}
	thinned := []Point{points[0]}
	for _, p := range points[1 : len(points)-1] {
		if p.Procs >= 2*thinned[len(thinned)-1].Procs {
			thinned = append(thinned, p)
		}
	}
	return append(thinned, points[len(points)-1])
}

// groups numbers the curves. Curves with a common source or machine have the
// same number, transitively.
func groups(curves []Curve) []int {
	group := make([]int, len(curves))
	for i := range group {
		group[i] = i
	}
	for changed := true; changed; {
		changed = false
		for i := range curves {
			for j := range i {
				related := curves[i].Source == curves[j].Source || sameMachine(curves[i].Machine, curves[j].Machine)
				if low := min(group[i], group[j]); related && group[i] != group[j] {
					group[i], group[j], changed = low, low, true
				}
			}
		}
	}
	return group
}

// sameMachine compares the names of machines, or only their models if a name
// begins with a model such as i7-13700H.
func sameMachine(a, b string) bool {
	model, _, _ := strings.Cut(a, " ")
	other, _, _ := strings.Cut(b, " ")
	return a == b || model == other && len(model) > 4 && strings.ContainsAny(model, "0123456789") && !strings.Contains(model, "/")
}

// miss returns the logarithm of truth / prediction, or the error of Fit.
func (t trial) miss(predict func(law Law, last Point, n float64) float64) (float64, error) {
	n := float64(t.truth.Procs)
	if t.reach == inside || t.reach == gap {
		return math.Log(t.truth.X / between(t.points[0], t.points[1], n)), nil
	}
	law, err := Fit(t.points)
	if err != nil {
		return 0, err
	}
	return math.Log(t.truth.X / predict(law, t.points[len(t.points)-1], n)), nil
}

// A Band is the range of the truth, as a factor of the prediction.
type Band struct {
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	Curves int     `json:"curves"` // published curves that it is based on
}

// Bands has the bands of figures that were not measured, by reach.
type Bands [reaches]Band

// level is the share of trials within a band. It is above the goal of 90% on
// unseen curves, because with few sources a 90% band holds less than 90% of the
// next source.
const level = 0.95

// Calibrate returns the bands of the curves.
func Calibrate(curves []Curve) Bands { return calibrate(trials(curves), -1) }

// calibrate returns the bands without one group; -1 includes all.
func calibrate(all []trial, except int) (bands Bands) {
	for r := range reaches {
		misses := weigh(all, func(t trial) bool { return t.reach == r && t.group != except }, extrapolate)
		if len(misses.of) == 0 {
			continue
		}
		bands[r] = Band{
			Lo:     math.Exp(misses.quantile((1 - level) / 2)),
			Hi:     math.Exp(misses.quantile((1 + level) / 2)),
			Curves: misses.curves,
		}
	}
	return bands
}

// weighed is a weighted sample: a curve counts as one, however many trials it
// has, and a source with n curves as √n, because six machines with one program
// are not six programs.
type weighed struct {
	of     []weighedMiss // ascending
	total  float64
	curves int
	noisy  int // trials in which Fit fails
}

type weighedMiss struct {
	trial  trial
	miss   float64
	weight float64
}

func weigh(all []trial, use func(trial) bool, predict func(Law, Point, float64) float64) weighed {
	var w weighed
	ofCurve, inGroup := map[*Curve]int{}, map[int]int{}
	for _, t := range all {
		if !use(t) {
			continue
		}
		miss, err := t.miss(predict)
		if err != nil {
			w.noisy++
			continue
		}
		if ofCurve[t.curve]++; ofCurve[t.curve] == 1 {
			inGroup[t.group]++
		}
		w.of = append(w.of, weighedMiss{trial: t, miss: miss})
	}
	for i := range w.of {
		t := w.of[i].trial
		w.of[i].weight = 1 / float64(ofCurve[t.curve]) / math.Sqrt(float64(inGroup[t.group]))
		w.total += w.of[i].weight
	}
	w.curves = len(ofCurve)
	slices.SortStableFunc(w.of, func(a, b weighedMiss) int { return cmp.Compare(a.miss, b.miss) })
	return w
}

// quantile returns the weighted quantile of the misses.
func (w weighed) quantile(share float64) float64 {
	below := 0.0
	for _, m := range w.of {
		if below += m.weight; below >= share*w.total {
			return m.miss
		}
	}
	return w.of[len(w.of)-1].miss
}

// sorted returns the sample with f applied to each miss, in ascending order.
func (w weighed) sorted(f func(float64) float64) weighed {
	w.of = slices.Clone(w.of)
	for i := range w.of {
		w.of[i].miss = f(w.of[i].miss)
	}
	slices.SortStableFunc(w.of, func(a, b weighedMiss) int { return cmp.Compare(a.miss, b.miss) })
	return w
}
