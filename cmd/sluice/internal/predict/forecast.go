package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Mode is the origin of a figure.
type Mode string

const (
	Measured     Mode = "measured"
	Interpolated Mode = "interpolated"
	Extrapolated Mode = "extrapolated"
	Derived      Mode = "derived" // a ceiling, from measured figures of one channel
)

// A Figure is a throughput in operations per second, with its band.
type Figure struct {
	CPUs float64 `json:"cpus"`
	X    float64 `json:"ops_per_s"`
	Lo   float64 `json:"lo"` // the band, or the interval of a measured figure
	Hi   float64 `json:"hi"`
	Mode Mode    `json:"mode"`
}

// Reasons for the lack of a figure.
var (
	ErrTooFar      = errors.New("too far from the measured counts")
	ErrNewBoundary = errors.New("a boundary that was not measured")
	ErrNoBatches   = errors.New("no batches were measured")
)

// A Count is the measured throughput on a number of CPUs: the median of the
// repetitions in operations per second, and its interval.
type Count struct {
	Procs int     `json:"procs"`
	X     float64 `json:"ops_per_s"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	N     int     `json:"n"` // repetitions
}

// MaxSpread is the largest distance from the median to an end of a count's
// interval, as a fraction of the median, for which a law is fitted.
const MaxSpread = 0.3

// A Forecast predicts a channel's throughput on a number of CPUs.
type Forecast struct {
	Counts []Count
	Law    *Law  // nil if NoLaw is not nil
	NoLaw  error // wraps ErrTooFew or ErrTooNoisy
	Limits Limits
	bands  Bands
}

// NewForecast fits the counts, which must be ascending. Without a law, the
// forecast still has the measured and the interpolated figures.
func NewForecast(counts []Count, limits Limits, bands Bands) *Forecast {
	f := &Forecast{Counts: counts, Limits: limits, bands: bands}
	if len(counts) < MinCounts {
		// Less noise would not help.
		f.NoLaw = fmt.Errorf("%w: %d measured (want at least %d, such as 1, 2 and 4)", ErrTooFew, len(counts), MinCounts)
		return f
	}
	points := make([]Point, len(counts))
	for i, c := range counts {
		points[i] = Point{c.Procs, c.X}
		if spread := max(c.Hi-c.X, c.X-c.Lo) / c.X; spread > MaxSpread {
			f.NoLaw = fmt.Errorf("%w: the interval on %s is ±%.0f%% (want at most %.0f%%): repeat it on a quieter machine, or with more repetitions",
				ErrTooNoisy, cpusText(float64(c.Procs)), 100*spread, 100*MaxSpread)
			return f
		}
	}
	law, err := Fit(points)
	if err != nil {
		f.NoLaw = err
		return f
	}
	f.Law = &law
	return f
}

// Largest returns the largest measured count.
func (f *Forecast) Largest() int { return f.Counts[len(f.Counts)-1].Procs }

// Reach returns the largest number of CPUs for which At has a figure.
func (f *Forecast) Reach() int {
	if f.Law == nil {
		return f.Largest()
	}
	reach := Far * f.Largest()
	for _, boundary := range f.Limits.boundaries() {
		if !boundary.crossed(f.Largest()) {
			reach = min(reach, max(boundary.target, f.Largest()))
		}
	}
	return reach
}

// At returns the figure for n CPUs; n need not be whole. It returns an error
// with the reason if n is too far from the counts.
func (f *Forecast) At(n float64) (Figure, error) {
	i := slices.IndexFunc(f.Counts, func(c Count) bool { return float64(c.Procs) >= n })
	switch {
	case i >= 0 && float64(f.Counts[i].Procs) == n:
		c := f.Counts[i]
		return Figure{n, c.X, c.Lo, c.Hi, Measured}, nil
	case i == 0:
		return Figure{}, fmt.Errorf("%w: %s, fewer than the %d measured", ErrTooFar, cpusText(n), f.Counts[0].Procs)
	case i > 0:
		a, b := f.Counts[i-1], f.Counts[i]
		if b.Procs > Far*a.Procs {
			return Figure{}, fmt.Errorf("%w: no count was measured between %d and %d CPUs", ErrTooFar, a.Procs, b.Procs)
		}
		pa, pb := Point{a.Procs, a.X}, Point{b.Procs, b.X}
		return f.banded(n, between(pa, pb, n), reachBetween(pa, pb), Interpolated), nil
	}
	if f.Law == nil {
		return Figure{}, f.NoLaw
	}
	largest := float64(f.Largest())
	if n > Far*largest {
		return Figure{}, fmt.Errorf("%w: %v CPUs are more than %d times the %v measured. Measure on a machine with more CPUs",
			ErrTooFar, n, Far, largest)
	}
	if err := f.Limits.check(f.Largest(), n); err != nil {
		return Figure{}, err
	}
	r := near
	if n > Near*largest {
		r = far
	}
	last := f.Counts[len(f.Counts)-1]
	return f.banded(n, extrapolate(*f.Law, Point{last.Procs, last.X}, n), r, Extrapolated), nil
}

func (f *Forecast) banded(n, x float64, r reach, mode Mode) Figure {
	band := f.bands[r]
	if band.Curves == 0 {
		band = Band{Lo: 0, Hi: math.Inf(1)}
	}
	hi := x * max(1, band.Hi)
	if mode == Extrapolated {
		hi = max(hi, f.onward(n))
	}
	return Figure{n, x, x * min(1, band.Lo), hi, mode}.capped(f.Bound(n))
}

// linearDoubling is the gain of a doubling of the CPUs from which on nothing slows a
// curve down yet: 5% for each CPU that is added, which repetitions scatter by.
const linearDoubling = 1.9

// onward returns the throughput on n CPUs if a curve stays linear, or 0 if it is not linear
// as far as it was measured. Published curves are of contended resources, so their bands
// exclude that; a resource with a private part for each CPU may well do it.
func (f *Forecast) onward(n float64) float64 {
	first, last := f.Counts[0], f.Counts[len(f.Counts)-1]
	for i, c := range f.Counts[1:] {
		before := f.Counts[i]
		doublings := math.Log2(float64(c.Procs) / float64(before.Procs))
		if c.X < before.X*math.Pow(linearDoubling, doublings) {
			return 0
		}
	}
	if last.Procs < Near*first.Procs {
		return 0
	}
	return last.X * n / float64(last.Procs)
}

// A Peak is the highest throughput of one channel.
type Peak struct {
	Figure
	// From and To enclose the counts that may be as good: their bands overlap the
	// figure's.
	From, To int
	// AtEnd is true if there is no figure for more CPUs: the throughput may
	// rise further.
	AtEnd bool
}

// Peak returns the best count up to n CPUs with a figure.
func (f *Forecast) Peak(n int) Peak {
	var figures []Figure
	for cpus := 1; cpus <= min(n, f.Reach()); cpus++ {
		if figure, err := f.At(float64(cpus)); err == nil {
			figures = append(figures, figure)
		}
	}
	best := figures[0]
	for _, figure := range figures {
		// Among equal figures, a measured one wins.
		if figure.X > best.X || figure.X == best.X && figure.Mode == Measured && best.Mode != Measured {
			best = figure
		}
	}
	peak := Peak{Figure: best, From: int(best.CPUs), To: int(best.CPUs), AtEnd: best.CPUs == figures[len(figures)-1].CPUs}
	for _, figure := range figures {
		if figure.Hi >= best.Lo {
			peak.From, peak.To = min(peak.From, int(figure.CPUs)), max(peak.To, int(figure.CPUs))
		}
	}
	return peak
}
