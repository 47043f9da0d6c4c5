package predict

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/sluice-go/sluice/bench/workload"
)

// A Question is what a report answers.
type Question struct {
	Curve     Curve   // what was measured, in words
	Swept     Swept   // and in figures: Single at least
	Here      bool    // it was measured now, on this machine
	CPUsKnown bool    // of the machine that was measured
	Limits    Limits  // Target.CPUs is the number asked about
	GoVersion string  // for the published curves beside
	Arch      string  // for the same
	Published []Curve // that came with the tool
	Own       []Curve // of the user
}

// A Report is the answer.
type Report struct {
	Curve     Curve         `json:"curve"`
	Here      bool          `json:"measured_now"`
	Swept     Swept         `json:"measured"`
	CPUsKnown bool          `json:"cpus_known"`
	Limits    Limits        `json:"limits"`
	Law       *Law          `json:"law,omitempty"`
	NoLaw     string        `json:"no_law,omitempty"`
	Peak      Peak          `json:"peak"`
	Plateau   *Figure       `json:"plateau,omitempty"` // where the law levels off; nil if it does not
	Figures   []Figure      `json:"figures"`
	Refused   []Refusal     `json:"refused,omitempty"`
	Ceilings  Ceilings      `json:"ceilings"`
	Order     []Design      `json:"order,omitempty"` // all that is said where numbers are refused
	OrderIs   OrderScore    `json:"order_score"`
	Bands     [reaches]Band `json:"bands"`
	Own       int           `json:"own_curves"`
	Beside    []Neighbour   `json:"published"`
}

// A Refusal is a number of CPUs for which there is no figure.
type Refusal struct {
	CPUs int    `json:"cpus"`
	Why  string `json:"why"`
}

// Ceilings are what the remedies can give at most, on the CPUs asked about or, where
// these are refused, on those measured.
type Ceilings struct {
	CPUs           int       `json:"cpus"`
	Lanes          []Ceiling `json:"lanes"`
	LaneShortfall  float64   `json:"lane_shortfall"` // factor, from LaneCurves published curves
	LaneCurves     int       `json:"lane_curves"`
	Batches        []Ceiling `json:"batches"`
	OwnCost        float64   `json:"own_cost_ns"` // of an item
	OwnCostKnown   bool      `json:"own_cost_known"`
	BatchShortfall float64   `json:"batch_shortfall"`
}

// NewReport answers. There must be a count at least.
func NewReport(q Question) *Report {
	// A curve has no part in the band of its own prediction.
	curves := slices.DeleteFunc(slices.Concat(q.Published, q.Own), q.Curve.same)
	bands := Calibrate(curves)
	f := NewForecast(q.Swept.Single, q.Limits, bands)
	r := &Report{
		Curve: q.Curve, Here: q.Here, Swept: q.Swept, CPUsKnown: q.CPUsKnown, Limits: q.Limits,
		Law: f.Law, OrderIs: scoreOrder(curves, 2), Bands: bands, Own: len(q.Own),
		Beside: Beside(curves, q.GoVersion, q.Arch),
	}
	if f.NoLaw != nil {
		r.NoLaw = f.NoLaw.Error()
	}
	asked := max(q.Limits.Target.CPUs, f.Largest())
	r.Peak = f.Peak(asked)
	r.figures(f, asked)
	r.plateau(f)
	r.ceilings(f, min(asked, f.Reach()), curves)
	if len(r.Refused) > 0 || f.Law == nil {
		r.Order = Order()
	}
	return r
}

// figures asks for the measured counts, their doublings, and the count asked
// about.
func (r *Report) figures(f *Forecast, asked int) {
	var wanted []int
	for _, c := range f.Counts {
		wanted = append(wanted, c.Procs)
	}
	for n := 1; n < asked; n *= 2 {
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

// plateau takes it from the law, with the band of the farthest figures: it is
// farther than any.
func (r *Report) plateau(f *Forecast) {
	if f.Law == nil || f.Law.Kappa > 0 || f.Law.Sigma == 0 {
		return
	}
	if figure := f.banded(0, f.Law.Plateau(), far, Extrapolated); f.Reach() >= Far*f.Largest() {
		r.Plateau = &figure
	}
}

// batchSizes are those for which a ceiling is printed.
var batchSizes = []int{8, workload.BatchSize, 512}

func (r *Report) ceilings(f *Forecast, cpus int, curves []Curve) {
	c := Ceilings{CPUs: cpus, BatchShortfall: BatchShortfall}
	c.LaneShortfall, c.LaneCurves = LaneShortfall(curves)
	for lanes := 2; lanes <= cpus; lanes *= 2 {
		if ceiling, err := f.Lanes(lanes, cpus, c.LaneShortfall); err == nil {
			c.Lanes = append(c.Lanes, ceiling)
		}
	}
	single, ok := countAt(r.Swept.Single, 1)
	batched, ok2 := countAt(r.Swept.Batches, 1)
	if c.OwnCostKnown = ok && ok2; c.OwnCostKnown {
		c.OwnCost = OwnCost(batched, single, workload.BatchSize)
	}
	for _, size := range batchSizes {
		if ceiling, err := f.Batches(size, cpus, c.OwnCost); err == nil {
			c.Batches = append(c.Batches, ceiling)
		}
	}
	r.Ceilings = c
}

// WriteJSON writes the report as it is.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteJSON writes the score as it is.
func (s Score) WriteJSON(w io.Writer) error { return writeJSON(w, s) }

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}
