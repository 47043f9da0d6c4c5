package doctor

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// stood holds where goroutines wait for what will not come, and little else happens.
func stood(m *model) *ruling {
	for _, b := range m.blocked() {
		if b.Probability >= sure && b.Kind != idlePool && !m.moves(b.At) && !(b.Kind == leak && m.busy()) {
			return m.stuck(&b)
		}
	}
	return nil
}

// leaking holds for a service that is fine otherwise, but whose goroutines do not end.
func leaking(m *model) *ruling {
	for _, b := range m.blocked() {
		if b.Probability >= sure && b.Kind == leak && !m.moves(b.At) {
			return m.stuck(&b)
		}
	}
	return nil
}

func (m *model) stuck(b *blockage) *ruling {
	r := &ruling{
		verdict: Stuck, channels: Yes, part: -1, meet: -1, holds: float64(b.Count + b.Explains),
		why: b.Kind, answer: b.Text, evidence: b.Evidence, seen: 1, clear: (b.Probability - 0.5) / atBest,
	}
	if len(b.Rows) > 0 {
		row := &m.o.Stood[b.Rows[0]]
		r.at, r.part = row.Line, row.Role
		switch row.Op {
		case observe.Lock:
			r.channels = No
		case observe.Acquire:
			r.channels = Partly
		}
	}
	if b.At != nil && r.at.At.Function == "" {
		r.at.At = observe.Frame{Function: b.At.Function, File: b.At.File, Line: b.At.Line}
	}
	r.changes = release(&b.Finding, r.at)
	if len(r.changes) == 0 {
		r.next = fmt.Sprintf("What is missing: %s.", b.Missing)
	}
	return r
}

// release returns the change that ends the waits of a finding.
func release(f *Finding, line observe.Line) []change {
	c := change{name: Release, line: line, part: -1, blind: true, plain: f.Missing != "close", evidence: []string{fmt.Sprintf("%d goroutines wait there, and do not move", f.Count)}}
	switch f.Missing {
	case "close":
		c.text = fmt.Sprintf("Close the channel of %s when nothing more is sent, or cancel its receivers", at(line))
	case "cancel":
		c.text = fmt.Sprintf("Give %s a case that ends it, such as a context's Done, and cancel it", at(line))
	case "sender":
		c.text = fmt.Sprintf("Let the receive at %s end without its sender: close its channel, or add a case for a context's Done, and cancel it", where(line.At))
	case "receiver":
		c.text = fmt.Sprintf("Let the send at %s end without its receiver: a buffer of one value, or a case for a context's Done", where(line.At))
	case "unlock", "lock order":
		c.text = fmt.Sprintf("Release the lock of %s on every path, take locks in one order everywhere, and do not send or wait while one is held", where(line.At))
	case "slot":
		c.text = fmt.Sprintf("Give back what %s waits for before it is taken a second time, and end the wait with a deadline", where(line.At))
	default:
		return nil
	}
	return []change{c}
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
		r.changes = release(&Finding{Missing: "lock order", Count: int(g.sending + 0.5)}, r.at)
		return r
	}
	return nil
}

// moves reports whether waits at a line were seen to end, so that goroutines do not stand
// still there: at the present rate, each of them ends within ten seconds.
func (m *model) moves(p *Place) bool {
	for i := range m.waits {
		w := &m.waits[i]
		if p != nil && w.Rate*10 > w.Mean && w.At.Function == p.Function && w.At.Line == p.Line && w.At.File == p.File {
			return true
		}
	}
	return false
}

// busy reports whether the service works: then what stands still is not all there is.
func (m *model) busy() bool {
	for i := range m.parts {
		if p := &m.parts[i]; !p.Runtime && p.turns > 100 {
			return true
		}
	}
	return m.cores.used > 0.05
}

// blocked returns what does not move, looked for once.
func (m *model) blocked() []blockage {
	if m.blockages == nil {
		m.blockages = append([]blockage{}, stuck(m.o)...)
		for i := range m.blockages {
			b := &m.blockages[i]
			if b.Kind != leak || b.At == nil || len(b.Rows) == 0 || m.o.Stood[b.Rows[0]].Role < 0 {
				continue
			}
			// A trace in which they only start, and wait on, is evidence, too.
			ended := 0.0
			for j := range m.waits {
				if w := &m.waits[j]; w.At.Function == b.At.Function && w.At.Line == b.At.Line {
					ended += w.Rate
				}
			}
			if p := &m.parts[m.o.Stood[b.Rows[0]].Role]; p.Created >= 10 && ended < p.Created/10 && p.Alive > p.Created {
				b.Probability = max(b.Probability, 0.7)
			}
		}
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
	copies := 0.0
	for _, s := range m.o.Spent {
		if s.Makes == observe.StackCopy {
			copies += s.Cores
		}
	}
	if copies >= m.cores.used/10 && copies > 0.05 {
		all = append(all, Finding{Kind: "shared mutex queue", Count: 0, Evidence: []Evidence{},
			Text: fmt.Sprintf("%s of CPU time corrects copied stacks of goroutines that wait for one lock (golang/go#81957): let fewer goroutines wait for it.", percent(copies/m.cores.used))})
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
