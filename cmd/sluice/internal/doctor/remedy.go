package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// First, do no harm: a remedy that is right for one program breaks another. The changes
// below are made only with the evidence that excludes that; conditions has, for each remedy,
// what no observation can show. What each can break is in docs/doctor.md. A remedy that is
// not here is not given.
var conditions = map[Name]string{
	Batch:         "flush the last, partial batch, and do not let a value wait for the next one",
	Buffer:        "not if its capacity is a limit, or a send must mean that the value was received",
	MoreReceivers: "if order does not matter, and what the receiver keeps (maps, counters, files) is locked or each gets its own",
	Split:         "if order between senders does not matter, and no operation needs two parts at once",
	Balance:       "if values of one key need no order between them",
	RemoveHop:     "not if it is there to order values, to keep state, or to keep its senders from blocking",
	UseMutex:      "if nothing blocks while it is held",
	RaiseLimit:    "if what the holders wait for can serve more at once",
	StopPolling:   "keep a case that ends the loop",
	Release:       "close a channel only where no goroutine sends any more",
	Reuse:         "only what no goroutine uses any more; with go 1.22 or older in go.mod, stop and drain a timer before each Reset",
	Signal:        "if all waiters wait for the same condition, and one of them can act on each change",
	Cheaper:       "",
	MoreCores:     "",
}

// remedies returns at most two remedies that are safe, with their gains.
func (m *model) remedies(r *ruling) []Remedy {
	kept, seen := []Remedy{}, map[Name]bool{}
	for i := range r.changes {
		c := &r.changes[i]
		condition, known := conditions[c.name]
		if seen[c.name] || !known || len(kept) == 2 {
			continue
		}
		seen[c.name] = true
		g := m.gain(c)
		if g != nil && m.cores.crowded && (g.High < 2 || c.name == MoreCores) {
			g = nil // the cores bound it, and other processes have them now
		}
		if g != nil && g.High < 1.1 {
			r.next = fmt.Sprintf("No change is known that gives more than ×%.2g: %s.", g.High, g.Bound)
			continue // within the noise of any measurement
		}
		x := Remedy{Name: c.name, Change: c.text + ".", At: placeOf(c.line), Gain: g, Condition: condition, Evidence: append([]string{}, c.evidence...)}
		if c.plain {
			x.Condition = ""
		}
		kept = append(kept, x)
	}
	return kept
}

// relieve returns the changes that relieve a busy part, the best first.
func (m *model) relieve(p *part, costs []cost) (all []change) {
	for _, k := range costs {
		if k.share < 1-1/worth {
			break
		}
		all = append(all, m.reduce(p, m.located(p, k))...)
	}
	return all
}

// reduce returns the changes that relieve a part of one of its costs, the best first.
func (m *model) reduce(p *part, k cost) []change {
	switch k.kind {
	case costMemory, costTimers:
		return []change{m.reuse(p, k)}
	case costSystem, costDisk:
		return append([]change{m.batchSink(p, k)}, m.spread(p, k)...)
	case costOutside, costSleep:
		return append(m.spread(p, k), m.batchSink(p, k))
	case costOwn:
		return append(m.spread(p, k), cheaper(p, k))
	}
	line, node := m.queueAt(p)
	return m.handOffs(p, k, line, node)
}

// spread returns the change that gives the work of a part to more goroutines, if there is one
// that breaks nothing: a goroutine that computes and answers, or that makes much, may own a
// state; one that writes keeps an order, as does one at a pipe, whose bytes are one stream;
// more receivers contend for a channel that is a cost.
func (m *model) spread(p *part, k cost) []change {
	costs := p.costs()
	if p.skewed() && p.same <= p.held() {
		return []change{m.balance(p)} // in shards, values stay in order
	}
	alone := p.Alive < 1.5 && (k.kind == costSystem || k.kind == costDisk || k.kind == costOwn && (p.reply > 0.1 || share(costs, costMemory) > 0.1))
	takes := p.room >= 0.1 || m.takesAt(p).At.Function != ""
	stream := slices.ContainsFunc(m.links, func(l link) bool {
		return (l.from == p.index || l.to == p.index) && l.wait.Node >= 0 && m.meets[l.wait.Node].Name == observe.Pipe
	})
	if alone || !takes || stream || share(costs, costPassing) >= 1-1/worth || k.kind == costOutside && m.broadcast(p) {
		return nil
	}
	return []change{m.moreReceivers(p)}
}

// tokens returns how many values are at a part: those that it has, and those that wait.
func (p *part) tokens() float64 { return p.room + p.reply + p.made.sum() }

// handOffs returns the changes after which values need fewer hand-offs, the best first. Where
// p is nil, no part is busy with them, and all take turns at a node.
func (m *model) handOffs(p *part, k cost, line observe.Line, node int) []change {
	cpu, tokens, why := less(m.process(), costPassing), 2.0, "a slice needs one hand-off for many values"
	if p != nil {
		tokens = max(2, p.tokens())
	}
	with := func(name Name, gone float64, line observe.Line, text string, a ...any) change {
		return change{name: name, line: line, evidence: []string{why}, text: fmt.Sprintf(text, a...),
			part: -1, lighter: true, gone: gone, cpu: remains{cpu.least, 1 - gone*m.passingCPU()}, tokens: tokens}
	}
	line = either(line, k.line)
	batch := with(Batch, 0.5, line, "Send slices of values at %s, and at the channels after it: one channel operation for each slice", where(line.At))
	// Starting and ending a goroutine takes about a microsecond: a hundred thousand a second
	// take a tenth of a core. A server starts its own.
	if i := slices.IndexFunc(m.parts, func(p part) bool {
		return !p.Runtime && p.Created >= 1000 && p.Created > p.turns/4 && !observe.Server(p.Host)
	}); i >= 0 {
		q := &m.parts[i]
		why = fmt.Sprintf("%s goroutines of %s are started each second", format.Compact(q.Created), q.Name)
		return []change{with(RemoveHop, 0.5, observe.Line{At: q.By}, "Start no goroutine for each value at %s: call its function, or keep some workers and give each of them several values", where(q.By))}
	}
	if inLibrary(line) {
		why = "its hand-offs are in a library: only the number of its calls is the program's"
		return []change{with(Batch, 0.5, line, "Make fewer, larger calls of %s at %s, and at its other end: collect values first, as a bufio.Writer does", line.In, where(line.At))}
	}
	switch {
	case p != nil && m.dispatches(p): // the hop after it is left
		hop := with(RemoveHop, 0.25, either(k.line, line), "Pass values past %s: let its receivers take them from the channel that it takes them from", p.Name)
		return []change{hop, batch}
	case p != nil && p.trips && blocks(&p.made):
		return nil
	case p != nil && p.trips:
		why = "its callers wait for each answer, so a value has nothing to be batched with"
		return []change{with(UseMutex, 0.5, line, "Do the work of %s in the goroutines that ask for it, under a mutex: each call is two hand-offs now", p.Name)}
	case !m.bothWait(node):
		return []change{batch}
	}
	why = "senders and receivers wait alternately: their channel has no room"
	room := with(Buffer, 0, line, "Give the channel of %s, and those after it, a buffer of 64 to 1024 values", at(line))
	if p != nil {
		return []change{batch, room} // more room leaves a busy part its hand-offs
	}
	return []change{room, batch} // a buffer is a number, slices change the code at both ends
}

// dispatches reports whether a part gives values to those that tell it when they are free, so
// that they are at both of its sides, and takes the values from others.
func (m *model) dispatches(p *part) bool {
	give, both, others := map[int]bool{}, false, false
	for i := range m.links {
		if l := &m.links[i]; l.from == p.index && l.to != p.index {
			give[l.to] = true
		}
	}
	for i := range m.links {
		if l := &m.links[i]; l.to == p.index && l.from != p.index {
			both, others = both || give[l.from], others || !give[l.from]
		}
	}
	return both && others
}

// answerer returns the role at a meeting that answers the values that it takes, or nil. The
// one with fewer goroutines wins.
func (m *model) answerer(g *meeting) (best *part) {
	for _, e := range slices.Concat(g.receivers, g.senders) {
		if p := &m.parts[e.role]; !p.Runtime && p.trips && (best == nil || p.Alive < best.Alive) {
			best = p
		}
	}
	return best
}

// blocks reports whether what is done under a lock waits outside, so that callers would wait for
// each other's I/O under a mutex.
func blocks(d *made) bool { return d.away() > d.sum()/5 }

// moreReceivers returns the change that gives a part more goroutines: twice as many at
// least, at best as many as the next station can use or as wait.
func (m *model) moreReceivers(p *part) change {
	now := max(1, p.Alive)
	c := change{name: MoreReceivers, line: either(m.takesAt(p), observe.Line{At: p.Start}), part: p.index, servers: remains{2, 1000}, tokens: 2*now + p.room}
	if p.reply > p.room || p.trips && !m.dispatches(p) {
		c.callers, c.tokens = true, p.tokens()
	}
	n := 2 * now
	if g := m.gain(&c); g != nil {
		n = now * g.Likely
	}
	c.text = fmt.Sprintf("Run %s in %.0f goroutines instead of %.0f", p.Name, math.Ceil(n), now)
	return c
}

// batchSink returns the change after which a call that a part makes for each value serves
// many.
func (m *model) batchSink(p *part, k cost) change {
	what := map[costKind]string{costSystem: "system call", costDisk: "sync", costOutside: "request", costSleep: "call"}[k.kind]
	// A call for two values takes half of it at least.
	return change{name: Batch, line: k.line, part: p.index, kept: less(p.costs(), k.kind), cpu: less(m.process(), costSystem), tokens: max(2, p.tokens()),
		text: fmt.Sprintf("Make one %s for all values that have arrived%s, not one for each", what, near(k.line))}
}

// broadcast reports whether a value goes to several receivers, of which one is slow: roles
// at one node, where workers that share a channel are one role.
func (m *model) broadcast(p *part) bool {
	l, node := m.queueAt(p)
	return node >= 0 && m.meets[node].Kind == observe.Channel && l.Op != observe.Receive &&
		slices.ContainsFunc(m.meets[node].receivers, func(e end) bool { return e.role != p.index && !m.parts[e.role].Runtime })
}

// skewed reports whether one goroutine of a role has most of the work: of two, it is as
// busy as it can be, and the other one is half as busy at most.
func (p *part) skewed() bool { return p.Alive > 1.5 && p.hot >= 1/worth && p.busy < 0.75*p.hot }

// balance returns the change that spreads values over all goroutines of a role, if one of
// them has most of the work.
func (m *model) balance(p *part) change {
	return change{name: Balance, line: m.takesAt(p), part: p.index, servers: remains{1, p.hot / max(p.busy, 0.01)}, tokens: p.Alive + p.room,
		text:     fmt.Sprintf("Spread the values over all %.0f goroutines of %s: by another key, or more keys", p.Alive, p.Name),
		evidence: []string{fmt.Sprintf("one goroutine is busy %s of the time, all of them %s on average", percent(p.hot), percent(p.busy))}}
}

// reuse returns the change that makes fewer new objects.
func (m *model) reuse(p *part, k cost) change {
	what := cmp.Or(k.makes, "memory")
	if k.kind == costTimers && k.makes != "context" {
		what = "timer"
	}
	// Code beside allocation waits for memory that is new: how much of that is left is not
	// known.
	return change{name: Reuse, line: k.line, part: p.index, kept: less(p.costs(), k.kind), cpu: less(m.process(), k.kind), tokens: max(1, p.tokens()), blind: k.kind == costMemory,
		text: fmt.Sprintf("Make no new %s for each value%s: reuse it", what, near(k.line))}
}

// cheaper names the code that the time goes into: nothing between goroutines helps.
func cheaper(p *part, k cost) change {
	name := where(k.line.At)
	if k.line.At.Function == "" && p != nil {
		name = p.Name
	}
	c := change{name: Cheaper, line: k.line, part: -1, blind: true, text: fmt.Sprintf("Make %s cheaper: the time is its own code", name)}
	if k.kind == costLocking {
		c.text = fmt.Sprintf("Let fewer goroutines wait for one lock%s", near(k.line))
	}
	return c
}

// widen returns the changes for a lock or a limit that is always taken.
func (m *model) widen(g *meeting, r *ruling, slots float64, inside made) []change {
	tokens, costs := slots+r.holds, inside.split()
	freed := m.freed(tokens, inside, remains{}, remains{})
	split := change{name: Split, line: r.at, part: -1, fixed: freed,
		text: fmt.Sprintf("Split what %s protects, by key, so that few callers meet", where(r.at.At))}
	if g.Kind == observe.Mutex {
		w, call := m.heldIn(g, r.util), costOutside
		if costs[0].kind == costDisk {
			call = costDisk
		}
		batch := split
		batch.name, batch.text = Batch, fmt.Sprintf("Let one goroutine do the work under the lock of %s, for all that has arrived in one call", where(r.at.At))
		batch.fixed = m.freed(tokens, inside, less(costs, call), less(m.process(), costSystem))
		switch {
		case call == costDisk, w != nil && inLibrary(r.at):
			return []change{batch, split}
		case w != nil:
			return []change{{name: Cheaper, line: w.Line, part: -1, blind: true, evidence: []string{"the lock is held, but no core is in use for it", fmt.Sprintf("%.2g goroutines are in that wait, on average", w.Mean)},
				text: fmt.Sprintf("Move the wait in %s, reached from %s, out of the critical section: the holder of the lock waits there", at(w.Line), where(cmp.Or(w.Caller, m.parts[w.Role].Start)))}, split}
		}
		return []change{split}
	}
	if r.verdict == Channel {
		p := m.passingCPU()
		if blocks(&inside) {
			return []change{split}
		}
		return []change{{name: UseMutex, line: r.at, part: -1, text: fmt.Sprintf("Use a sync.Mutex in place of the channel of %s", at(r.at)),
			fixed:    &Gain{Low: 1, High: m.spare(1 - p), Bound: fmt.Sprintf("%s, %s of that for passing", m.inUse(), percent(p))},
			evidence: []string{"those that wait at it free each other: it carries no values", fmt.Sprintf("%.2g of them are inside", slots)}}, split}
	}
	limit := change{name: RaiseLimit, line: r.at, part: -1,
		text: fmt.Sprintf("Raise the limit that %s waits for (%s)", where(r.at.At), m.nodeName(g.index))}
	if slots >= 0.5 {
		limit.text += fmt.Sprintf(", from about %.0f", slots)
	}
	switch {
	case m.timed(g):
		limit.blind = true // a rate, and not a number of slots
	case g.same > 0.5*g.ended || len(g.receivers) == 0:
		limit.fixed = freed
	default:
		limit.part, limit.servers, limit.tokens = g.receivers[0].role, remains{2, 1000}, 2*slots
	}
	return []change{limit}
}

// heldIn returns the wait in which the holder of a lock is, or nil: the lock is held, but
// those that take it hardly use a core, and one of them waits for something else.
func (m *model) heldIn(g *meeting, util float64) *wait {
	roles, cpu := map[int]bool{}, 0.0
	for _, e := range slices.Concat(g.receivers, g.senders) {
		if p := &m.parts[e.role]; !p.Runtime && !roles[e.role] {
			roles[e.role] = true
			cpu += p.made.cpu() + p.made[costSystem]
		}
	}
	return largest(m.waits, func(w *wait) float64 { // a lock has one holder
		return given(cpu < util/2 && roles[w.Role] && w.Node != g.index && !w.load && w.Mean > util/3 && w.Mean < 1.1, w.Mean)
	})
}

// timed reports whether no goroutine ends the waits at a limit: the clock does.
func (m *model) timed(g *meeting) bool {
	return !slices.ContainsFunc(m.o.Wakes, func(k observe.Wake) bool { return k.Role >= 0 && m.waits[k.Wait].Node == g.index })
}

// lighten returns the changes for full cores.
func (m *model) lighten(top cost, r *ruling) []change {
	var p *part
	if r.part >= 0 {
		p = &m.parts[r.part]
	}
	switch top.kind {
	case costMemory, costTimers, costSystem, costPassing:
		if p == nil {
			return nil // of no role of the program
		}
		top.share = pick(p.costs(), top.kind).share
		// All roles share the cores.
		return slices.DeleteFunc(m.reduce(p, top), func(c change) bool { return c.name == MoreReceivers || c.name == Balance })
	}
	if m.cores.lacks == 0 {
		return []change{cheaper(p, top)}
	}
	by := "a quota, or other processes, take them"
	if m.cores.crowded {
		by = fmt.Sprintf("other processes use %.2g of them", m.o.Cores.Others)
	}
	wanted := (m.o.Cores.Running + m.cores.queue) / max(m.cores.used, 0.01)
	return []change{{name: MoreCores, part: -1, text: "Give the process more cores: " + by,
		fixed: &Gain{Low: min(wanted, 0.8/(1-m.cores.lacks)), High: wanted, Bound: fmt.Sprintf("%.2g goroutines run or want to", m.o.Cores.Running+m.cores.queue)}}, cheaper(p, top)}
}

// loosen returns the changes for a lockstep.
func (m *model) loosen(g *meeting, r *ruling) []change {
	return m.handOffs(m.answerer(g), cost{}, r.at, g.index)
}
