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

// An outlook is what the points of a curve alone say about a count of CPUs.
type outlook struct {
	// guess is a throughput. Between two points, it is interpolated. Beyond the
	// last, it is the logarithmic mean of the law and a constant throughput: the law
	// alone takes the last points for the beginning of a collapse, and a constant
	// throughput, the serial limit, ignores every collapse. The weight of the law is
	// a half where it is flat, and 1 where it is linear.
	guess float64
	// shape has two exponents, as X(N) ~ N^e: 1 is linear and 0 is flat. The first
	// is of the last doubling of the points, the second of the law from there on.
	shape [2]float64
	// spread is the square root of the distance from the points, in doublings of
	// the CPUs. A curve departs from its guess as a random walk does, and between
	// two points as a walk that ends at both.
	spread float64
}

// beyond returns the outlook for n CPUs, more than the last of at least two
// points.
func beyond(points []Point, law Law, n int) outlook {
	last, before := points[len(points)-1], points[0]
	for _, p := range points {
		if 2*p.Procs <= last.Procs {
			before = p
		}
	}
	distance := math.Log2(float64(n) / float64(last.Procs))
	onward := math.Log2(law.At(n)/law.At(last.Procs)) / distance
	gain := onward * distance * (1 + min(1, max(0, onward))) / 2
	return outlook{last.X * math.Exp2(gain), [2]float64{exponent(before, last), onward}, math.Sqrt(distance)}
}

// between returns the outlook for n CPUs, between two points.
func between(a, b Point, n int) outlook {
	e := exponent(a, b)
	before, after := math.Log2(float64(n)/float64(a.Procs)), math.Log2(float64(b.Procs)/float64(n))
	return outlook{a.X * math.Exp2(e*before), [2]float64{e, e}, math.Sqrt(before * after / (before + after))}
}

// exponent returns e of a curve X(N) ~ N^e through two points.
func exponent(a, b Point) float64 {
	return math.Log(b.X/a.X) / math.Log(float64(b.Procs)/float64(a.Procs))
}

// A trial predicts a count of a published curve from some of its other points.
type trial struct {
	outlook
	curve  *Curve
	index  int     // of the curve
	group  int     // the same for curves of one source or one machine
	times  float64 // the count, as a multiple of the largest known one
	truth  float64
	flat   float64 // the throughput of the largest known count
	miss   float64 // log(truth / guess) / spread
	weight float64
	band   Band // that a score predicts
}

// A region is where the count of a trial lies.
type region int

const (
	within  region = iota // between known counts
	outside               // beyond them
	across                // and beyond a boundary of a last-level cache or socket, which they do not cross
)

// A Past is what became of published curves: the trials of each region, ascending by miss.
type Past [across + 1][]trial

// NewPast predicts counts of the curves from their other points: those that are
// thinned to doublings, as in a sweep. The truth is the largest count in reach,
// so that no trial is easy because it adds only one CPU.
func NewPast(curves []Curve) *Past {
	var past Past
	groups := groups(curves)
	for i := range curves {
		c := &curves[i]
		all := c.Points
		add := func(where region, o outlook, largest, truth Point) {
			past[where] = append(past[where], trial{
				outlook: o, curve: c, index: i, group: groups[i], times: float64(truth.Procs) / float64(largest.Procs),
				truth: truth.X, flat: largest.X, miss: math.Log(truth.X/o.guess) / o.spread,
			})
		}
		for known := MinCounts; known < len(all); known++ {
			points := doublings(all[:known])
			law, err := Fit(points)
			if err != nil {
				continue // a forecast has no figure for such points
			}
			last := points[len(points)-1]
			var near, far Point
			for _, p := range all[known:] {
				if p.Procs <= Near*last.Procs {
					near = p
				} else if p.Procs <= Far*last.Procs {
					far = p
				}
			}
			for _, truth := range []Point{near, far} {
				where := outside
				if truth.Procs > c.Domain && last.Procs <= c.Domain { // never with an unknown domain, 0
					where = across
				}
				if truth.Procs > 0 {
					add(where, beyond(points, law, truth.Procs), last, truth)
				}
			}
		}
		for i := 1; i+1 < len(all); i++ {
			if a, b := around(all, i); b.Procs > 0 {
				add(within, between(a, b, all[i].Procs), b, all[i])
			}
		}
	}
	for _, trials := range past {
		weigh(trials)
		slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.miss, b.miss) })
	}
	return &past
}

// around returns the most distant pair of points with the i-th between them and
// a ratio of counts of at most Far, or zero points.
func around(points []Point, i int) (a, b Point) {
	widest := 0.0
	for _, first := range points[:i] {
		for _, last := range points[i+1:] {
			if ratio := float64(last.Procs) / float64(first.Procs); ratio <= Far && ratio > widest {
				a, b, widest = first, last, ratio
			}
		}
	}
	return a, b
}

// doublings returns the first and the last point, and those between them with
// at least twice the CPUs of the one before.
func doublings(points []Point) []Point {
	if len(points) < 3 {
		return points
	}
	thinned := points[:1:1]
	for _, p := range points[1 : len(points)-1] {
		if p.Procs >= 2*thinned[len(thinned)-1].Procs {
			thinned = append(thinned, p)
		}
	}
	return append(thinned, points[len(points)-1])
}

// weigh gives each curve the weight one, however many trials it has, and a group
// of n curves √n, because six machines with one program are not six programs.
func weigh(trials []trial) {
	ofCurve, inGroup := map[int]int{}, map[int]int{}
	for _, t := range trials {
		if ofCurve[t.index]++; ofCurve[t.index] == 1 {
			inGroup[t.group]++
		}
	}
	for i := range trials {
		t := &trials[i]
		t.weight = 1 / float64(ofCurve[t.index]) / math.Sqrt(float64(inGroup[t.group]))
	}
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

const (
	// level is the share of published curves within a band. It is above the goal of
	// 90% on unseen curves, because with few sources a 90% band holds less than 90%
	// of the next source.
	level = 0.95
	// likeness is the difference of exponents at which a curve is not like another
	// any more: half of what is between flat and linear.
	likeness = 0.5
	// unlike is the share of a band that curves of any shape have, because no curve
	// has to go on as those that were like it.
	unlike = 0.1
)

// A Band is the range of a throughput on a number of CPUs, and its median, as
// factors of an outlook's guess.
type Band struct{ Lo, Mid, Hi float64 }

// near returns the likeness of two shapes, from 0 to 1.
func (o outlook) near(p outlook) float64 {
	a, b := (o.shape[0]-p.shape[0])/likeness, (o.shape[1]-p.shape[1])/likeness
	return math.Exp(-(a*a + b*b) / 2)
}

// band returns what became of curves with a similar shape in a region, among the trials that
// count. Without a similar one, it has no end.
func (p *Past) band(o outlook, where region, counts func(trial) bool) Band {
	var all, alike float64
	for _, t := range p[where] {
		if counts(t) {
			all += t.weight
			alike += t.weight * o.near(t.outlook)
		}
	}
	if alike == 0 {
		return Band{0, 1, math.Inf(1)}
	}
	var misses sample
	for _, t := range p[where] {
		if counts(t) {
			misses = append(misses, weighed{t.miss, t.weight * ((1-unlike)*o.near(t.outlook)/alike + unlike/all)})
		}
	}
	at := func(share float64) float64 { return math.Exp(misses.quantile(share) * o.spread) }
	return Band{at((1 - level) / 2), at(0.5), at((1 + level) / 2)}
}

// A sample has values with weights, in ascending order.
type sample []weighed

type weighed struct{ value, weight float64 }

// quantile returns the first value that has, with those before it, a share of all weights.
func (s sample) quantile(share float64) float64 {
	all, sum := 0.0, 0.0
	for _, one := range s {
		all += one.weight
	}
	i := slices.IndexFunc(s, func(one weighed) bool {
		sum += one.weight
		return sum >= share*all
	})
	return s[i].value
}

// alike returns up to most published curves of different machines that looked
// most like the outlook, and went on.
func (p *Past) alike(o outlook, most int) []Curve {
	trials := slices.Clone(p[outside])
	slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(o.near(b.outlook), o.near(a.outlook)) })
	var found []Curve
	for _, t := range trials {
		if !slices.ContainsFunc(found, func(c Curve) bool { return c.Machine == t.curve.Machine }) && len(found) < most {
			found = append(found, *t.curve)
		}
	}
	return found
}
