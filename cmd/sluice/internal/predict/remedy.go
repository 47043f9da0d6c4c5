package predict

import (
	"fmt"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A Swept is what one source measured of a resource and of its remedies.
type Swept struct {
	Single  []Count `json:"one_by_one"`
	Batches []Count `json:"in_batches,omitempty"` // of workload.BatchSize values
	Lanes   []Count `json:"in_lanes,omitempty"`   // a private part for each CPU
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
func (f *Forecast) lanes(n int, measured []Count) []Remedy {
	what := fmt.Sprintf("%d lanes", n)
	if len(measured) > 0 {
		if figure, err := NewForecast(measured, f.Limits, f.past).At(float64(n)); err == nil {
			return []Remedy{{what, figure, ""}}
		}
	}
	_, rate := perCPU(measured, 2)
	of := "of lanes on several CPUs"
	if rate == 0 && f.Counts[0].Procs == 1 {
		_, rate = perCPU(f.Counts, 1)
		of = "of one CPU"
	}
	if rate == 0 {
		return nil
	}
	x := float64(n) * rate
	return []Remedy{{what, Figure{float64(n), x, 0, x, Extrapolated}, fmt.Sprintf("%s times %s, the best rate %s", cpusText(float64(n)), format.Rate(rate), of)}}
}

// leastOwn is the floor of the time of one CPU that a value takes even in the
// largest batch, in ns: a store, a load, and the two loops around them take
// about two cycles at 4 GHz.
const leastOwn = 0.5

// batches returns the throughput of batches on n CPUs. The time of a value is its
// share of a transfer, plus a time of its own, which measured batches show; without
// them there is no limit, because a value takes that time in the largest batch.
func (f *Forecast) batches(n int, measured []Count) (found []Remedy) {
	one, err := f.At(float64(n))
	if err != nil || len(measured) == 0 {
		return nil
	}
	figure, err := NewForecast(measured, f.Limits, f.past).At(float64(n))
	if err != nil {
		return nil
	}
	transfer := 1e9 / one.X
	own := max(leastOwn/float64(n), 1e9/figure.X-transfer/workload.BatchSize)
	for _, size := range []int{8, workload.BatchSize, 512} {
		r := Remedy{What: fmt.Sprintf("batches of %d", size), Figure: figure}
		if size != workload.BatchSize {
			x := 1e9 / (transfer/float64(size) + own)
			r.Figure = Figure{float64(n), x, 0, x, Extrapolated}
			r.AtMost = fmt.Sprintf("%s ns of each value are its own", format.Figure(own))
		}
		found = append(found, r)
	}
	return found
}
