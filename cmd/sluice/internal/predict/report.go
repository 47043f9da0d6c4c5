package predict

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/sluice-go/sluice/bench/workload"
)

// A Question is the input of a report.
type Question struct {
	Curve     Curve   // describes the measurement
	Swept     Swept   // the figures; at least Single
	Here      bool    // measured now, on this machine
	Others    int     // series of the file that were not chosen
	CPUsKnown bool    // of the measured machine
	Limits    Limits  // Target.CPUs is the requested number
	GoVersion string  // selects published curves
	Arch      string  // the same
	Published []Curve // built-in
	Own       []Curve // the user's
}

// A Report is the answer to a Question.
type Report struct {
	Curve     Curve         `json:"curve"`
	Here      bool          `json:"measured_now"`
	Others    int           `json:"other_series,omitempty"`
	Swept     Swept         `json:"measured"`
	CPUsKnown bool          `json:"cpus_known"`
	Limits    Limits        `json:"limits"`
	Law       *Law          `json:"law,omitempty"`
	NoLaw     string        `json:"no_law,omitempty"`
	Peak      Peak          `json:"peak"`
	Figures   []Figure      `json:"figures"`
	Refused   []Refusal     `json:"refused,omitempty"`
	Ceilings  Ceilings      `json:"ceilings"`
	Order     []Design      `json:"order,omitempty"` // if any figure is refused
	OrderIs   OrderScore    `json:"order_score"`
	Bands     [reaches]Band `json:"bands"`
	Flat      []FlatScore   `json:"flat"` // the model beside a constant throughput
	Own       int           `json:"own_curves"`
	Beside    []Neighbor    `json:"published"`
}

// A Refusal is a number of CPUs for which there is no figure.
type Refusal struct {
	CPUs int    `json:"cpus"`
	Why  string `json:"why"`
}

// Ceilings has the upper limits of the remedies, on the requested CPUs, or, if
// these have no figure, on the measured ones.
type Ceilings struct {
	CPUs           int       `json:"cpus"`
	Lanes          []Ceiling `json:"lanes"`
	LaneShortfall  float64   `json:"lane_shortfall"` // factor, from LaneCurves published curves
	LaneCurves     int       `json:"lane_curves"`
	Batches        []Ceiling `json:"batches,omitempty"` // nothing if no batches were measured
	OwnCost        float64   `json:"own_cost_ns"`       // per value
	OwnCostKnown   bool      `json:"own_cost_known"`
	BatchShortfall float64   `json:"batch_shortfall"`
}

// NewReport answers a question, which must have at least one count.
func NewReport(q Question) *Report {
	// The band of a prediction excludes its own curve.
	curves := slices.DeleteFunc(slices.Concat(q.Published, q.Own), q.Curve.same)
	bands := Calibrate(curves)
	f := NewForecast(q.Swept.Single, q.Limits, bands)
	r := &Report{
		Curve: q.Curve, Here: q.Here, Others: q.Others, Swept: q.Swept, CPUsKnown: q.CPUsKnown, Limits: q.Limits,
		Law: f.Law, OrderIs: scoreOrder(curves, 2), Bands: bands, Own: len(q.Own),
		Flat: scoreFlat(curves, q.Curve.Version), Beside: Beside(curves, q.GoVersion, q.Arch),
	}
	if f.NoLaw != nil {
		r.NoLaw = f.NoLaw.Error()
	}
	asked := max(q.Limits.Target.CPUs, f.Largest())
	r.Peak = f.Peak(asked)
	r.figures(f, asked)
	r.ceilings(f, min(asked, f.Reach()), curves)
	if len(r.Refused) > 0 || f.Law == nil {
		r.Order = Order()
	}
	return r
}

// figures collects the figures of the measured counts, their doublings, and the
// requested count.
func (r *Report) figures(f *Forecast, asked int) {
	var wanted []int
	for _, c := range f.Counts {
		wanted = append(wanted, c.Procs)
	}
	for n := f.Counts[0].Procs; n < asked; n *= 2 {
		wanted = append(wanted, n)
	}
	wanted = append(wanted, asked)
	slices.Sort(wanted)
	for _, n := range slices.Compact(wanted) {
		figure, err := f.At(float64(n))
		if err != nil {
			r.Refused = append(r.Refused, Refusal{n, err.Error()})
			continue
		}
		r.Figures = append(r.Figures, figure)
	}
}

// batchSizes are the sizes with a printed ceiling.
var batchSizes = []int{8, workload.BatchSize, 512}

func (r *Report) ceilings(f *Forecast, cpus int, curves []Curve) {
	c := Ceilings{CPUs: cpus, BatchShortfall: BatchShortfall}
	c.LaneShortfall, c.LaneCurves = LaneShortfall(curves)
	for _, lanes := range laneCounts(cpus) {
		if ceiling, err := f.Lanes(lanes, cpus, r.Swept.Lanes, c.LaneShortfall); err == nil {
			c.Lanes = append(c.Lanes, ceiling)
		}
	}
	c.OwnCost, c.OwnCostKnown = f.OwnCost(cpus, r.Swept.Batches)
	for _, size := range batchSizes {
		if ceiling, err := f.Batches(size, cpus, r.Swept.Batches); err == nil {
			c.Batches = append(c.Batches, ceiling)
		}
	}
	r.Ceilings = c
}

// laneCounts returns 2, 4, 8 … and cpus.
func laneCounts(cpus int) []int {
	if cpus < 2 {
		return nil
	}
	return Doublings(cpus)[1:]
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteJSON writes the score as JSON.
func (s Score) WriteJSON(w io.Writer) error { return writeJSON(w, s) }

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}
