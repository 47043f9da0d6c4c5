package predict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A Mode is the origin of a figure.
type Mode string

const (
	Measured     Mode = "measured"
	Interpolated Mode = "interpolated"
	Extrapolated Mode = "extrapolated"
)

// A Figure is a throughput in operations per second, with its band.
type Figure struct {
	CPUs int     `json:"cpus"`
	X    float64 `json:"ops_per_s"`
	Lo   float64 `json:"lo"` // the band, or the interval of a measured figure
	Hi   float64 `json:"hi"`
	Mode Mode    `json:"mode"`
}

// Reasons for the lack of a figure.
var (
	ErrTooFar      = errors.New("too far from the measured counts")
	ErrNewBoundary = errors.New("a boundary that was not measured")
	ErrUnlike      = errors.New("no published curve looked like this one")
)

// MaxSpread is the largest distance from the median to an end of a count's
// interval, as a fraction of the median, for which a law is fitted.
const MaxSpread = 0.3

// A Forecast predicts a curve's throughput on a number of CPUs.
type Forecast struct {
	Counts []Point
	Law    *Law  // nil if NoLaw is not nil
	NoLaw  error // wraps ErrTooFew or ErrTooNoisy
	Limits Limits
	past   *Past
}

// NewForecast fits the counts, which must be ascending and may be none. Without a law, the
// forecast still has the measured and the interpolated figures.
func NewForecast(counts []Point, limits Limits, past *Past) *Forecast {
	f := &Forecast{Counts: counts, Limits: limits, past: past}
	law, err := Fit(counts)
	for _, c := range counts {
		if spread := max(c.Hi-c.X, c.X-c.Lo) / c.X; spread > MaxSpread && !errors.Is(err, ErrTooFew) { // less noise would not help
			err = fmt.Errorf("%w, as the interval on %s is ±%.0f%% (want at most %.0f%%). Repeat it on a quieter machine, or with more repetitions",
				ErrTooNoisy, format.Plural(c.Procs, "CPU"), 100*spread, 100*MaxSpread)
			break
		}
	}
	if f.NoLaw = err; err == nil {
		f.Law = &law
	}
	return f
}

// Largest returns the largest measured count.
func (f *Forecast) Largest() int { return f.Counts[len(f.Counts)-1].Procs }

// Reach returns the largest number of CPUs, at most the given one, for which At has a
// figure. It is at least the largest measured count.
func (f *Forecast) Reach(most int) int {
	for ; most > f.Largest(); most-- {
		if _, err := f.At(most); err == nil {
			break
		}
	}
	return max(most, f.Largest())
}

// At returns the figure for n CPUs, or an error with the reason why there is none.
func (f *Forecast) At(n int) (Figure, error) {
	i := slices.IndexFunc(f.Counts, func(c Point) bool { return c.Procs >= n })
	switch {
	case i >= 0 && f.Counts[i].Procs == n:
		c := f.Counts[i]
		return Figure{n, c.X, c.Lo, c.Hi, Measured}, nil
	case i == 0:
		return Figure{}, fmt.Errorf("%w: %s, fewer than the %d measured", ErrTooFar, format.Plural(n, "CPU"), f.Counts[0].Procs)
	case i > 0:
		pair := f.Counts[i-1 : i+1]
		if pair[1].Procs > Far*pair[0].Procs {
			return Figure{}, fmt.Errorf("%w: no count was measured between %d and %d CPUs", ErrTooFar, pair[0].Procs, pair[1].Procs)
		}
		return f.figure(n, between(pair[0], pair[1], n), within)
	case f.Law == nil:
		return Figure{}, f.NoLaw
	case n > Far*f.Largest():
		return Figure{}, fmt.Errorf("%w: %d CPUs are more than %d times the %d measured. Measure on a machine with more CPUs",
			ErrTooFar, n, Far, f.Largest())
	}
	if err := f.Limits.check(f.Largest(), n); err != nil {
		return Figure{}, err
	}
	return f.figure(n, beyond(f.Counts, *f.Law, n), outside)
}

// figure returns what became of curves with this outlook, up to the bound.
func (f *Forecast) figure(n int, o outlook, where region) (Figure, error) {
	mode := [...]Mode{within: Interpolated, outside: Extrapolated}[where]
	band := f.past.band(o, where, func(trial) bool { return true })
	if math.IsInf(band.Hi, 1) {
		return Figure{}, ErrUnlike
	}
	x, hi := f.alone()
	x, hi = float64(n)*x, float64(n)*hi
	return Figure{n, min(x, o.guess*band.Mid), min(x, o.guess*band.Lo), min(hi, o.guess*band.Hi), mode}, nil
}

// alone returns the throughput that no CPU exceeds, and the upper end of its interval.
// Only a count of one CPU, where no other contends, shows it: without it, both are +Inf.
func (f *Forecast) alone() (x, hi float64) {
	if f.Counts[0].Procs != 1 {
		return math.Inf(1), math.Inf(1)
	}
	return perCPU(f.Counts, 1)
}

// reading is the error of a figure without repetitions, as a factor.
const reading = 1.05

// perCPU returns the highest throughput per CPU of the counts with at least that
// many CPUs, and the upper end of its interval, or 0.
func perCPU(counts []Point, least int) (x, hi float64) {
	for _, c := range counts {
		if c.Procs < least {
			continue
		}
		end := c.Hi
		if c.N < 2 {
			end = reading * c.X
		}
		x, hi = max(x, c.X/float64(c.Procs)), max(hi, end/float64(c.Procs))
	}
	return x, hi
}

// A Peak is the highest of some figures.
type Peak struct {
	Figure
	// From and To enclose the counts that may be as good: their bands overlap the
	// figure's.
	From, To int
	// AtEnd is true if there is no figure for more CPUs: the throughput may
	// rise further.
	AtEnd bool
}

// peakOf returns the peak of figures, which are ascending by CPUs.
func peakOf(figures []Figure) Peak {
	best := slices.MaxFunc(figures, func(a, b Figure) int { return cmp.Compare(a.X, b.X) })
	peak := Peak{Figure: best, From: best.CPUs, To: best.CPUs, AtEnd: best.CPUs == figures[len(figures)-1].CPUs}
	for _, figure := range figures {
		if figure.Hi >= best.Lo {
			peak.From, peak.To = min(peak.From, figure.CPUs), max(peak.To, figure.CPUs)
		}
	}
	return peak
}

// A Swept is what one source measured of a resource and of its remedies.
type Swept struct {
	Single  []Point `json:"one_by_one"`
	Batches []Point `json:"in_batches,omitempty"` // of workload.BatchSize values
	Lanes   []Point `json:"in_lanes,omitempty"`   // a private part for each CPU
}

// A Remedy is the throughput of lanes or batches instead of one resource. What
// was measured is a curve like any other; the rest is an upper limit.
type Remedy struct {
	What string `json:"what"`
	Figure
	AtMost string `json:"at_most,omitempty"` // the reason, if the figure is a limit
}

// remedies returns the remedies on n CPUs.
func (f *Forecast) remedies(n int, swept Swept) []Remedy {
	if n < 2 {
		return nil
	}
	return append(f.lanes(n, swept.Lanes), f.batches(n, swept.Batches)...)
}

// lanes returns the throughput of a lane for each of n CPUs. Without a figure, the
// limit is the best rate of a CPU: of lanes on several CPUs, because on one they
// exchange no cache lines, or else of one CPU alone.
func (f *Forecast) lanes(n int, measured []Point) []Remedy {
	what := fmt.Sprintf("%d lanes", n)
	if figure, err := NewForecast(measured, f.Limits, f.past).At(n); err == nil {
		return []Remedy{{what, figure, ""}}
	}
	_, rate := perCPU(measured, 2)
	of := "of lanes on several CPUs"
	if rate == 0 {
		_, rate = f.alone()
		of = "of one CPU"
	}
	if math.IsInf(rate, 1) {
		return nil
	}
	x := float64(n) * rate
	return []Remedy{{what, Figure{n, x, 0, x, Extrapolated}, fmt.Sprintf("%s times %s, the best rate %s", format.Plural(n, "CPU"), format.Rate(rate), of)}}
}

// leastOwn is the floor of the time of one CPU that a value takes even in the
// largest batch, in ns: a store, a load, and the two loops around them take
// about two cycles at 4 GHz.
const leastOwn = 0.5

// batches returns the throughput of batches on n CPUs. The time of a value is its
// share of a transfer, plus a time of its own, which measured batches show; without
// them there is no limit, because a value takes that time in the largest batch.
func (f *Forecast) batches(n int, measured []Point) (found []Remedy) {
	one, err := f.At(n)
	figure, unknown := NewForecast(measured, f.Limits, f.past).At(n)
	if err != nil || unknown != nil {
		return nil
	}
	transfer := 1e9 / one.X
	own := max(leastOwn/float64(n), 1e9/figure.X-transfer/workload.BatchSize)
	for _, size := range []int{8, workload.BatchSize, 512} {
		r := Remedy{What: fmt.Sprintf("batches of %d", size), Figure: figure}
		if size != workload.BatchSize {
			x := 1e9 / (transfer/float64(size) + own)
			r.Figure = Figure{n, x, 0, x, Extrapolated}
			r.AtMost = fmt.Sprintf("%s ns of each value are its own", format.Figure(own))
		}
		found = append(found, r)
	}
	return found
}
