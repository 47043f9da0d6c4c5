package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// bothWait reports whether senders and receivers wait at a node alternately: its channel has
// no room, so each value is a rendezvous.
func (m *model) bothWait(node int) bool {
	return node >= 0 && m.meets[node].Kind == observe.Channel &&
		min(m.meets[node].sending, m.meets[node].receiving) > 0.1*max(m.meets[node].sending, m.meets[node].receiving)
}

// turns reports whether most waiting for partners is where both sides wait alternately, and
// most values wait: a hand-off for which one side waits takes up to 2 µs of CPU time, and
// those for which none does take the rest.
func (m *model) turns() bool {
	in, all, rate := 0.0, 0.0, 0.0
	for i := range m.meets {
		if g := &m.meets[i]; g.Kind == observe.Channel {
			all += g.sending + g.receiving
			rate += g.rate
			if m.bothWait(i) {
				in += g.sending + g.receiving
			}
		}
	}
	return in > all/2 && m.spent[observe.Passing]+m.spent[observe.Scheduling] < rate*2e-6
}

// locksteps is the law of turns: no goroutine is busy, none waits outside, and the time
// goes into the hand-offs themselves.
func locksteps(m *model) *ruling {
	held, util := 0.0, 0.0
	for i := range m.parts {
		if p := &m.parts[i]; !p.Runtime {
			held += p.held() + p.same
			util = max(util, p.serves())
		}
	}
	// A wake-up takes 1 to 10 µs, or a few times that where other goroutines run first: a
	// wait longer than 100 µs is for the work of another goroutine.
	g := largest(m.meets, func(g *meeting) float64 {
		return given(g.ended > 0 && !excluding(g.Kind) && g.each() <= 100*time.Microsecond, g.rate)
	})
	if g == nil || held < 0.2 {
		return nil
	}
	r := &ruling{verdict: Lockstep, channels: Yes, part: -1, meet: g.index, util: util, holds: g.sending + g.receiving,
		why: "no goroutine is busy, and all wait for each other", at: m.meetingLine(g)}
	r.answer = fmt.Sprintf("No goroutine is busy all the time (%s at most): they wait for each other at %s, %s a time, %s times a second.",
		percent(util), where(r.at.At), g.each().Round(100*time.Nanosecond), format.Compact(g.rate))
	// A utilization a quarter below a bottleneck's rules one out.
	r.clear = min(1, max(0, (1/worth-util)*4))
	r.changes = m.loosen(g, r)
	return r
}

// meetingLine returns the line of a meeting that an answer names: where it acquires or
// sends. Tokens in a channel are acquired by a receive.
func (m *model) meetingLine(g *meeting) observe.Line {
	sides := append(slices.Clone(g.senders), g.receivers...)
	if m.excludes(g) && g.receiving > g.sending {
		sides = append(slices.Clone(g.receivers), g.senders...)
	}
	if len(sides) == 0 {
		return observe.Line{}
	}
	return sides[0].line
}

// herds is the law of the thundering herd: a broadcast wakes all that wait at a condition,
// and most of them find nothing to do.
func herds(m *model) *ruling {
	vain := share(m.process(), costLocking, costPassing)
	for i := range m.links {
		l := &m.links[i]
		p := &m.parts[l.wait.Role]
		// A thousand wake-ups a second of about 10 µs each are 1% of the time; one or two
		// waiters are not a herd.
		if l.wait.kind(m) != observe.Condition || !strings.HasSuffix(l.by.In, ".Broadcast") || l.rate < 1000 || vain < 1-1/worth || p.Alive < 2.5 {
			continue
		}
		r := &ruling{verdict: Lock, channels: No, part: p.index, meet: l.wait.Node, util: vain, holds: l.wait.Mean, at: l.by,
			why: "a broadcast wakes all that wait at the condition", clear: min(1, 0.5+vain/2)}
		r.answer = fmt.Sprintf("Each broadcast at %s wakes all of %s, %s wake-ups a second: %s of CPU time goes into locks and the scheduler.",
			where(l.by.At), p.naming(), format.Compact(l.rate), percent(vain))
		r.changes = []change{{name: Signal, line: l.by, part: -1, text: "Wake one waiter at " + where(l.by.At) + ": Signal in place of Broadcast",
			fixed:    &Gain{Low: 1, High: m.spare(max(0.02, 1-vain)), Bound: percent(vain) + " of CPU time is locks and the scheduler"},
			evidence: []string{"all waiters wait at one line, " + where(l.wait.At)}}}
		return r
	}
	return nil
}

// shedding is the law of bursts: values are dropped, or given up after a deadline, while
// the service is idle on average.
func shedding(m *model) *ruling {
	for i := range m.links {
		if l := &m.links[i]; l.by.Op == observe.PollSend {
			if r := m.drops(l); r != nil {
				return r
			}
		}
	}
	late, taken, to := make([]float64, len(m.waits)), make([]float64, len(m.waits)), make([]int, len(m.waits))
	for _, k := range m.o.Wakes {
		switch w := &m.waits[k.Wait]; {
		case k.Role < 0:
			late[k.Wait] += k.Rate
		case takes(k.By.Op) && k.Role != w.Role:
			taken[k.Wait] += k.Rate
			to[k.Wait] = k.Role
		default:
			taken[k.Wait] = math.Inf(1) // it also receives, or excludes others
		}
	}
	for i := range m.waits {
		// More than half of those that wait give up, and the receiver has time left.
		w, p := &m.waits[i], &m.parts[to[i]]
		if w.Op == observe.Select && w.kind(m) == observe.Channel && taken[i] > 0 && late[i] > taken[i] && p.serves() <= 1/worth {
			r := m.shed(p, w.Node, w.Line, fmt.Sprintf("%s values a second are given up at %s after a wait", format.Compact(late[i]), where(w.At)))
			r.clear = late[i] / (late[i] + taken[i])
			return r
		}
	}
	return nil
}

// drops holds if a send that does not wait drops values. It wakes its receiver, which then
// has more to do than one value: all its goroutines at once for some time, or several calls
// of its own for a wake-up. Without that, it may be a burst of which little was accepted, or
// a mere notification.
func (m *model) drops(l *link) *ruling {
	p := &m.parts[l.wait.Role]
	// Many that are woken at once by a broadcast wait for a core, and have one value each.
	if p.serves() > 1/worth || p.made[costQueue] > p.made.sum()/2 && p.Alive > 2*m.cores.have {
		return nil
	}
	calls := m.longest(p.index, func(w *wait) bool { return w.kind(m) == observe.Outside || w.kind(m) == observe.Disk })
	r := m.shed(p, l.wait.Node, l.by, fmt.Sprintf("the send at %s does not wait, so what comes while it is busy is dropped", where(l.by.At)))
	r.next = "Count what the default case of " + where(l.by.At) + " drops."
	r.evidence = []Evidence{{fmt.Sprintf("the send wakes %s %s times a second, all of its goroutines are busy at once in %s of all slices of 5 ms", p.Name, format.Compact(l.rate), percent(p.Full)), "trace"}}
	switch {
	case p.Full > max(0.02, p.busy/2):
		// Independent work would fill all goroutines at once for the Alive-th power of the
		// busy share.
		r.clear = min(1, max(0.4, 1-math.Pow(p.busy, max(1, p.Alive))/max(p.Full, 1e-9)))
	case calls != nil && calls.Rate >= 2*l.rate:
		r.clear = 0.4
	case m.cores.full < 0.1:
		r.clear = 0.1
	default:
		return nil
	}
	return r
}

// shed explains how bursts are lost at a line before a part.
func (m *model) shed(p *part, node int, line observe.Line, how string) *ruling {
	r := &ruling{verdict: Shedding, channels: Yes, part: p.index, meet: node, util: p.busy, at: line, why: "bursts are dropped while it is idle on average"}
	r.answer = fmt.Sprintf("%s is busy only %s of the time, but in bursts: %s.", p.naming(), percent(p.busy), how)
	r.changes = []change{{name: Buffer, line: line, part: -1, text: "Give the channel of " + at(line) + " a buffer that holds a burst",
		fixed:    &Gain{Low: 1, High: 1 / max(p.busy, 0.01), Bound: fmt.Sprintf("%s is busy %s of the time", p.Name, percent(p.busy))},
		evidence: []string{"the receiver is idle " + percent(1-p.busy) + " of the time, so the buffer empties between bursts"}}}
	return r
}

// outside holds if goroutines wait for answers from outside, and no others wait for them.
func outside(m *model) *ruling {
	p := largest(m.parts, func(p *part) float64 {
		return given(!p.Runtime && p.made.away() > max(1, p.Alive-p.Time.Unknown)/worth && !m.keepsUp(p), p.made.away())
	})
	if p == nil {
		return nil
	}
	top := m.located(p, p.costs()[0])
	r := &ruling{verdict: Outside, channels: No, part: p.index, meet: -1, util: p.busy, holds: p.room + p.reply, at: top.line, why: top.doing(),
		clear: min(1, p.made.away()/max(p.Alive-p.Time.Unknown, 1e-9))}
	r.answer = fmt.Sprintf("%s %s %s of the time%s: nothing inside the service is busy (%s).", p.naming(), top.doing(), percent(p.busy), near(top.line), m.inUse())
	r.next = "Look at what it waits for, or let more of these waits overlap: nothing between the goroutines is slow."
	return r
}

// keepsUp reports whether a role that waits outside follows a pace: it, or the role that
// starts its goroutines, has time left to wait for a source, or a clock of the program ticks
// about as often as its waits end. A request takes several of them: in and out, of each side
// of a proxy.
func (m *model) keepsUp(p *part) bool {
	w := m.longest(p.index, func(w *wait) bool { return w.kind(m) == observe.Outside || w.Op == observe.Network })
	if w == nil {
		return false
	}
	l := m.follows(p)
	return l != nil && l.mean > 0.05*p.Alive || slices.ContainsFunc(m.waits, func(v wait) bool {
		q := &m.parts[v.Role]
		return q != p && (v.load && v.kind(m) == observe.Timer && v.Rate > w.Rate/4 || p.By.Function != "" && v.At.Function == p.By.Function && q.load > 0.05*q.Alive && q.turns > 1)
	})
}

// follows returns where a part, with nothing to do, waits longest for a source, or nil: a
// role that waits for requests or for the clock most of the time, so that what it sends
// comes at a pace.
func (m *model) follows(p *part) *link {
	return largest(m.links, func(l *link) float64 {
		q := &m.parts[l.waker()]
		return given(l.wait.Role == p.index && l.idle() && q.load > q.Alive/2, l.mean)
	})
}

// idle holds where too little happens to say anything.
func idle(m *model) *ruling {
	turns := 0.0
	if p := largest(m.parts, func(p *part) float64 { return given(!p.Runtime, p.turns) }); p != nil {
		turns = p.turns
	}
	// A hundredth of a core and ten events a second are what a service without load
	// uses for its own timers.
	if m.cores.used > 0.01*max(1, m.cores.have) || turns > 10 {
		return nil
	}
	r := &ruling{verdict: Idle, channels: No, part: -1, meet: -1, clear: 0.9, seen: 1, next: "Observe it under its usual load.",
		answer: fmt.Sprintf("The service is idle: it uses %s, and nothing happens more than %.0f times a second.", cpus(m.cores.used), math.Ceil(turns))}
	for _, s := range m.o.Stood {
		// Goroutines of an idle pool stand at one line. Those at a second line of the same
		// function have begun something that does not end.
		if slices.ContainsFunc(m.o.Stood, func(t observe.Standing) bool {
			return s.Op == observe.Receive && t.Op == s.Op && t.Role == s.Role && t.At.Line < s.At.Line
		}) {
			r.clear, r.next = 0.1, fmt.Sprintf("Find out what the %d goroutines at %s wait for, while others wait before that.", s.Count, where(s.At))
		}
	}
	return r
}

// fine is what is next for a service that keeps up.
const fine = "Nothing to do at this load."

// paced reports whether requests or ticks end waits more than so many times a second, so
// that the load has an end. The observer's own requests come less than ten times a second.
func (m *model) paced(often float64) bool {
	return slices.ContainsFunc(m.waits, func(w wait) bool {
		p := &m.parts[w.Role]
		return w.load && w.Rate > often && (!p.Runtime || w.Rate > 10 && observe.Server(p.Start.Function))
	}) || slices.ContainsFunc(m.o.Wakes, func(k observe.Wake) bool {
		return k.Rate > often && m.timer(&k)
	})
}

// loaded holds where nothing inside is busy all the time: the load is the limit.
func loaded(m *model) *ruling {
	// A role that waits for no other, and no other for it, may have as many goroutines as
	// there are requests.
	name, most, alone := "the cores", m.cores.full, false
	p := largest(m.parts, func(p *part) float64 { return given(p.Created < 0.5*p.Alive && p.inFlow(), p.serves()) })
	if p != nil && p.serves() > most {
		name, most, alone = p.Name, p.serves(), p.held() == 0
	}
	r := &ruling{verdict: Load, channels: No, part: -1, meet: -1, util: most, headroom: 1 / max(most, 0.01),
		next: fine}
	// The further below a bottleneck's utilization, the clearer.
	r.clear = min(0.9, max(0, 3*(1/worth-most)))
	if alone {
		r.clear = max(r.clear, 0.4) // it still has to wait for values at times
	}
	if !m.paced(0) {
		r.clear, r.next = 0.1, "Find out what the values wait for: nothing was seen to come from outside or from a clock, so that more could come at any time."
	}
	for i := range m.parts {
		p := &m.parts[i]
		sleeps := m.longest(i, func(w *wait) bool { return w.load && w.Op == observe.Sleep })
		switch l := largest(m.links, func(l *link) float64 { return given(l.from == i && l.to != i, l.rate) }); {
		case !p.Runtime && p.turns > 0 && p.came > 2*p.turns && p.made.away() > p.made.sum()/2:
			// Most of those that come end before they have waited for anything outside.
			r.clear, r.next = 0.1, fmt.Sprintf("Count what %s refuses: %s of them come each second, and only %s wait.", p.Name, format.Compact(p.came), format.Compact(p.turns))
		case observe.Refuses(p.Host):
			r.clear, r.next = 0.1, fmt.Sprintf("Count how often TryGo refuses at %s.", where(p.By))
		case sleeps != nil && l != nil && p.Alive >= 1.5:
			// One that sleeps is a clock; several may ask again for what others do for them.
			r.clear, r.next = 0.1, fmt.Sprintf("Find out whether %s asks for an answer of %s after its sleep at %s: then it should wait for that instead.", p.Name, m.parts[l.to].Name, where(sleeps.At))
		}
	}
	r.answer = fmt.Sprintf("Nothing inside holds the service back: the busiest part, %s, is busy %s of the time, so the load could grow to about ×%.2g.",
		name, percent(most), max(1, r.headroom))
	return r
}
