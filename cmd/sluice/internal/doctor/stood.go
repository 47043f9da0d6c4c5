package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// stood holds where goroutines wait for what will not come, and little else happens.
func stood(m *model) *ruling {
	return m.stuck(func(b *blockage) bool { return b.Kind != idlePool && (b.Kind != leak || !m.busy()) })
}

// leaking holds for a service that is fine otherwise, but whose goroutines do not end.
func leaking(m *model) *ruling {
	return m.stuck(func(b *blockage) bool { return b.Kind == leak })
}

// stuck reports that the first blockage that counts holds the service back.
func (m *model) stuck(counts func(*blockage) bool) *ruling {
	all := m.blocked()
	i := slices.IndexFunc(all, func(b blockage) bool { return b.Probability >= sure && counts(&b) && !m.moves(b.At) })
	if i < 0 {
		return nil
	}
	b, row := &all[i], all[i].Row
	channels := cmp.Or(map[observe.Op]Involvement{observe.Lock: No, observe.Acquire: Partly}[row.Op], Yes)
	return &ruling{
		verdict: Stuck, channels: channels, part: row.Role, meet: -1, holds: float64(b.Count + b.Explains), at: row.Line,
		why: b.Kind, answer: b.Text, evidence: b.Evidence, seen: 1, clear: (b.Probability - 0.5) / atBest,
		changes: release(b.Missing, row.Line),
	}
}

// unlock is what ends the waits for a lock, whether its holder forgets it or waits itself.
const unlock = "Release what %s waits for on every path, take locks in one order everywhere, and do not send or wait while one is held"

// releases are the changes that end waits, by what is missing.
var releases = map[string]string{
	"close":      "Close what the %s waits for when it is no longer used: a channel after its last value, the body of a response, an iterator of iter.Pull",
	"cancel":     "Give the %s a case that ends it, such as a context's Done, and cancel it",
	"sender":     "Let the %s end without its sender: close its channel, or add a case for a context's Done, and cancel it",
	"receiver":   "Let the %s end without its receiver: a buffer of one value, or a case for a context's Done",
	"unlock":     unlock,
	"lock order": unlock,
	"done":       "Call Done on every path of what the %s waits for, and let what it waits for end",
	"signal":     "Signal every change of what the %s waits for while its lock is held, and ask for it before each wait",
	"slot":       "Give back what %s waits for on every path, as by closing rows and bodies, before it is taken a second time, and end the wait with a deadline",
}

// release returns the change that ends the waits of goroutines at a line.
func release(missing string, line observe.Line) []change {
	return []change{{name: Release, line: line, part: -1, blind: true, plain: missing != "close", text: fmt.Sprintf(releases[missing], at(line))}}
}

// halted is the law of the lock that no goroutine gets: in a trace of seconds, the waits for
// it do not end.
func halted(m *model) *ruling {
	for i := range m.meets {
		g := &m.meets[i]
		if g.Kind != observe.Mutex || g.sending < 1 || g.rate > 0 || m.o.Sources.Trace < time.Second || len(g.senders) == 0 {
			continue
		}
		r := &ruling{verdict: Stuck, channels: No, part: g.senders[0].role, meet: i, holds: g.sending, at: g.senders[0].line, why: deadlock, clear: 0.5}
		r.answer = fmt.Sprintf("%s for the lock at %s in all of the trace of %s, and no goroutine gets it: its holder is stuck, or locks are taken in different orders.",
			waiting(g.sending), where(r.at.At), span(m.o.Sources.Trace))
		r.changes = release("lock order", r.at)
		return r
	}
	return nil
}

// moves reports whether waits at a line were seen to end, so that goroutines do not stand
// still there: at the present rate, each of them ends within ten seconds.
func (m *model) moves(p *Place) bool {
	return p != nil && slices.ContainsFunc(m.waits, func(w wait) bool {
		return w.Rate*10 > w.Mean && w.At.Function == p.Function && w.At.Line == p.Line && w.At.File == p.File
	})
}

// busy reports whether the service works: then what stands still is not all there is.
func (m *model) busy() bool {
	return m.cores.used > 0.05 || slices.ContainsFunc(m.parts, func(p part) bool { return !p.Runtime && p.turns > 100 })
}

// blocked returns what does not move, looked for once.
func (m *model) blocked() []blockage {
	if m.blockages == nil {
		m.blockages = append([]blockage{}, stuck(m.o)...)
	}
	return m.blockages
}

// also returns what else was seen: what does not move, and artifacts.
func (m *model) also(r *ruling) []Finding {
	all := []Finding{}
	for _, b := range m.blocked() {
		if r.verdict == Stuck && r.answer == b.Text || b.Probability < sure && m.busy() || m.moves(b.At) {
			continue
		}
		all = append(all, b.Finding)
	}
	for _, a := range m.o.Artifacts {
		all = append(all, Finding{Kind: "artifact", Text: a.Text, Evidence: []Evidence{}})
	}
	if r.verdict != Polling {
		for _, s := range m.spins() {
			all = append(all, Finding{
				Kind: "polling", At: placeOf(s.line), Count: int(s.part.Alive + 0.5), Evidence: []Evidence{},
				Text: fmt.Sprintf("%s asks again and again at %s, and takes %.2g cores.", s.part.Name, where(s.line.At), s.cores),
			})
		}
	}
	return all
}
