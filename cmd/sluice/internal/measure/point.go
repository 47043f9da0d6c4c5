// Package measure runs the points of an experiment: several contenders do the
// same work in turn, repeatedly, and every figure is kept.
//
// What may enter: fair measurements, and handling of contenders that fail, hang
// or are interrupted. The package knows no experiment and no contender, and
// judges no figure: packages lab and stat do.
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

// A Reading is the result of one pass over the work: a time for a number of
// operations, other figures, or both. A pass without a time is not repeated.
// Figures beside a time must be shares of it, or rates: several passes are
// averaged, weighted by time.
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
	// checks the tally. It returns an error if the tally is wrong.
	Pass func() (Reading, error)
}

// A LeftOut is a contender that cannot do the work of a Point, and the reason.
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
	Ops     int      `json:"ops"` // operations that were averaged
	Figures []Figure `json:"figures"`
}

// A Result is the outcome of an Entry.
type Result struct {
	Contender   ContenderID  `json:"contender"`
	Repetitions []Repetition `json:"repetitions"` // the i-th of all entries are from one round
	Err         error        `json:"-"`           // why the entry was given up, or nil
}

// timed returns the total duration of the timed repetitions.
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

// Samples returns the figures in the given unit, one per repetition.
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

// An Outcome is a Point with the results of its entries, in their order. After
// an interrupt an entry may have fewer repetitions than planned; if the point
// was run longer, it has more.
type Outcome struct {
	Point   *Point
	Results []Result
	State
}

// A State is what is known of a Point besides its figures.
type State struct {
	Finished bool        `json:"finished"`          // every entry has its repetitions, or was given up
	Reduced  int         `json:"reduced,omitempty"` // rounds, if the Pace left fewer than planned, because the time of the run was up
	Sitting  int         `json:"sitting"`           // the run of the program that measured it, from 0, numbered by the caller
	Usage    *host.Usage `json:"usage,omitempty"`   // of the machine, during the repetitions; nil if not watched
}

// rounds returns the number of rounds without additional ones.
func (o *Outcome) rounds() int {
	if o.Reduced > 0 {
		return o.Reduced
	}
	return o.Point.Count
}

// NewOutcomes returns empty outcomes of points.
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

// Missing returns the number of repetitions of the i-th entry that an interrupt
// prevented.
func (o *Outcome) Missing(i int) int {
	if o.Results[i].Err != nil {
		return 0
	}
	return max(0, o.rounds()-len(o.Results[i].Repetitions))
}

// use adds the usage of a repetition.
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
