// Package predict predicts a throughput on more CPUs, from a few measured counts
// of CPUs, with a band for each prediction.
//
// # The law
//
// The Universal Scalability Law gives the throughput X of N processors that
// share a resource:
//
//	X(N) = λN / (1 + σ(N−1) + κN(N−1))
//
// λ is the throughput of one processor, in operations per second. σ is the
// serial share of the work: it makes the curve level off. κ is the cost of each
// pair of processors: it makes the curve come down again. Source: N. Gunther,
// "A General Theory of Computational Scalability Based on Rational Functions",
// 2008.
//
// Here σ may exceed 1, while others clamp it to [0, 1], because it is a share.
// On one CPU a channel's goroutines never wait for another CPU, and its cache
// lines never move; on two CPUs it is often two or three times slower. That is
// a σ of 2 to 5. A law with a clamped σ would put the difference into κ, and
// predict a collapse that does not happen.
//
// # What became of curves like this one
//
// The law fits nearly any curve, which does not validate it for larger counts.
// So each figure has a mode: measured, interpolated or extrapolated. The law only
// says what a curve looks like; a figure that was not measured is what became of
// the published curves that looked the same: their median, and the band of most
// of them. A curve that is linear so far is compared with private parts for each
// CPU, and one that falls with contended locks; no rule tells them apart.
//
// What may enter: the law, published curves, and predictions from both. Flags
// and help are in package main.
package predict

import "slices"

// A Question is the input of a report.
type Question struct {
	Curve     Curve   `json:"curve"`                  // describes the measurement
	Here      bool    `json:"measured_now"`           // on this machine
	Others    int     `json:"other_series,omitempty"` // of the file, which were not chosen
	Swept     Swept   `json:"measured"`               // the figures; at least Single
	CPUsKnown bool    `json:"cpus_known"`             // of the measured machine
	Limits    Limits  `json:"limits"`
	Published []Curve `json:"-"` // built-in
	Own       []Curve `json:"-"` // the user's
}

// A Report is the answer to a Question.
type Report struct {
	Question
	Law      *Law      `json:"law,omitempty"`
	NoLaw    string    `json:"no_law,omitempty"`
	Peak     Peak      `json:"peak"`
	Figures  []Figure  `json:"figures"`
	Refused  []Refusal `json:"refused,omitempty"`
	OnCPUs   int       `json:"remedies_on_cpus"` // the requested CPUs, or, if these have no figure, the most that have
	Remedies []Remedy  `json:"remedies"`
	OwnUsed  int       `json:"own_curves"`
	Alike    []Curve   `json:"alike"` // published curves that looked like this one
}

// A Refusal is a number of CPUs for which there is no figure.
type Refusal struct {
	CPUs int    `json:"cpus"`
	Why  string `json:"why"`
}

// mostAlike is the number of published curves shown.
const mostAlike = 6

// NewReport answers a question, which must have at least one count.
func NewReport(q Question) *Report {
	// A prediction does not know its own curve.
	past := NewPast(slices.DeleteFunc(slices.Concat(q.Published, q.Own), q.Curve.same))
	f := NewForecast(q.Swept.Single, q.Limits, past)
	asked := max(q.Limits.Target.CPUs, f.Largest())
	r := &Report{Question: q, Law: f.Law, OwnUsed: len(q.Own), OnCPUs: f.Reach(asked)}
	r.figures(f, asked)
	r.Peak = peakOf(r.Figures)
	r.Remedies = f.remedies(r.OnCPUs, q.Swept)
	if f.NoLaw != nil {
		r.NoLaw = f.NoLaw.Error()
	} else {
		r.Alike = past.alike(beyond(f.Counts, *f.Law, max(r.OnCPUs, Near*f.Largest())), mostAlike)
	}
	return r
}

// figures collects the figures of the measured counts, their doublings, and the
// requested count.
func (r *Report) figures(f *Forecast, asked int) {
	wanted := []int{asked}
	for _, c := range f.Counts {
		wanted = append(wanted, c.Procs)
	}
	for n := f.Counts[0].Procs; n < asked; n *= 2 {
		wanted = append(wanted, n)
	}
	slices.Sort(wanted)
	for _, n := range slices.Compact(wanted) {
		if figure, err := f.At(n); err != nil {
			r.Refused = append(r.Refused, Refusal{n, err.Error()})
		} else {
			r.Figures = append(r.Figures, figure)
		}
	}
}
