package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Leak is the finding that goroutines wait for ever.
const Leak Kind = "leak"

const (
	// growth of goroutines at one place between two snapshots that is no chance:
	// so many more, and by so large a part of those that were there.
	growthCount = 10
	growthPart  = 0.2
	// longWait is how long many goroutines must have waited at one place to be
	// asked about. A pool's do as well, in a quiet hour: this is the weakest sign.
	longWait  = 5 * time.Minute
	longCount = 100
)

var leakRules = []rule{{
	kind: Leak, look: leak,
	reason: "the goroutineleak profile proves it; growth at one place suggests it; long waits make one look",
}}

// leak uses the best that there is: proof, else growth, else long waits.
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
		return nil // they wait for something else than a channel
	}
	s := l.Sites[most]
	found := leakFinding(s, High)
	found.Text = fmt.Sprintf("%d goroutines wait for ever, %d of them in %s: nobody can reach what they wait for.", l.Total, s.Count(), s.Site)
	found.says(profile.KindLeak, fmt.Sprintf("the collector proved %d goroutines leaked", l.Total))
	return found
}

func leakFinding(s profile.GoroutineSite, sure Confidence) *Finding {
	at := place(s.Site)
	found := &Finding{Channels: true, At: &at, Confidence: sure}
	how := "end them: a done case or context in the operation, a slot so that nobody need be there, or a close"
	if s.CreatedBy.Function != "" {
		how += "; they are started at " + s.CreatedBy.String()
	}
	const memory = "it gives memory back, and no throughput"
	found.Remedies = []Remedy{{End, how, between(1, 1, 1), memory}}
	if s.Op == profile.Send {
		slot := Remedy{Buffer, "if each sends one value on a channel that is made for it, give that channel a slot: then nobody need be there", between(1, 1, 1), memory}
		found.Remedies = append([]Remedy{slot}, found.Remedies...)
		return found
	}
	found.Not = []Not{{Buffer, "who receives waits for a value or a close: slots bring neither."}}
	return found
}

// leakGrows compares two snapshots.
func (f *facts) leakGrows() *Finding {
	g := f.capture.Goroutines
	if g == nil || !g.GrowthKnown || !crowding(g) {
		return nil
	}
	most, more := -1, 0
	for i, s := range g.Sites {
		if grown := min(growth(s), g.Total-g.Earlier); s.Op.Channel() && grown > more {
			most, more = i, grown
		}
	}
	if most < 0 {
		return nil
	}
	s := g.Sites[most]
	found := leakFinding(s, Medium)
	found.Text = fmt.Sprintf("More and more goroutines wait in %s: a leak, or a load that grows.", s.Site)
	apart := ""
	if g.Apart > 0 {
		apart = " within " + g.Apart.Round(time.Second).String()
	}
	found.says(profile.KindGoroutine, fmt.Sprintf("from %d to %d goroutines there%s", s.Earlier, s.Count(), apart))
	return found
}

// growth is by how many goroutines a site grew, 0 if that may be chance.
func growth(s profile.GoroutineSite) int {
	grown := s.Count() - s.Earlier
	if grown < growthCount || float64(grown) < growthPart*float64(s.Earlier) {
		return 0
	}
	return grown
}

// crowding reports whether there are more goroutines than before in all, by as
// many as a leak takes. Those of a pool move between two operations, and then
// there are more at one place because there are fewer at another.
func crowding(g *profile.Goroutines) bool {
	return g.Total-g.Earlier >= growthCount
}

// grows reports whether a site grew.
func (f *facts) grows(site profile.Site) bool {
	g := f.capture.Goroutines
	if g == nil || !g.GrowthKnown || !crowding(g) {
		return false
	}
	for _, s := range g.Sites {
		if s.Site == site && growth(s) > 0 {
			return true
		}
	}
	return false
}

// leakLong is for one snapshot.
func (f *facts) leakLong() *Finding {
	g := f.capture.Goroutines
	if g == nil || !g.StatesKnown {
		return nil
	}
	for _, s := range g.Sites {
		never := s.NilChan && s.Op.Channel() && s.Op != profile.Select
		long := s.Op.Channel() && s.Longest >= longWait && s.Waiting >= longCount
		if !never && !long || strings.HasPrefix(s.At.Function, "main.main") {
			continue
		}
		found := leakFinding(s, Low)
		found.Text = fmt.Sprintf("%d goroutines wait in %s, the longest for %s: perhaps for ever.", s.Waiting, s.Site, s.Longest)
		if s.NilChan {
			found.Confidence = High
			found.Text = fmt.Sprintf("%d goroutines wait in %s on a nil channel: for ever.", s.Waiting, s.Site)
		}
		found.says(profile.KindGoroutineText, fmt.Sprintf("%d wait there, the longest for %s", s.Waiting, s.Longest))
		return found
	}
	return nil
}
