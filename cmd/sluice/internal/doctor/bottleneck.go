package doctor

import (
	"fmt"
	"math"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// A candidate is something that may be busy all the time while others wait for it.
type candidate struct {
	part, meet int     // index, or -1; both -1: the cores
	util       float64 // share of the window in which it was busy
	holds      float64 // goroutines that waited for it
}

// score returns how much of a bottleneck a candidate is: it is busy, and holds up others. A
// tenth of a goroutine that waits, on average, is where a queue begins: less is chance.
func (c candidate) score() float64 { return c.util * c.holds / (c.holds + 0.1) }

// weight orders bottlenecks: most goroutines wait for the first. The cores come last,
// because a part that serves all the time, or a lock, gains nothing from more.
func (c candidate) weight() float64 {
	if c.part < 0 && c.meet < 0 {
		return c.score() / 1000
	}
	return c.util * c.holds
}

// taken estimates for which share of the window something was in use, from the mean
// number of goroutines that wait for it: a queue of length l forms at a single server of
// random service times if l = u²/(1-u).
func taken(l float64) float64 { return (math.Sqrt(l*l+4*l) - l) / 2 }

// saturated is the law of the bottleneck: something is busy all the time, and others wait
// for it.
func saturated(m *model) *ruling {
	best := m.limiting(0.5)
	if best.util == 0 {
		return nil
	}
	r := m.ruling(best)
	if r.clear == 0 { // from just enough to all the time
		r.clear = 0.4 + 0.6*(best.util-1/worth)/(1-1/worth)
	}
	// If the load has an end, because values start at requests or ticks: without the time in
	// which its thread has no core, it would have time left.
	if p := r.part; p >= 0 && m.paced(10) && best.util-m.parts[p].made.cpu()/m.parts[p].Alive*m.cores.lacks < 1/worth {
		r.clear = 0.1
	}
	return r
}

// nearly is the law of what is as busy as a bottleneck, although hardly anything was seen
// to wait for it.
func nearly(m *model) *ruling {
	best := m.limiting(0)
	// Two that share the cores with others wait for a core as long as they run, and then
	// hardly ever for each other: neither is idle. Nor is one that reads what comes, and never
	// has to wait for more. A goroutine that lives for one value is busy as long as it lives.
	p := largest(m.parts, func(p *part) float64 {
		return given(!p.Runtime && p.Alive >= 0.5 && (p.inFlow() || p.Created < p.Alive) && p.hot >= 0.9 && p.made.away() < p.made.sum()/2, p.hot)
	})
	if best.util == 0 && p != nil {
		best = candidate{p.index, -1, p.hot, p.held()}
	}
	if best.util == 0 {
		return nil
	}
	r := m.ruling(best)
	r.clear = 0.3
	return r
}

// limiting returns the first of the candidates with at least a score.
func (m *model) limiting(score float64) (best candidate) {
	all := []candidate{{-1, -1, m.cores.full, m.cores.queue}}
	for i := range m.parts {
		all = append(all, m.partCandidate(&m.parts[i]))
	}
	for i := range m.meets {
		all = append(all, m.meetCandidate(&m.meets[i]))
	}
	if c := largest(all, func(c *candidate) float64 { return given(c.util >= 1/worth && c.score() >= score, c.weight()+1e-9) }); c != nil {
		return *c
	}
	return best
}

// ruling explains a candidate that is busy all the time.
func (m *model) ruling(c candidate) *ruling {
	switch {
	case c.part >= 0 && m.parts[c.part].made.cpu()+m.parts[c.part].made[costSystem] >= m.cores.have/worth:
		return m.busyCores(c) // it has all of them: more of its goroutines would have no more
	case c.part >= 0:
		return m.busyPart(&m.parts[c.part], c)
	case c.meet >= 0:
		return m.busyMeeting(&m.meets[c.meet], c)
	}
	return m.busyCores(c)
}

// partCandidate returns a role as a candidate; util is 0 if the role cannot limit. The
// number of those that wait for work says nothing: an idle pool may have any size.
func (m *model) partCandidate(p *part) (c candidate) {
	if p.Runtime || p.Alive < 0.5 || p.held() <= 0 {
		return c // fewer are goroutines of requests: the load
	}
	if _, node := m.queueAt(p); node >= 0 && m.meets[node].Kind == observe.Limit {
		return c // its goroutines are those inside of a limit: see meetCandidate
	}
	c = candidate{p.index, -1, p.serves(), p.room + p.reply + min(1, p.feed)}
	if p.made.away() > p.made.sum()/2 {
		c.holds -= min(p.reply, p.made.sum()) // callers that wait for no more than their own answer
	}
	return c
}

// meetCandidate returns a lock or a limit as a candidate; util is 0 for other nodes.
func (m *model) meetCandidate(g *meeting) candidate {
	waiting := g.sending
	if m.excludes(g) {
		waiting += g.receiving
	} else if !excluding(g.Kind) {
		return candidate{}
	}
	if waiting <= 0 || g.rate <= 0 {
		return candidate{} // without an end, it is not a queue: see halted
	}
	// If a role spends all its life waiting here, the slots were taken all the time.
	return candidate{part: -1, meet: g.index, util: max(taken(waiting), g.share), holds: waiting}
}

// excludes reports whether a channel or a condition is used as a lock or a limit: the
// goroutines that wait at it wait on one side only, and their own role ends the waits.
func (m *model) excludes(g *meeting) bool {
	return (g.Kind == observe.Channel || g.Kind == observe.Condition) && g.ended > 0 && g.same > 0.9*g.ended &&
		min(g.sending, g.receiving) < 0.05*(g.sending+g.receiving)
}

// busyPart explains a busy role by the costs that its time consists of.
func (m *model) busyPart(p *part, c candidate) *ruling {
	line, _ := m.queueAt(p)
	costs := p.costs()
	top := m.located(p, costs[0])
	r := &ruling{verdict: Stage, channels: Partly, part: p.index, meet: -1, util: c.util, holds: c.holds, at: top.line,
		why: fmt.Sprintf("%s: %s of its busy time", top.kind, percent(top.share))}
	if takes := m.takesAt(p); r.at.At.Function == "" || top.kind == costOwn && takes.At.Function != "" {
		r.at = either(takes, line)
	}
	switch top.kind {
	case costPassing, costLocking:
		r.verdict, r.channels = Channel, Yes
	case costOutside:
		// All goroutines of a pool wait, or the other end does not take what is written: its
		// pace is what limits.
		w := m.longest(p.index, func(w *wait) bool { return !w.load && w.kind(m) == observe.Outside })
		if p.Alive >= 1.5 && !p.skewed() || w != nil && m.meets[w.Node].Name == observe.SlowReader {
			r.verdict = Outside
		}
	case costMemory:
		r.verdict, r.channels = Memory, No
	}
	r.answer = fmt.Sprintf("%s is busy %s of the time while %s for it: it %s%s.", p.naming(), percent(c.util), waiting(c.holds), top.doing(), near(top.line))
	r.changes = m.relieve(p, costs)
	for i := range r.changes {
		r.changes[i].blind = r.changes[i].blind || r.verdict == Outside // how much more it takes cannot be seen here
	}
	return r
}

// busyMeeting explains a lock or a limit that is always taken.
func (m *model) busyMeeting(g *meeting, c candidate) *ruling {
	slots, inside := m.slots(g)
	costs := inside.split()
	if m.cores.full >= 1/worth && share(costs, costOwn) > 0.5 && g.Kind == observe.Limit {
		return m.busyCores(candidate{-1, -1, m.cores.full, c.holds})
	}
	r := &ruling{part: -1, meet: g.index, util: c.util, holds: c.holds, channels: No, at: m.meetingLine(g)}
	name := m.nodeName(g.index)
	switch own := g.Kind == observe.Channel || g.Kind == observe.Limit && r.at.In == ""; { // own: of the program itself
	case g.Kind == observe.Mutex:
		r.verdict, r.why = Lock, "a lock that is always held"
		r.answer = fmt.Sprintf("The lock that %s takes is held %s of the time while %s for it.", where(r.at.At), percent(c.util), waiting(c.holds))
	case own && (slots < 1.5 || g.Kind == observe.Channel && inside.away() < inside.sum()/2):
		// Inside includes the time before and after. If there are no waits in it, it is a
		// critical section.
		r.verdict, r.channels, r.why = Channel, Yes, "a channel that is used as a lock"
		r.answer = fmt.Sprintf("The %s is used as a lock: %s for each other at it.", name, waiting(c.holds))
	default:
		r.verdict, r.why = Limit, "a limit whose slots are always taken"
		if own {
			r.channels = Partly
		}
		r.answer = fmt.Sprintf("All slots of the limit (%s) are taken while %s for one at %s.", name, waiting(c.holds), where(r.at.At))
	}
	r.evidence = []Evidence{{fmt.Sprintf("A goroutine inside %s, for %s of the time", costs[0].doing(), percent(costs[0].share)), "trace"}}
	r.changes = m.widen(g, r, slots, inside)
	return r
}

// slots estimates how many goroutines are inside of a limit, and what they do there: those
// that release, or, where a library does that for them, those that acquire.
func (m *model) slots(g *meeting) (n float64, inside made) {
	for _, side := range [][]end{g.receivers, g.senders} {
		for _, e := range side {
			if p := &m.parts[e.role]; !p.Runtime {
				inside.add(&p.made)
			}
		}
		if n = inside.sum(); n > 0 {
			break
		}
	}
	return n, inside
}

// busyCores explains full cores by what the CPU time is spent on.
func (m *model) busyCores(c candidate) *ruling {
	costs := m.process()
	r := &ruling{verdict: Cores, channels: No, part: -1, meet: -1, util: c.util, holds: c.holds}
	top, times := tooMuch(costs)
	switch {
	case times < 1:
	case top.kind == costMemory:
		r.verdict = Memory
	case top.kind == costTimers || top.kind == costSystem:
		if p := m.most(top.kind); p == nil || p.inFlow() || !m.traced() {
			r.verdict, r.channels = Stage, Partly
		}
	case top.kind == costPassing:
		if g := largest(m.meets, func(g *meeting) float64 { return given(g.Kind == observe.Channel, g.rate) }); g != nil && m.excludes(g) {
			return m.busyMeeting(g, candidate{-1, g.index, c.util, g.sending + g.receiving})
		}
		r.verdict, r.channels = Channel, Yes
		if m.turns() {
			r.verdict = Lockstep
		}
	}
	p := m.most(top.kind)
	// One goroutine that most others wait to give something, or to get an answer from, and
	// that passes values for a good part of its time.
	if hub := largest(m.parts, func(p *part) float64 {
		return given(!p.Runtime && p.room+p.reply > 0.2 && p.Alive < 1.5 && share(p.costs(), costPassing) > 1-1/worth, p.room+p.reply)
	}); top.kind == costPassing && hub != nil {
		p = hub
	}
	if p != nil {
		r.part = p.index
		top = m.located(p, cost{kind: top.kind, share: top.share})
	}
	r.at, r.why = top.line, fmt.Sprintf("%s: %s of CPU time", top.kind, percent(top.share))
	r.answer = fmt.Sprintf("%s, and %s of CPU time is %s%s.", m.inUse(), percent(top.share), top.kind, near(top.line))
	if r.verdict == Cores && m.compete() {
		r.clear, r.next = 0.1, fmt.Sprintf("Look at %s: goroutines of several roles run all the time and never wait, so that some may spin until others write a variable; a condition or a channel lets them wait.", where(r.at.At))
	}
	r.changes = m.lighten(top, r)
	return r
}

// tooMuch returns the largest cost that is worth removing, and how many times as large as
// that it is; or the largest one. Half of what is allocated can be reused at best, and half of
// a call saved; any number of values can share a hand-off, and what is made to be used many
// times.
func tooMuch(costs []cost) (top cost, times float64) {
	const whole, half = 1 - 1/worth, 2 * (1 - 1/worth)
	enough := map[costKind]float64{costMemory: half, costSystem: half, costPassing: whole, costTimers: whole}
	for _, k := range costs {
		if n := enough[k.kind]; n > 0 && k.share+k.whole >= n {
			return k, (k.share + k.whole) / n
		}
	}
	return costs[0], 0
}

// compete reports whether several roles share the cores all the time, and nobody waits for
// anything else: they may do independent work, or spin for each other.
func (m *model) compete() bool {
	n := 0
	for i := range m.parts {
		p := &m.parts[i]
		if p.inFlow() {
			return false
		}
		if !p.Runtime && p.Time.Running+p.Time.Runnable > 0.95*p.Alive {
			n++
		}
	}
	return n > 1
}
