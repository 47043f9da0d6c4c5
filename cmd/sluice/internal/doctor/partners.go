package doctor

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Partners are two operations that use, or may use, the same channel. A select
// may be either side.
type Partners struct {
	Sender   Place    `json:"sender"`
	Receiver Place    `json:"receiver"`
	PerSec   *float64 `json:"wakeups_per_second"` // of one by the other; null without a trace
	Sure     Sureness `json:"sure"`
}

// Sureness is how the two operations were matched.
type Sureness string

// The levels of sureness. Channels have no names in profiles.
const (
	Seen   Sureness = "seen"   // one woke the other in the trace
	Likely Sureness = "likely" // the only candidate with a cost
	Guess  Sureness = "guess"  // the most expensive candidate in the same package, preferably of another function
)

// smallSite is the share of the channels' cost below which an operation is no
// candidate.
const smallSite = 0.03

// partners pairs senders with receivers.
func (f *facts) partners() []Partners {
	if t := f.capture.Trace; t != nil && len(t.Pairs) > 0 {
		return seenPartners(t)
	}
	var from, to []*Operation
	for i := range f.operations {
		o := &f.operations[i]
		if o.Weight < smallSite && deref(o.Waiting) == 0 {
			continue
		}
		// A select may be either side: it is taken for the missing one.
		if sends(o) {
			from = append(from, o)
		} else if receives(o) {
			to = append(to, o)
		}
	}
	for i := range f.operations {
		if o := &f.operations[i]; o.Op == profile.Select && o.Weight >= smallSite {
			if len(to) == 0 {
				to = append(to, o)
			} else if len(from) == 0 {
				from = append(from, o)
			}
		}
	}
	pairs := []Partners{}
	taken := make(map[*Operation]bool)
	for _, s := range from {
		r, sure := partner(s, to, taken)
		if len(from) > 1 && sure == Likely {
			sure = Guess
		}
		if r != nil {
			taken[r] = true
			pairs = append(pairs, Partners{Sender: s.Place, Receiver: r.Place, Sure: sure})
		}
	}
	return pairs
}

// partner returns the receiver for the sends at s: the most expensive one in
// the same package. It prefers another function, because a stage receives from
// one channel and sends to the next, and a receiver that is not yet paired.
func partner(s *Operation, to []*Operation, taken map[*Operation]bool) (*Operation, Sureness) {
	if len(to) == 1 {
		return to[0], Likely
	}
	var best *Operation
	rank := -1
	for _, r := range to {
		if r.site.At.Package() != s.site.At.Package() {
			continue
		}
		n := 0
		if r.site.At.Function != s.site.At.Function {
			n += 2
		}
		if !taken[r] {
			n++
		}
		if n > rank {
			best, rank = r, n
		}
	}
	if best == nil {
		return nil, ""
	}
	return best, Guess
}

// seenPartners returns the pairs that woke each other, in either direction, the
// most frequent first.
func seenPartners(t *profile.Trace) []Partners {
	type pair struct{ sender, receiver profile.Site }
	counts := make(map[pair]int64)
	var order []pair
	for _, p := range t.Pairs {
		if !p.Waker.Op.Channel() || !p.Sleeper.Op.Channel() {
			continue
		}
		key := pair{p.Waker, p.Sleeper}
		if p.Sleeper.Op.Sends() || p.Waker.Op.Receives() {
			key = pair{p.Sleeper, p.Waker}
		}
		if counts[key] == 0 {
			order = append(order, key)
		}
		counts[key] += p.Count
	}
	slices.SortStableFunc(order, func(a, b pair) int { return cmp.Compare(counts[b], counts[a]) })
	pairs := []Partners{}
	for _, key := range order {
		p := Partners{Sender: place(key.sender), Receiver: place(key.receiver), Sure: Seen}
		if w := t.Window.Seconds(); w > 0 {
			p.PerSec = known(float64(counts[key]) / w)
		}
		pairs = append(pairs, p)
	}
	return pairs
}
