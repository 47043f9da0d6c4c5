package doctor

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// A spin is a role whose goroutines ask again and again instead of waiting.
type spin struct {
	part  *part
	line  observe.Line
	cores float64
	polls float64 // share of the role's CPU time in the operations that never wait
	loop  float64 // share in the function with the loop
}

// asking are the operations that a loop can repeat without waiting. A select is one if it
// has a default, or a case that is always ready, such as a closed channel.
var asking = []observe.Op{observe.PollSend, observe.PollReceive, observe.Select, observe.Yield}

// spins finds the roles that spin.
func (m *model) spins() (found []spin) {
	for i := range m.parts {
		// Goroutines that live for less than a second have an end.
		if p := &m.parts[i]; !p.Runtime && p.Created < p.Alive {
			if s := m.spinOf(p); s.part != nil {
				found = append(found, s)
			}
		}
	}
	if len(found) > 0 {
		return found
	}
	// In a CPU profile, runtime.Gosched is in the scheduler's stack, without the goroutine.
	s := spin{loop: 1, line: observe.Line{Op: observe.Yield}}
	for _, w := range m.o.Spent {
		if w.Op == observe.Yield && w.Role < 0 && w.What != observe.Profiling {
			s.cores += w.Cores
		}
	}
	s.polls = s.cores / max(m.cores.used, 1e-9)
	if w := m.costliest(-1, observe.OwnCode); w != nil && w.Role >= 0 && s.polls >= 0.5 && s.cores >= m.core()/2 {
		s.part, s.line.At = &m.parts[w.Role], w.At
		found = append(found, s)
	}
	return found
}

// core returns what a loop gets that wants a whole core.
func (m *model) core() float64 { return 1 - min(0.95, m.o.Cores.Starved) }

// spinOf returns how a role spins; its part is nil if it does not. A loop takes a core, or
// what it gets of one; nearly all of that is in one function; and no other goroutine waits
// for it, because a loop that finds nothing serves none.
func (m *model) spinOf(p *part) (s spin) {
	in, best := map[string]float64{}, 0.0
	for _, w := range m.o.Spent {
		if w.Role != p.index || w.What == observe.Profiling {
			continue
		}
		s.cores += w.Cores
		in[w.At.Function] += w.Cores
		if !w.Parks && slices.Contains(asking, w.Op) && !m.parks(p, w.At) {
			s.polls += w.Cores
			if w.Cores > best {
				best, s.line = w.Cores, w.Line
			}
		}
	}
	switch polls := s.polls; {
	case polls > 0:
		// If others wait for it, some of its attempts succeed. An attempt costs a tenth of a
		// microsecond: with ten thousand of them for each wait that it ends, it spins all the same.
		if s.polls /= s.cores; s.polls < 0.05 || p.room+p.reply > 0.1 && polls < p.turns*10_000*100e-9 {
			return s
		}
	case m.traced() && p.Alive >= 0.5 && p.Time.Running+p.Time.Runnable > 0.95*p.Alive && p.room+p.reply < 0.2 && !m.parks(p, observe.Frame{}):
		// A profile does not show a loop over len of a channel. It runs all the time in
		// the function that takes values from the channel, yet no goroutine ever waits to
		// send there: a server that is busy all the time has a queue.
		s.polls = 0.3 // hardly more than a guess
		s.line = m.takesAt(p)
	}
	if s.loop = in[s.line.At.Function] / max(s.cores, 1e-9); s.loop >= 0.8 && s.cores >= m.core()/2 && s.line.At.Function != "" {
		s.part = p
	}
	return s
}

// parks reports whether a role waits at a line, or anywhere: not once, as a loop does that
// is told to end, but in the course of its work.
func (m *model) parks(p *part, at observe.Frame) bool {
	return slices.ContainsFunc(m.waits, func(w wait) bool {
		return w.Role == p.index && (w.At == at || at.Function == "") && w.Rate >= 10*p.Alive
	})
}

// spinning is the law of polling: a goroutine that asks again and again uses its core for
// nothing, even if no other goroutine waits.
func spinning(m *model) *ruling {
	all := m.spins()
	if len(all) == 0 {
		return nil
	}
	worst, cores := largest(all, func(s *spin) float64 { return s.cores }), 0.0
	for _, s := range all {
		cores += s.cores
	}
	r := &ruling{verdict: Polling, channels: Yes, part: worst.part.index, meet: -1, util: 1, at: worst.line, why: "it asks again and again instead of waiting",
		clear: max(worst.polls, min(1, worst.loop)*0.8), seen: min(1, float64(m.o.Sources.Samples)/100)}
	r.answer = fmt.Sprintf("Busy polling: %s takes %s at %s, where it never waits.", worst.part.naming(), cpus(cores), where(worst.line.At))
	r.evidence = []Evidence{{fmt.Sprintf("%s of its CPU time is in the function with the loop, %s in operations that returned at once", percent(min(1, worst.loop)), percent(min(1, worst.polls))), "CPU profile"}}
	c := change{name: StopPolling, line: worst.line, part: -1, evidence: []string{"no other goroutine waits for this loop"},
		text: fmt.Sprintf("Wait at %s: leave out the default case, set a closed channel to nil, or receive where the loop asks", where(worst.line.At))}
	if rest := m.cores.used - cores; m.cores.full >= 1/worth && rest > 0.05*m.cores.used {
		c.fixed = &Gain{Low: 1, High: m.cores.used / rest, Bound: fmt.Sprintf("%.2g of %.2g cores are for other work", rest, m.cores.have)}
	}
	c.blind = c.fixed == nil
	r.changes = []change{c}
	return r
}

// naps returns how many goroutines of a role sleep or wait until a timer ends their wait,
// also in a select with other cases, and how often such a wait ends.
func (m *model) naps(p *part) (mean, rate float64) {
	for i := range m.waits {
		if w := &m.waits[i]; w.Role == p.index && (w.Op == observe.Sleep || w.kind(m) == observe.Timer) {
			mean, rate = mean+w.Mean, rate+w.Rate
		}
	}
	for _, k := range m.o.Wakes {
		if m.waits[k.Wait].Role == p.index && m.timer(&k) {
			mean, rate = mean+k.Mean, rate+k.Rate
		}
	}
	return mean, rate
}

// timer reports whether a timer ended a wait in a select with other cases.
func (m *model) timer(k *observe.Wake) bool {
	w := &m.waits[k.Wait]
	return k.Role < 0 && w.Op == observe.Select && w.kind(m) == observe.Channel
}

// napping is the law of loops that wait for a timer while others wait for them: a poll finds
// several values after each, and a limit of the rate lets as many through as it has tokens.
func napping(m *model) *ruling {
	for i := range m.parts {
		p := &m.parts[i]
		naps, often := m.naps(p)
		if p.Runtime {
			continue
		}
		served, asked, closed := 0.0, 0.0, 0.0
		for j := range m.links {
			l := &m.links[j]
			if l.waker() != i || l.from == l.to {
				continue
			}
			// A channel that is closed for each value was made for its answer, or to
			// tell all that wait.
			switch {
			case !l.idle():
				served, asked = served+l.rate, asked+l.mean
			case l.by.Op == observe.Close:
				served, closed = served+l.rate, closed+l.mean
			}
		}
		if naps > 0.5*p.Alive && served > 2*often && asked+closed > 0.5 {
			w := m.longest(i, func(w *wait) bool {
				return w.Op == observe.Sleep || w.Op == observe.Select || w.kind(m) == observe.Timer
			})
			r := &ruling{verdict: Polling, channels: Yes, part: i, meet: -1, util: 1, holds: asked + closed, at: w.Line, why: "it waits for a timer while others wait for it", clear: 0.7}
			r.answer = fmt.Sprintf("%s waits for a timer at %s %s of the time, while %s for it: it finds %.1f values after each of its waits, %s a second.",
				p.naming(), where(w.At), percent(naps/p.Alive), waiting(asked+closed), served/often, format.Compact(often))
			r.changes = []change{{name: StopPolling, line: w.Line, part: -1, blind: true, evidence: []string{"several values have come when the timer ends its wait"},
				text: fmt.Sprintf("Wait for values at %s, all of them in one select, and not for a timer", where(w.At))}}
			if asked < 0.5 {
				r.clear, r.next = 0.1, fmt.Sprintf("Find out whether what %s closes after its wait for a timer at %s is an answer that others wait for: then a signal should replace the timer; or a clock that they follow.", p.Name, where(w.At))
			}
			return r
		}
		// It has values, and waits for something else that comes at a pace.
		if l := m.follows(p); l != nil && l.mean >= 0.5*p.Alive && p.room >= 0.5 {
			q := &m.parts[l.waker()]
			r := &ruling{verdict: Limit, channels: No, part: -1, meet: l.wait.Node, util: l.mean / p.Alive, holds: p.room, at: l.wait.Line, why: "a limit of the rate", clear: 0.5,
				next: fmt.Sprintf("If the rate at which %s lets values through may be higher, raise it. Otherwise the limit works as intended.", q.Name)}
			r.answer = fmt.Sprintf("%s waits at %s for what %s sends %s times a second, %s of the time, while %s for it: the rate is limited, by design or not.",
				p.naming(), where(l.wait.At), q.Name, format.Compact(l.rate), percent(l.mean/p.Alive), waiting(p.room))
			return r
		}
	}
	return nil
}

// unseen judges without a trace, from CPU time alone.
func unseen(m *model) *ruling {
	r := &ruling{verdict: Undecided, channels: Unknown, part: -1, meet: -1}
	switch {
	case m.traced():
		return nil
	case len(m.o.Roles)+len(m.o.Spent)+len(m.o.Stood) == 0:
		r.answer = "There is nothing to judge by: the input has no goroutine, no CPU sample, and no event of a trace."
		return r
	case m.o.Sources.CPU == 0:
		r.answer = "Dumps show where goroutines stand, not what is busy: none of them stands where it should not."
		if all := m.blocked(); len(all) > 0 {
			r.answer = all[0].Text
			if m.o.Sources.Dumps+m.o.Sources.Counts < 2 {
				r.next = "A second dump, taken some minutes later at the same load, shows whether they grow in number or stay."
			}
		}
		return r
	}
	if r := idle(m); r != nil {
		return r
	}
	costs := m.process()
	// Code that has to run counts on all cores. Of less than a quarter of a core, waits decide.
	top, times := tooMuch(costs)
	if top.kind == costOwn && m.cores.full >= 1/worth {
		times = 2 * top.share
	}
	if times >= 1 && m.cores.used >= 0.25 {
		r := m.busyCores(candidate{-1, -1, m.cores.full, m.cores.queue})
		r.clear = min(1, 0.4+0.6*(times-1))
		return r
	}
	r.answer = fmt.Sprintf("Passing values takes %s of CPU time, with %s; whether goroutines wait for each other cannot be seen.", percent(m.passingCPU()), m.inUse())
	if top := costs[0]; top.kind == costOwn && top.line.At.Function != "" {
		r.answer = fmt.Sprintf("%s takes most of the CPU time, with %s: whether that is work, and whether others wait for it, cannot be seen.", where(top.line.At), m.inUse())
	}
	return r
}
