// Package measure runs what an experiment describes: the same work by several
// contenders in turn, again and again, and keeps every figure.
//
// What may enter: how to take a measurement fairly and how to survive one that
// fails, hangs or is interrupted. It knows no experiment and no contender, and
// judges nothing: that is the business of packages experiment and stat.
package measure

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
)

// A Figure is one measured number.
type Figure struct {
	Unit  string  `json:"unit"` // as in the Go benchmark format: "ns/op"
	Value float64 `json:"value"`
}

// NsPerOp is the unit of every timed figure.
const NsPerOp = "ns/op"

// A Reading is what one pass over the work yields: a time for a number of
// operations, figures of its own, or both. A pass without a time is not repeated
// to fill it. Figures beside a time must be shares of it, or rates: of several passes
// the mean counts, by time.
type Reading struct {
	Ops     int
	Elapsed time.Duration
	Figures []Figure
}

// A ContenderID identifies a contender in code and in files.
type ContenderID string

// An Entry is a contender set to the work of a Point.
type Entry struct {
	Contender ContenderID
	// Pass does the work once, from making the channel to draining it, and
	// checks the tally: an error says what is wrong with it.
	Pass func() (Reading, error)
}

// A LeftOut is a contender that cannot do the work of a Point, and why.
type LeftOut struct {
	Contender ContenderID `json:"contender"`
	Reason    string      `json:"reason"`
}

// A Label is one setting in the name of a Point.
type Label struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// A Setting describes a Point, in a plan and in a report.
type Setting struct {
	Name    string    `json:"name"`       // for people
	Labels  []Label   `json:"labels"`     // for programs: they identify the point, in order
	Procs   int       `json:"gomaxprocs"` // GOMAXPROCS
	Count   int       `json:"count"`      // planned repetitions; a point that was run longer has more
	LeftOut []LeftOut `json:"left_out"`
}

// A Point is one setting under which all entries do the same work.
type Point struct {
	Setting
	Target time.Duration // time per repetition
	// Pass is about how long one pass of an entry takes if that is more than
	// Target. Only the estimate of the run's length uses it.
	Pass    time.Duration
	Entries []Entry
}

// A Repetition is one figure, or one set of figures, of an entry.
type Repetition struct {
	Ops     int      `json:"ops"` // operations it is the mean of
	Figures []Figure `json:"figures"`
}

// A Result is what became of an Entry.
type Result struct {
	Contender   ContenderID  `json:"contender"`
	Repetitions []Repetition `json:"repetitions"` // the i-th of every entry were taken in one round
	Err         error        `json:"-"`           // why the entry was given up, nil if it was not
}

// timed returns how long the repetitions took, of those that are times.
func (o *Outcome) timed() time.Duration {
	ns := 0.0
	for _, result := range o.Results {
		for _, repetition := range result.Repetitions {
			for _, figure := range repetition.Figures {
				if figure.Unit == NsPerOp {
					ns += figure.Value * float64(repetition.Ops)
				}
			}
		}
	}
	return time.Duration(ns)
}

// Samples returns the figures in the given unit, one for each repetition.
func (r *Result) Samples(unit string) []float64 {
	var samples []float64
	for _, repetition := range r.Repetitions {
		for _, figure := range repetition.Figures {
			if figure.Unit == unit {
				samples = append(samples, figure.Value)
			}
		}
	}
	return samples
}

// An Outcome is a Point with the results of its entries, in their order. What an
// interrupt left undone has fewer repetitions than the point asks for; a point that
// was run longer has more.
type Outcome struct {
	Point    *Point
	Results  []Result
	Finished bool        // every entry has its repetitions, or was given up
	Usage    *host.Usage // of the machine, during the repetitions; nil if nobody watched
	Sitting  int         // in which run of the program it was measured; the caller's
}

// NewOutcomes returns the outcomes of points that are still to be measured.
func NewOutcomes(points []*Point) []Outcome {
	outcomes := make([]Outcome, len(points))
	for i, point := range points {
		outcomes[i] = Outcome{Point: point, Results: make([]Result, len(point.Entries))}
		for j := range point.Entries {
			outcomes[i].Results[j].Contender = point.Entries[j].Contender
		}
	}
	return outcomes
}

// Result returns the result of a contender, or nil.
func (o *Outcome) Result(contender ContenderID) *Result {
	for i := range o.Results {
		if o.Results[i].Contender == contender {
			return &o.Results[i]
		}
	}
	return nil
}

// Missing returns how many repetitions of the i-th entry an interrupt prevented.
func (o *Outcome) Missing(i int) int {
	if o.Results[i].Err != nil {
		return 0
	}
	return max(0, o.Point.Count-len(o.Results[i].Repetitions))
}

// use adds what a repetition used of the machine.
func (o *Outcome) use(usage *host.Usage) {
	switch {
	case usage == nil:
	case o.Usage == nil:
		o.Usage = usage
	default:
		sum := o.Usage.Plus(*usage)
		o.Usage = &sum
	}
}
