package doctor

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Partners are two operations on what is, or may be, one channel. A select may
// be either side.
type Partners struct {
	Sender   Place    `json:"sender"`
	Receiver Place    `json:"receiver"`
	PerSec   *float64 `json:"wakeups_per_second"` // one by the other; null without a trace
	Sure     Sureness `json:"sure"`
}

// Sureness is how two operations were found to belong together.
type Sureness string

// How sure it is, the surest first. Channels have no names in profiles.
const (
	Seen   Sureness = "seen"   // in the trace one woke the other
	Likely Sureness = "likely" // there is no other candidate that costs anything
	Guess  Sureness = "guess"  // the dearest candidate in the same package, of another function if there is one
)

// smallSite is the share of the channels' cost below which an operation is no
// candidate.
const smallSite = 0.03

// partners pairs senders and receivers.
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
		// A select may be either side: it is the one that nothing else is.
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

// partner is who receives what is sent at s: the dearest in the same package, rather of
// another function, for a stage receives from one channel and sends to the next, and
// rather one that no dearer send was given.
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

// seenPartners takes who woke whom, in either direction, the most frequent first.
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
