package doctor

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Leak is the finding that goroutines wait forever.
const Leak Kind = "leak"

const (
	// growthCount and growthPart are the increase of goroutines at one place,
	// between two snapshots, that is not chance: an absolute number and a part
	// of the earlier number.
	growthCount = 10
	growthPart  = 0.2
	// growthErrors is the same in standard deviations of two random numbers.
	growthErrors = 2
	// longWait and longCount suggest a leak: at least longCount goroutines have
	// waited at one place, one of them for longWait. An idle pool looks the
	// same, so this is the weakest evidence.
	longWait = 5 * time.Minute
	// leaksMore is the number of leaked goroutines for each one that waits for a
	// mutex, above which the leak comes first where the CPU is idle: 332 for 5 in
	// a service whose exports wait for their time-out, one at a time.
	leaksMore = 10
	longCount = 100
)

var leakRules = []rule{{
	kind: Leak, look: leak,
	reason: "the goroutineleak profile proves it; growth at one place suggests it; long waits are a hint",
}}

// leak uses the best evidence available: proof, then growth, then long waits.
func leak(f *facts) *Finding {
	if l := f.capture.Leaks; l != nil && l.Total > 0 {
		return leakProved(l)
	}
	if found := f.leakGrows(); found != nil {
		return found
	}
	return f.leakLong()
}

func leakProved(l *profile.Leaks) *Finding {
	most := -1
	for i, s := range l.Sites {
		if s.Op.Channel() && (most < 0 || s.Count() > l.Sites[most].Count()) {
			most = i
		}
	}
	if most < 0 {
		return nil // none of them waits for a channel
	}
	s := l.Sites[most]
	found := leakFinding(s, High)
	found.Text = fmt.Sprintf("Goroutine leak: %d goroutines are blocked forever, %d of them in %s. Nothing that still runs "+
		"can reach what they wait for.", l.Total, s.Count(), s.Site)
	found.addEvidence(profile.KindLeak, fmt.Sprintf("the garbage collector proved %d goroutines leaked", l.Total))
	return found
}

func leakFinding(s profile.GoroutineSite, sure Confidence) *Finding {
	at := place(s.Site)
	found := &Finding{Channels: true, At: &at, Confidence: sure}
	how := "let them end: add a done case or a context to the operation, or close the channel once, by its sender"
	if s.Op == profile.Send { // closing it would make them panic
		how = "let them end: add a done case or a context to the operation, or let a receiver drain the channel"
	}
	if s.CreatedBy.Function != "" {
		how += "; they are started at " + s.CreatedBy.String()
	}
	const memory = "it frees memory, but does not change throughput"
	found.Remedies = []Remedy{{Cancel, how, between(1, 1, 1), memory}}
	if s.Op == profile.Send {
		slot := Remedy{Buffer, "if each goroutine sends one value on its own channel, give that channel one slot, so that no " +
			"receiver is needed", between(1, 1, 1), memory}
		found.Remedies = append([]Remedy{slot}, found.Remedies...)
		return found
	}
	found.RuledOut = []RuledOut{{Buffer, "the receivers wait for a value or a close, and a buffer brings neither."}}
	return found
}

// leakGrows compares two snapshots.
func (f *facts) leakGrows() *Finding {
	g := f.capture.Goroutines
	if g == nil || !g.GrowthKnown || !totalGrew(g) {
		return nil
	}
	most, more := -1, 0
	for i, s := range g.Sites {
		if grown := min(growth(s), g.Total-g.Earlier); s.Op.Channel() && grown > more && !f.moves(s.Site) && moreOf(g, s.Root) && mostWait(g, s) {
			most, more = i, grown
		}
	}
	if most < 0 {
		return nil
	}
	s := g.Sites[most]
	found := leakFinding(s, Medium)
	found.Text = fmt.Sprintf("The number of goroutines in %s keeps growing: a goroutine leak, or rising load.", s.Site)
	apart := ""
	if g.Apart > 0 {
		apart = " within " + g.Apart.Round(time.Second).String()
	}
	found.addEvidence(profile.KindGoroutine, fmt.Sprintf("from %d to %d goroutines%s", s.Earlier, s.Count(), apart))
	found.leads = f.cores < loadCores && float64(s.Count()) >= leaksMore*max(1, f.inLocks())
	return found
}

// inLocks returns the number of goroutines that wait for locks of package sync.
func (f *facts) inLocks() float64 { return max(float64(f.blockedOnSync()), value(f.syncWait)) }

// growth returns the increase of goroutines at a site, 0 if that may be chance.
func growth(s profile.GoroutineSite) int {
	grown := s.Count() - s.Earlier
	chance := growthErrors * math.Sqrt(2*float64(s.Earlier)) // if they come and go at random
	if grown < growthCount || float64(grown) < max(chance, growthPart*float64(s.Earlier)) {
		return 0
	}
	return grown
}

// totalGrew reports whether the total number of goroutines grew as well.
// Goroutines of a pool move between operations, which changes the sites but not
// the total.
func totalGrew(g *profile.Goroutines) bool {
	return g.Total-g.Earlier >= growthCount
}

// mostWait reports whether most of the goroutines at a site wait, as leaked ones do;
// also if that is unknown. A burst of requests makes goroutines that are ready to run:
// of 126 in one select, none waited.
func mostWait(g *profile.Goroutines, s profile.GoroutineSite) bool {
	return !g.StatesKnown || !g.InKnown || s.Waiting*2 >= s.In
}

// moreOf reports whether there are more goroutines with a start function than
// earlier; also if that is unknown. Workers that a service starts once move from
// one operation to another, while other goroutines come and go: 64 requests were
// at work in one snapshot, and 41 of them waited for a pool in the next one.
func moreOf(g *profile.Goroutines, root string) bool {
	was, known := g.EarlierOf[root]
	if !known {
		return true
	}
	now := 0
	for _, s := range g.Sites {
		switch {
		case s.Root != root:
		case g.InKnown: // the text is another snapshot
			now += s.In
		default:
			now += s.Waiting
		}
	}
	return now-was >= growthCount
}

// grows reports whether the number of goroutines at a site grew.
func (f *facts) grows(site profile.Site) bool {
	g := f.capture.Goroutines
	if g == nil || !g.GrowthKnown || !totalGrew(g) {
		return false
	}
	for _, s := range g.Sites {
		if s.Site == site && growth(s) > 0 && moreOf(g, s.Root) {
			return true
		}
	}
	return false
}

// leakLong is for a single snapshot.
func (f *facts) leakLong() *Finding {
	g := f.capture.Goroutines
	if g == nil || !g.StatesKnown {
		return nil
	}
	for _, s := range g.Sites {
		never := s.NilChan && s.Op.Channel() && s.Op != profile.Select
		long := s.Op.Channel() && s.Longest >= longWait && s.Waiting >= longCount
		if !never && !long || strings.HasPrefix(s.At.Function, "main.main") || f.moves(s.Site) {
			continue
		}
		found := leakFinding(s, Low)
		found.Text = fmt.Sprintf("%d goroutines wait in %s, the longest for %s: possibly a goroutine leak.", s.Waiting, s.Site, s.Longest)
		if s.NilChan {
			found.Confidence = High
			found.Text = fmt.Sprintf("Goroutine leak: %d goroutines wait in %s on a nil channel, which blocks forever.", s.Waiting, s.Site)
		}
		found.addEvidence(profile.KindGoroutineText, fmt.Sprintf("%d wait there, the longest for %s", s.Waiting, s.Longest))
		return found
	}
	return nil
}
