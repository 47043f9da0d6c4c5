package doctor

// A RemedyName is what can be done. Programs compare it.
type RemedyName string

// The remedies.
const (
	Buffer        RemedyName = "buffer"         // more slots
	Batch         RemedyName = "batch"          // slices of values
	Shard         RemedyName = "shard"          // several channels, or sluice.Sharded
	Elastic       RemedyName = "elastic"        // a queue that grows, without a goroutine between two channels
	HandOff       RemedyName = "hand-off"       // sluice.Rendezvous
	MergeSelects  RemedyName = "merge selects"  // one channel in place of many cases
	OwnDone       RemedyName = "own done"       // a done channel for each goroutine, or none
	FewerPs       RemedyName = "fewer Ps"       // a lower GOMAXPROCS
	MoreReceivers RemedyName = "more receivers" //
	Fuse          RemedyName = "fuse stages"    // one goroutine does the work of two
	Mutex         RemedyName = "mutex"          // sync.Mutex in place of a channel as a lock
	Block         RemedyName = "block"          // a receive without default
	OneTimer      RemedyName = "one timer"      // that is reset, in place of one for each round
	End           RemedyName = "end it"         // a way out for goroutines that wait for ever
	NoChange      RemedyName = "nothing"        // to the channels
)

// A Remedy is what to do, and what it should give.
type Remedy struct {
	Name  RemedyName `json:"name"`
	How   string     `json:"how"`
	Gain  Range      `json:"gain"`  // throughput, as a factor; 1 is no change
	Basis string     `json:"basis"` // what the gain is computed from
}

// Not is a remedy that would tempt, and why it would not help.
type Not struct {
	Name RemedyName `json:"name"`
	Why  string     `json:"why"`
}

// A Range is a prediction: Mid is what the figures say, and the truth should lie
// from Low to High.
type Range struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// Spread of predictions. With pools and pipelines the bounded gain was right
// within 15 %; profiles of five seconds and what a remedy costs itself are as
// much again. It is a ceiling rather than a middle, so there is more below.
const (
	gainBelow = 0.65 // of the middle
	gainAbove = 1.25
	// mostGain bounds every prediction. With 99 % of the cores in channels it is
	// noise in the remaining 1 % that decides between ×50 and ×200.
	mostGain = 60
	// neverWorse: a remedy that fits costs at most this.
	neverWorse = 0.90
)

// around is a range about a middle.
func around(mid float64) Range { return between(mid*gainBelow, mid, mid*gainAbove) }

// between bounds a range to what can be.
func between(low, mid, high float64) Range {
	fit := func(v float64) float64 { return min(mostGain, max(neverWorse, v)) }
	// Prices of some machine may stand in another order than those of the reference.
	r := Range{Low: fit(min(low, mid, high)), Mid: fit(mid), High: fit(max(low, mid, high))}
	r.Mid = min(max(r.Mid, r.Low), r.High)
	return r
}

// bounded is by what throughput grows if the removable part of a share of the work
// is gone, and all cores there are work: (available / used) / (1 − share × removable).
func bounded(used, share, removable float64) float64 {
	return 1 / (max(used, 1.0/mostGain) * (1 - min(1, share)*removable))
}

// removable is the part of a price that another one saves, from 0 to 1.
func removable(price, better float64) float64 {
	if price <= 0 {
		return 0
	}
	return max(0, 1-better/price)
}

// Words for where a gain is from.
const (
	byLoad = "what the service has to do besides, on the cores there are at most and on those in use at least, and measured prices of what stays"
)
