package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Partners are two operations on one channel. A select may be either side.
type Partners struct {
	Sender   Place    `json:"sender"`
	Receiver Place    `json:"receiver"`           // empty if it is unknown
	PerSec   *float64 `json:"wakeups_per_second"` // of one by the other; null without a trace
	Sure     Sureness `json:"sure"`
	Why      string   `json:"why,omitempty"` // why the receiver is unknown
}

// Sureness is how the two operations were matched. Channels have no names in
// profiles.
type Sureness string

// The levels of sureness.
const (
	Seen   Sureness = "seen"    // one woke the other in the trace
	OnMap  Sureness = "map"     // their functions use the same channel on the map of the service
	Likely Sureness = "likely"  // the only candidate whose cost and waits fit
	Unseen Sureness = "unknown" // none or several fit
)

// smallSite is the share of the channels' cost below which an operation is no
// candidate.
const smallSite = 0.03

// partners pairs senders with receivers. Without a trace, the receiver is the
// only candidate, or unknown.
func (f *facts) partners() []Partners {
	if t := f.capture.Trace; t != nil && len(t.Pairs) > 0 {
		pairs := seenPartners(t)
		for i := range pairs {
			f.place(&pairs[i].Sender)
			f.place(&pairs[i].Receiver)
		}
		return pairs
	}
	pairs := []Partners{}
	for i := range f.operations {
		s := &f.operations[i]
		if !sends(s) || s.Weight < smallSite && deref(s.Waiting) == 0 {
			continue
		}
		if on := f.mappedPartners(s); len(on) > 0 {
			pairs = append(pairs, on...)
			continue
		}
		p := Partners{Sender: s.Place, Sure: Unseen}
		to := f.candidates(s)
		if len(to) == 1 {
			to = append(to, f.cheapCandidates(s)...)
		}
		switch len(to) {
		case 0:
			p.Why = "no receive with a cost or a wait that fits was seen"
		case 1:
			p.Receiver, p.Sure = to[0].Place, Likely
		default:
			p.Why = fmt.Sprintf("%s or %s", to[0], to[1])
			if more := len(to) - 2; more > 0 {
				p.Why = fmt.Sprintf("%s, %s or %s", to[0], to[1], format.Plural(more, "other operation"))
			}
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// place adds to a place what the operation there knows.
func (f *facts) place(p *Place) {
	for i := range f.operations {
		if o := &f.operations[i]; place(o.site) == *p {
			*p = o.Place
			return
		}
	}
}

// candidates returns the receives and selects that may belong to a send: they
// cost CPU time if the send does, do not all wait while goroutines wait to send,
// and are in the same package if any is. The users of a lock face themselves.
func (f *facts) candidates(s *Operation) (to []*Operation) {
	same, other := f.otherEnds(s)
	if f.purpose(s).use == tokens {
		return same
	}
	other = slices.DeleteFunc(other, func(r *Operation) bool { return !f.fits(s, r) })
	for _, r := range other {
		if r.site.At.Package() == s.site.At.Package() {
			to = append(to, r)
		}
	}
	if len(to) > 0 {
		return to
	}
	return other
}

// fits reports whether a receive or select may belong to a send, by what both are and how they
// wait.
func (f *facts) fits(s, r *Operation) bool {
	return !bothWait(s, r) && sameRepository(s.Function, r.Function) && r.ours() == s.ours() && f.queueOf(r) == nil
}

// cheapCandidates returns the receives that cost too little for a candidate, but more than
// nothing: who parks for each value leaves most of the cost to the sender that wakes it.
func (f *facts) cheapCandidates(s *Operation) (to []*Operation) {
	for i := range f.operations {
		r := &f.operations[i]
		if receives(r) && r.Weight > 0 && r.Weight < smallSite && !f.related(s, r) && f.fits(s, r) && r.site.At.Package() == s.site.At.Package() {
			to = append(to, r)
		}
	}
	return to
}

// mayMeet reports whether a send and a receive may belong to one channel: the
// trace has wake-ups of one by the other, or has none at all, and they are in one
// repository.
func (f *facts) mayMeet(s, r *Operation) bool {
	if len(f.pairs()) == 0 {
		return sameRepository(s.Function, r.Function)
	}
	return slices.ContainsFunc(f.pairs(), func(p profile.Pair) bool {
		return p.Waker == s.site && p.Sleeper == r.site || p.Waker == r.site && p.Sleeper == s.site
	})
}

// bothWait reports whether goroutines wait to send while all goroutines of a
// receive wait too: at one moment, they cannot wait for the same channel. Only
// the dump has states of one moment.
func bothWait(s, r *Operation) bool {
	n, counted := r.count()
	return deref(s.Waiting) > 0 && counted && deref(r.Waiting) > 0 && deref(r.Waiting) >= n
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
		if p.Waker.Op.Sends() && p.Sleeper.Op.Sends() || p.Waker.Op.Receives() && p.Sleeper.Op.Receives() {
			continue // in a channel of sluice, a waiter wakes the next one
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
