package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Mode says where a figure comes from.
type Mode string

const (
	Measured     Mode = "measured"
	Interpolated Mode = "interpolated"
	Extrapolated Mode = "extrapolated"
)

// A Figure is a throughput in operations per second, and how sure it is.
type Figure struct {
	CPUs float64 `json:"cpus"`
	X    float64 `json:"ops_per_s"`
	Lo   float64 `json:"lo"` // the band: of a measured figure the interval of its repetitions
	Hi   float64 `json:"hi"`
	Mode Mode    `json:"mode"`
}

// Errors that refuse a figure.
var (
	ErrTooFar      = errors.New("too far from what was measured")
	ErrNewBoundary = errors.New("a boundary that was not measured")
)

// A Count is what was measured on so many CPUs: the median of the repetitions
// in operations per second, and its interval.
type Count struct {
	Procs int     `json:"procs"`
	X     float64 `json:"ops_per_s"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	N     int     `json:"n"` // repetitions
}

// MaxSpread is how far the interval of a count may reach from its median, as a
// fraction of it, for a law to be fitted.
const MaxSpread = 0.3

// A Forecast answers what a channel's throughput is on some number of CPUs.
type Forecast struct {
	Counts []Count
	Law    *Law  // nil if there is none: NoLaw says why
	NoLaw  error // wraps ErrTooFew or ErrTooNoisy
	Limits Limits
	bands  Bands
}

// NewForecast fits the counts, which ascend. Without a law it still knows what
// was measured, and what lies between.
func NewForecast(counts []Count, limits Limits, bands Bands) *Forecast {
	f := &Forecast{Counts: counts, Limits: limits, bands: bands}
	points := make([]Point, len(counts))
	for i, c := range counts {
		points[i] = Point{c.Procs, c.X}
		if spread := max(c.Hi-c.X, c.X-c.Lo) / c.X; spread > MaxSpread && f.NoLaw == nil {
			f.NoLaw = fmt.Errorf("%w: the interval on %d CPUs is ±%.0f%%, and %.0f%% is the most: repeat it on a quieter machine, or with more repetitions",
				ErrTooNoisy, c.Procs, 100*spread, 100*MaxSpread)
		}
	}
	if f.NoLaw != nil {
		return f
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

// Reach returns the largest number of CPUs for which At gives a figure.
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

// At returns the figure for n CPUs, which need not be whole. It refuses what is
// too far from the counts, and says why.
func (f *Forecast) At(n float64) (Figure, error) {
	i := slices.IndexFunc(f.Counts, func(c Count) bool { return float64(c.Procs) >= n })
	switch {
	case i >= 0 && float64(f.Counts[i].Procs) == n:
		c := f.Counts[i]
		return Figure{n, c.X, c.Lo, c.Hi, Measured}, nil
	case i == 0:
		return Figure{}, fmt.Errorf("%w: %v CPUs are fewer than the %d that were measured", ErrTooFar, n, f.Counts[0].Procs)
	case i > 0:
		a, b := f.Counts[i-1], f.Counts[i]
		if b.Procs > Far*a.Procs {
			return Figure{}, fmt.Errorf("%w: nothing was measured between %d and %d CPUs", ErrTooFar, a.Procs, b.Procs)
		}
		pa, pb := Point{a.Procs, a.X}, Point{b.Procs, b.X}
		return f.banded(n, between(pa, pb, n), reachBetween(pa, pb), Interpolated), nil
	}
	if f.Law == nil {
		return Figure{}, f.NoLaw
	}
	largest := float64(f.Largest())
	if n > Far*largest {
		return Figure{}, fmt.Errorf("%w: %v CPUs are more than %d times the %v that were measured. So far out, two sound models differ 11 to 20 times since Go 1.24: a lock that lets few spin may level off or come down. Measure on a machine with more CPUs",
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
	return f.banded(n, carryOn(*f.Law, Point{last.Procs, last.X}, n), r, Extrapolated), nil
}

func (f *Forecast) banded(n, x float64, r reach, mode Mode) Figure {
	band := f.bands[r]
	if band.Curves == 0 {
		return Figure{n, x, 0, math.Inf(1), mode}
	}
	return Figure{n, x, x * min(1, band.Lo), x * max(1, band.Hi), mode}
}

// A Peak is where one channel is at its best.
type Peak struct {
	Figure
	// From and To enclose the counts that may be as good: whose band meets that of the
	// figure.
	From, To int
	// AtEnd says that there is no figure for more CPUs: the throughput may go on rising.
	AtEnd bool
}

// Peak returns the best count up to n CPUs, as far as figures are given.
func (f *Forecast) Peak(n int) Peak {
	var figures []Figure
	for cpus := 1; cpus <= min(n, f.Reach()); cpus++ {
		if figure, err := f.At(float64(cpus)); err == nil {
			figures = append(figures, figure)
		}
	}
	best := figures[0]
	for _, figure := range figures {
		// An equal figure that was measured is better than one that was not.
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
