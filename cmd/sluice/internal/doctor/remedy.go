package doctor

import "encoding/json"

// A RemedyName identifies a remedy. Programs may compare it.
type RemedyName string

// The remedies.
const (
	Buffer          RemedyName = "buffer"                 // a larger buffer
	Batch           RemedyName = "batch"                  // slices of values
	Shard           RemedyName = "shard"                  // several channels, or sluice.Sharded
	Elastic         RemedyName = "elastic"                // a growing queue without a goroutine between two channels
	HandOff         RemedyName = "hand-off"               // sluice.Rendezvous
	MergeChannels   RemedyName = "merge channels"         // one channel instead of many cases
	SeparateDone    RemedyName = "separate done channels" // one done channel per goroutine, or none
	LowerGOMAXPROCS RemedyName = "lower GOMAXPROCS"
	MoreReceivers   RemedyName = "more receivers" //
	Fuse            RemedyName = "fuse stages"    // one goroutine for two stages
	Mutex           RemedyName = "mutex"          // sync.Mutex instead of a channel
	Block           RemedyName = "block"          // a select without default
	ReuseTimer      RemedyName = "reuse timer"    // one timer with Reset instead of one per iteration
	Cancel          RemedyName = "cancel"         // end goroutines that wait forever
	Limit           RemedyName = "limit"          // a limit for a queue without one
	Promise         RemedyName = "promise"        // SingleSender or SingleReceiver of a channel of sluice
	RemoveHop       RemedyName = "remove the hop" // a goroutine less between two others
	LargerPool      RemedyName = "larger pool"    // more connections, objects or tokens
	HoldShorter     RemedyName = "hold shorter"   // give the pooled object back earlier
	WorkerPool      RemedyName = "worker pool"    // long-lived goroutines instead of one per value
	BalanceKeys     RemedyName = "balance keys"   // values spread over all shards
	ReuseSlices     RemedyName = "reuse slices"   // slices of values that the receiver gives back
	NoChange        RemedyName = "no change"      // leave the channels as they are
)

// A Remedy is a change and its predicted gain.
type Remedy struct {
	Name  RemedyName `json:"name"`
	How   string     `json:"how"`
	Gain  Range      `json:"gain"`  // throughput as a factor; 1 is no change, and null is unknown
	Basis string     `json:"basis"` // how the gain is computed
}

// RuledOut is a plausible remedy that would not help, and why.
type RuledOut struct {
	Name RemedyName `json:"name"`
	Why  string     `json:"why"`
}

// A Range is a prediction: the most likely value, and the bounds that should
// hold. The zero value is an unknown gain: nothing that was measured bounds it.
type Range struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// known reports whether r is a prediction.
func (r Range) known() bool { return r.High > 0 }

// MarshalJSON writes an unknown gain as null.
func (r Range) MarshalJSON() ([]byte, error) {
	if !r.known() {
		return []byte("null"), nil
	}
	type fields Range // without this method
	return json.Marshal(fields(r))
}

// Spread of predictions that do not follow from bounds; see ADR 12.
const (
	gainBelow = 0.65 // of Mid
	gainAbove = 1.25
	// mostGain bounds every prediction: with 99% of the cores in channels,
	// noise in the remaining 1% decides between ×50 and ×200.
	mostGain = 60
	// neverWorse is the lowest prediction: a fitting remedy costs no more than
	// this.
	neverWorse = 0.90
)

// around returns a range around mid.
func around(mid float64) Range { return between(mid*gainBelow, mid, mid*gainAbove) }

// between returns a range within the bounds of all predictions.
func between(low, mid, high float64) Range {
	fit := func(v float64) float64 { return min(mostGain, max(neverWorse, v)) }
	// Another machine's prices may be in a different order than the
	// reference's.
	r := Range{Low: fit(min(low, mid, high)), Mid: fit(mid), High: fit(max(low, mid, high))}
	r.Mid = min(max(r.Mid, r.Low), r.High)
	return r
}

// bounded returns the throughput factor once the removable part of a share of
// the work is gone and all cores are busy: (available / used) / (1 − share ×
// removable).
func bounded(used, share, removable float64) float64 {
	return 1 / (max(used, 1.0/mostGain) * (1 - min(1, share)*removable))
}

// removable returns the part of a price that a better one saves, from 0 to 1.
func removable(price, better float64) float64 {
	if price <= 0 {
		return 0
	}
	return max(0, 1-better/price)
}

// How gains are computed, for Remedy.Basis.
const (
	byLoad = "the service's other work, on the cores in use and on all available cores, plus the measured price of the remaining channel operations"
)
