package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// A change is a change of the model, from which the bounds of its gain follow.
type change struct {
	name     Name
	text     string // what to change, and where
	line     observe.Line
	evidence []string

	part    int     // index of the part that the change relieves, or -1
	kept    remains // of that part's time per value
	servers remains // factor of its goroutines: at least the few that are enough to tell, at best as many as the next can use
	cpu     remains // of the process's CPU time per value
	lighter bool    // all parts spend half to nearly all less on passing values
	tokens  float64 // values in flight afterwards; 0 if unknown
	callers bool    // they wait for answers: no more than tokens can be in flight

	fixed *Gain // bounds that do not follow from demands
	blind bool  // no bound is known: measure it
	plain bool  // the condition of the remedy does not apply
}

// remains is the range of the share that a change leaves of something. The zero value is
// 1: nothing changes.
type remains struct{ least, most float64 }

func (s remains) at(best bool) float64 {
	switch {
	case s.most == 0:
		return 1
	case best:
		return s.least
	}
	return s.most
}

// less returns what remains of something without one of its costs: only half of the cost
// is removed, or all that is no work goes with it, such as the memory and the timers that
// were made for the same reason.
func less(costs []cost, kind costKind) remains {
	k := pick(costs, kind).share
	work := share(costs, costOwn, costSystem, costDisk, costOutside, costSleep)
	if kind == costSystem || kind == costDisk || kind == costOutside || kind == costSleep {
		work -= k
	}
	return remains{max(0.02, min(work, 1-0.95*k)), 1 - k/2}
}

// work is what a part does for its values, without passing them.
func (d *made) work() float64 { return d.Own + d.System + d.away() }

// A station is a resource in the bounds: demand is what the present work takes of it, and
// servers is what it has, so that demand/servers is its utilization.
type station struct {
	part            int // index, or -1 for the cores
	name            string
	demand, servers float64
}

func (s station) util() float64 { return s.demand / max(s.servers, 1e-9) }

// stations returns the service after a change, with the least or the most that the change
// can leave.
func (m *model) stations(c *change, best bool) (all []station) {
	for i := range m.parts {
		p := &m.parts[i]
		if !p.inFlow() {
			continue
		}
		// Waiting for a core is the cores' matter.
		s := station{i, p.Name, p.made.sum() - p.made.Runnable, max(p.Alive-p.Time.Unknown, 1e-9)}
		if w := m.longest(i, func(w *wait) bool { return w.load && w.Op != observe.Network }); w != nil {
			s.demand += p.load // a pace is part of what a value takes
		}
		if p.hot > p.busy && p.busy > 0 {
			s.servers = min(s.servers, s.demand/max(p.serves(), 1e-9)) // as its busiest goroutine limits
		}
		switch {
		case i == c.part:
			s.demand *= c.kept.at(best)
			s.servers *= c.servers.at(!best)
		case c.lighter && best:
			s.demand = max(p.made.work(), 0.02*s.demand)
		case c.lighter:
			s.demand -= p.made.Passing / 2
		}
		all = append(all, s)
	}
	if m.cores.have > 0 {
		used := m.cores.full * m.cores.have
		if m.cores.crowded && best {
			used = m.cores.used // others had the rest, and need not have it then
		}
		all = append(all, station{-1, "the cores", used * c.cpu.at(best), m.cores.have})
	}
	return all
}

// gain returns the bounds of a change's gain: at most what the busiest station allows
// afterwards; at least what a closed network with that number of values reaches if each of them
// queues wherever it can (Denning and Buzen 1978; Zahorjan et al. 1982). It returns nil
// if no bound is known.
func (m *model) gain(c *change) *Gain {
	g := &Gain{Low: 1, High: math.Inf(1), Of: "throughput"}
	switch {
	case c.blind:
		return nil
	case c.fixed != nil:
		g.Low, g.High, g.Bound = c.fixed.Low, c.fixed.High, c.fixed.Bound
	default:
		for _, s := range m.stations(c, true) {
			if u := s.util(); u > 0 && 1/u < g.High {
				g.High, g.Bound = 1/u, fmt.Sprintf("%s would be busy %s of the time at the present rate", s.name, percent(u))
			}
		}
		sum, most := 0.0, 0.0
		for _, s := range m.stations(c, false) {
			most = max(most, s.util())
			if s.part >= 0 {
				sum += s.demand
			}
		}
		if math.IsInf(g.High, 1) || most <= 0 {
			return nil
		}
		if g.High > 20 && c.servers.most == 0 {
			return nil // less remains than a profile can measure
		}
		if c.tokens >= 1 {
			g.Low = min(g.High, c.tokens/max(sum+(c.tokens-1)*most, 1e-9))
			if c.lighter {
				g.Low = min(g.Low, 1/c.cpu.at(false)) // the CPU time alone, no more of it at once
			}
			if c.callers && c.tokens/sum < g.High {
				g.High, g.Bound = c.tokens/sum, fmt.Sprintf("%.0f callers are inside or wait", c.tokens)
			}
		}
	}
	g.High = two(max(1, g.High))
	g.Low = min(two(max(1, g.Low)), g.High)
	g.Likely = min(max(two(math.Sqrt(g.Low*g.High)), g.Low), g.High) // the middle of a range of factors
	return g
}

// two rounds to two digits.
func two(f float64) float64 {
	unit := math.Pow(10, 1-math.Floor(math.Log10(f)))
	return math.Round(f*unit) / unit
}

// spare returns the factor that the cores leave if values need that share of the CPU time
// that they need now.
func (m *model) spare(kept float64) float64 { return max(1, 1/max(0.01, m.cores.full*kept)) }

// remedies returns at most two remedies that are safe, with their gains.
func (m *model) remedies(r *ruling) []Remedy {
	kept, seen := []Remedy{}, map[Name]bool{}
	for i := range r.changes {
		c := &r.changes[i]
		if seen[c.name] {
			continue
		}
		seen[c.name] = true
		h := hazardOf(c.name)
		if h.lacks != nil {
			if why := h.lacks(m, r, c); why != "" {
				r.next = fmt.Sprintf("No %s: %s.", c.name, why)
				continue
			}
		}
		g := m.gain(c)
		if g != nil && m.cores.crowded && (g.High < 2 || c.name == MoreCores) {
			g = nil // the cores bound it, and other processes have them now
		}
		if g != nil && g.High < 1.1 {
			r.next = fmt.Sprintf("No change is known that gives more than ×%.2g: %s.", g.High, g.Bound)
			continue // within the noise of any measurement
		}
		x := Remedy{Name: c.name, Change: c.text + ".", At: placeOf(c.line), Gain: g, Condition: h.unless, Evidence: append([]string{}, c.evidence...)}
		if c.plain {
			x.Condition = ""
		}
		if kept = append(kept, x); len(kept) == 2 {
			break
		}
	}
	return kept
}

// relieve returns the changes that relieve a busy part, the best first.
func (m *model) relieve(p *part, costs []cost) (all []change) {
	tokens := p.room + p.reply + p.made.sum()
	for _, k := range costs {
		if k.share < 0.15 {
			break // removing less is not worth it: see worth
		}
		k = m.located(p, k)
		more := m.balance(p) // in shards, values stay in order
		if len(more) == 0 {
			more = []change{m.moreReceivers(p, tokens)}
		}
		switch k.kind {
		case costPassing, costLocking:
			all = append(all, m.passLess(p, k, tokens)...)
		case costMemory, costTimers:
			all = append(all, m.reuse(p, k))
		case costSystem, costDisk:
			if all = append(all, m.batchSink(p, k, tokens)); p.Alive >= 1.5 {
				all = append(all, more...) // one that writes keeps an order
			}
		case costOutside, costSleep:
			if m.broadcast(p) {
				all = append(all, m.batchSink(p, k, tokens))
				continue
			}
			all = append(append(all, more...), m.batchSink(p, k, tokens))
		case costOwn:
			if p.Alive < 1.5 && (p.reply > 0.1 || share(costs, costMemory) > 0.1) {
				more = nil // one goroutine that computes may own a state, and cheaper work breaks none
			}
			all = append(append(all, more...), cheaper(p, k))
		}
	}
	if share(costs, costPassing) >= 1-1/worth {
		// More receivers would contend for the channel that is the cost.
		all = slices.DeleteFunc(all, func(c change) bool { return c.name == MoreReceivers })
	}
	return all
}

// passLess returns the changes after which a part passes fewer values, or cheaper.
func (m *model) passLess(p *part, k cost, tokens float64) []change {
	line, node := m.queueAt(p)
	batch := change{name: Batch, line: either(line, k.line), part: p.index, kept: less(p.costs(), k.kind), tokens: max(tokens, 2), lighter: true, cpu: less(m.process(), costPassing),
		text:     fmt.Sprintf("Send slices of values at %s: one channel operation for each slice", where(either(line, k.line).At)),
		evidence: []string{fmt.Sprintf("%s of the busy time of %s is channel operations and wake-ups", percent(k.share), p.Name)}}
	hop := batch
	hop.name, hop.line = RemoveHop, either(k.line, line)
	hop.kept.most, hop.cpu.most = max(hop.kept.least, 0.75), 1-m.passingCPU()/4 // the hop after it is left
	hop.text = fmt.Sprintf("Pass values past %s: let its receivers take them from the channel that it takes them from", p.Name)
	dispatches, relays := m.passesOn(p)
	switch {
	case dispatches:
		return []change{hop, batch}
	case p.reply > p.room || p.trips:
		mutex := batch
		mutex.name, mutex.line = UseMutex, line
		mutex.text = fmt.Sprintf("Let the callers do the work of %s themselves, under a mutex: each call is two hand-offs now", p.Name)
		mutex.evidence = []string{"its callers wait for each answer", fmt.Sprintf("its own work is %s of its time", percent(1-k.share))}
		return []change{mutex}
	case relays:
		return []change{batch, hop}
	case m.bothWait(node):
		room := batch
		room.name, room.line, room.kept.most, room.cpu.most = Buffer, line, 1, 1
		room.text = fmt.Sprintf("Give the channel of %s a buffer of 64 to 1024 values", at(line))
		room.evidence = []string{"senders and receivers wait in turns: its channel has no room"}
		return []change{batch, room}
	}
	return []change{batch}
}

// passesOn reports whether a part only passes values on: it takes from other roles, gives
// to other roles, and does little with what it gets; and whether those that it gives to
// tell it when they are free, so that they are at both of its sides.
func (m *model) passesOn(p *part) (dispatches, relays bool) {
	give, take := map[int]bool{}, map[int]bool{}
	for i := range m.links {
		if l := &m.links[i]; l.from == p.index && l.to != p.index {
			give[l.to] = true
		} else if l.to == p.index && l.from != p.index {
			take[l.from] = true
		}
	}
	both := 0
	for other := range take {
		if give[other] {
			both++
		}
	}
	own := share(p.costs(), costOwn, costSystem, costDisk, costOutside, costSleep)
	return both > 0 && len(take) > both, len(take) > 0 && len(give) > 0 && p.reply < p.room+p.feed && own < 0.4
}

// moreReceivers returns the change that gives a part more goroutines: twice as many at
// least, at best as many as the next station can use or as wait.
func (m *model) moreReceivers(p *part, tokens float64) change {
	c := change{name: MoreReceivers, line: either(m.takesAt(p), observe.Line{At: p.Start}), part: p.index}
	dispatches, _ := m.passesOn(p)
	c.callers = p.reply > p.room || p.trips && !dispatches
	now, rest := max(1, p.Alive), 0.0
	for _, s := range m.stations(&c, true) {
		if s.part != p.index {
			rest = max(rest, s.util())
		}
	}
	most := now * 1000
	if rest > 0 {
		most = min(most, math.Ceil(max(p.busy, 0.01)/rest*now))
	}
	if c.callers {
		most = min(most, math.Ceil(tokens)*now/max(1, p.made.sum()))
	}
	most = math.Round(max(most, now))
	c.servers, c.tokens = remains{min(2, most/now), most / now}, tokens
	if !c.callers {
		c.tokens = 2*now + p.room
	}
	n := most
	if g := m.gain(&c); g != nil {
		n = min(most, math.Ceil(now*g.Likely))
	}
	c.text = fmt.Sprintf("Run %s in %.0f goroutines instead of %.0f", p.Name, n, now)
	c.evidence = []string{fmt.Sprintf("%s of its time takes no core", percent(p.made.away()/max(p.made.sum(), 1e-9))), waiting(p.held()) + " for it"}
	return c
}

// batchSink returns the change after which a call that a part makes for each value serves
// many.
func (m *model) batchSink(p *part, k cost, tokens float64) change {
	what := map[costKind]string{costSystem: "system call", costDisk: "sync", costOutside: "request", costSleep: "call"}[k.kind]
	// A call for two values takes half of it at least.
	return change{name: Batch, line: k.line, part: p.index, kept: less(p.costs(), k.kind), tokens: max(2, tokens),
		text:     fmt.Sprintf("Make one %s for all values that have arrived%s, not one for each", what, near(k.line)),
		evidence: []string{fmt.Sprintf("%s of the time of %s is in that call, and %s", percent(k.share), p.Name, waiting(p.room+p.reply))}}
}

// broadcast reports whether a value goes to several receivers, of which one is slow: each of
// the others waits as often as the sender does for the slow one. Shards wait for values
// seldom, because they get few, and workers at one channel share them.
func (m *model) broadcast(p *part) bool {
	if l, node := m.queueAt(p); node >= 0 && m.meets[node].Kind == observe.Channel && l.Op != observe.Receive {
		for _, e := range m.meets[node].receivers {
			if q := &m.parts[e.role]; e.role != p.index && !q.Runtime && q.made.sum() < q.Alive/2 && e.rate > p.turns/2 {
				return true
			}
		}
	}
	in, out := 0.0, 0.0
	for i := range m.links {
		switch l := &m.links[i]; {
		case l.from == l.to || l.to != p.index:
		case l.push:
			out += l.rate
		default:
			in += l.rate
		}
	}
	return p.skewed() && out > 0 && in > out*(p.Alive-1)/2
}

// skewed reports whether one goroutine of a role has most of the work: of two, it is as
// busy as it can be, and the other one is half as busy at most.
func (p *part) skewed() bool { return p.Alive > 1.5 && p.serves() >= 1/worth && p.busy < 0.75*p.hot }

// balance returns the change that spreads values over all goroutines of a role, if one of
// them has most of the work.
func (m *model) balance(p *part) []change {
	if !p.skewed() || p.same > p.held() || m.broadcast(p) {
		return nil
	}
	return []change{{name: Balance, line: m.takesAt(p), part: p.index, servers: remains{1, p.hot / max(p.busy, 0.01)}, tokens: p.Alive + p.room,
		text:     fmt.Sprintf("Spread the values over all %.0f goroutines of %s: by another key, or more keys", p.Alive, p.Name),
		evidence: []string{fmt.Sprintf("one goroutine is busy %s of the time, all of them %s on average", percent(p.hot), percent(p.busy))}}}
}

// reuse returns the change that makes fewer new objects.
func (m *model) reuse(p *part, k cost) change {
	what := k.makes
	switch {
	case k.kind == costTimers && what != "context":
		what = "timer"
	case what == "":
		what = "memory"
	}
	c := change{name: Reuse, line: k.line, part: -1, cpu: less(m.process(), k.kind), tokens: 1,
		text:     fmt.Sprintf("Make no new %s for each value%s: reuse it", what, near(k.line)),
		evidence: []string{fmt.Sprintf("%s of the time is %s", percent(k.share), k.kind)}}
	// Code beside much allocation waits for memory that is new: how much of that is left
	// is not known.
	c.blind = k.kind == costMemory && k.share > 0.5
	if p != nil {
		c.part, c.kept, c.tokens = p.index, less(p.costs(), k.kind), max(1, p.room+p.reply+p.made.sum())
	}
	return c
}

// fewerGoroutines returns the change that starts no goroutine for each value, if one is
// started for most of them: starting and ending one takes about a microsecond, so that a
// hundred thousand a second take a tenth of a core.
func (m *model) fewerGoroutines() []change {
	for i := range m.parts {
		if p := &m.parts[i]; !p.Runtime && p.Created >= 1000 && p.Created > p.turns/4 {
			if p.same > p.held() {
				return []change{{name: RemoveHop, line: observe.Line{At: p.By}, part: -1, lighter: true, cpu: less(m.process(), costPassing), tokens: 2,
					text:     fmt.Sprintf("Start no goroutine at %s: values pass from one of them to the next, and a function that is called for each value needs none", where(p.By)),
					evidence: []string{fmt.Sprintf("%s goroutines of %s are started each second, and wait for each other", format.Compact(p.Created), p.Name)}}}
			}
			name := Reuse
			if m.longest(m.maker(p), func(w *wait) bool { return w.Op == observe.GroupWait }) != nil {
				name = Batch // it starts them for a set of values, and has them all
			}
			return []change{{name: name, line: observe.Line{At: p.By}, part: -1, lighter: true, cpu: less(m.process(), costPassing), tokens: 2,
				text:     fmt.Sprintf("Start no goroutine for each value at %s: keep some workers, and give each of them several values", where(p.By)),
				evidence: []string{fmt.Sprintf("%s goroutines of %s are started each second", format.Compact(p.Created), p.Name)}}}
		}
	}
	return nil
}

// maker returns the role that waits for the goroutines of another one, or -1.
func (m *model) maker(p *part) int {
	for i := range m.links {
		if l := &m.links[i]; l.waker() == p.index && l.wait.Op == observe.GroupWait {
			return l.wait.Role
		}
	}
	return -1
}

// cheaper names the code that the time goes into: nothing between goroutines helps.
func cheaper(p *part, k cost) change {
	name := where(k.line.At)
	if k.line.At.Function == "" && p != nil {
		name = p.Name
	}
	c := change{name: Cheaper, line: k.line, part: -1, blind: true, text: fmt.Sprintf("Make %s cheaper: the time is its own code", name),
		evidence: []string{fmt.Sprintf("%s of the time is %s", percent(k.share), k.kind)}}
	if k.kind == costLocking {
		c.text = fmt.Sprintf("Let fewer goroutines wait for one lock%s", near(k.line))
	}
	return c
}

// widen returns the changes for a lock or a limit that is always taken.
func (m *model) widen(g *meeting, r *ruling, slots float64, inside made) []change {
	k, tokens := inside.split()[0], slots+r.holds
	freed := m.freed(tokens, inside)
	split := change{name: Split, line: r.at, part: -1, fixed: freed, evidence: []string{waiting(r.holds) + " for it, on average"},
		text: fmt.Sprintf("Split what %s protects, by key, so that few callers meet", where(r.at.At))}
	batch := split
	batch.name = Batch
	batch.text = fmt.Sprintf("Let one goroutine do the work under the lock of %s, for all that has arrived in one call", where(r.at.At))
	limit := change{name: RaiseLimit, line: r.at, part: -1,
		text:     fmt.Sprintf("Raise the limit that %s waits for (%s), from about %.0f", where(r.at.At), m.nodeName(g.index), math.Round(slots)),
		evidence: []string{fmt.Sprintf("a goroutine inside takes no core for %s of the time", percent(inside.away()/max(inside.sum(), 1e-9))), waiting(r.holds) + " for a slot"}}
	switch {
	case g.Kind == observe.Mutex && k.kind == costDisk:
		return []change{batch, split}
	case g.Kind == observe.Mutex:
		if w := m.heldIn(g, r.util); w != nil {
			c := change{name: Cheaper, line: w.Line, part: -1, blind: true, evidence: []string{"the lock is held, but no core is in use for it", fmt.Sprintf("%.2g goroutines are in that wait, on average", w.Mean)},
				text: fmt.Sprintf("Move the wait in %s, reached from %s, out of the critical section: whoever holds the lock waits there", at(w.Line), where(cmp.Or(w.Caller, m.parts[w.Role].Start)))}
			return []change{c, split}
		}
		return []change{split}
	case r.verdict == Channel:
		p := m.passingCPU()
		return []change{{name: UseMutex, line: r.at, part: -1, text: fmt.Sprintf("Use a sync.Mutex in place of the channel of %s", at(r.at)),
			fixed:    &Gain{Low: 1, High: m.spare(1 - p), Bound: fmt.Sprintf("%s, %s of that for passing", m.inUse(), percent(p))},
			evidence: []string{"those that wait at it free each other: it carries no values", fmt.Sprintf("%.2g of them are inside", slots)}}, split}
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
func (m *model) heldIn(g *meeting, util float64) (best *wait) {
	roles, cpu := map[int]bool{}, 0.0
	for _, e := range append(g.receivers[:len(g.receivers):len(g.receivers)], g.senders...) {
		if p := &m.parts[e.role]; !p.Runtime && !roles[e.role] {
			roles[e.role] = true
			cpu += p.made.cpu() + p.made.System
		}
	}
	for i := range m.waits {
		// A lock has one holder.
		if w := &m.waits[i]; cpu < util/2 && roles[w.Role] && w.Node != g.index && !w.load && w.Mean > util/3 && w.Mean < 1.1 && (best == nil || w.Mean > best.Mean) {
			best = w
		}
	}
	return best
}

// timed reports whether no goroutine ends the waits at a limit: the clock does.
func (m *model) timed(g *meeting) bool {
	return !slices.ContainsFunc(m.o.Wakes, func(k observe.Wake) bool { return k.Role >= 0 && m.waits[k.Wait].Node == g.index })
}

// freed bounds the gain if all that wait at a lock or a limit were inside at once.
func (m *model) freed(tokens float64, inside made) *Gain {
	n := max(inside.sum(), 1e-9)
	g := &Gain{Low: 1, High: tokens / n, Bound: fmt.Sprintf("%.0f goroutines are inside or wait", tokens)}
	if cpu := m.spare(1); cpu < g.High {
		g.High, g.Bound = cpu, m.inUse()
	}
	// If the time inside is spent away, twice as many overlap fully.
	if away := inside.away() / n; away > 0.5 {
		g.Low = min(2, g.High)
	}
	return g
}

// lighten returns the changes for full cores.
func (m *model) lighten(top cost, r *ruling) []change {
	var p *part
	if r.part >= 0 {
		p = &m.parts[r.part]
	}
	switch {
	case top.kind == costMemory || top.kind == costTimers:
		if p != nil {
			top.share = pick(p.costs(), top.kind).share
		}
		return []change{m.reuse(p, top)}
	case top.kind == costSystem && p != nil:
		c := m.batchSink(p, top, p.room+p.reply+p.made.sum())
		c.cpu, c.part = less(m.process(), costSystem), -1
		return []change{c, cheaper(p, top)}
	case top.kind == costPassing:
		all := m.fewerGoroutines()
		if len(all) == 0 && p != nil {
			all = m.passLess(p, pick(p.costs(), costPassing), p.Alive)
		}
		for i := range all {
			all[i].part, all[i].lighter = -1, true // the cores are what limits
		}
		return all
	case m.cores.lacks == 0:
		return []change{cheaper(p, top)}
	}
	by := "a quota, or other processes, take them"
	if m.cores.crowded {
		by = fmt.Sprintf("other processes use %.2g of them", m.o.Cores.Others)
	}
	wanted := (m.o.Cores.Running + m.cores.queue) / max(m.cores.used, 0.01)
	return []change{{name: MoreCores, part: -1, text: "Give the process more cores: " + by,
		fixed:    &Gain{Low: min(wanted, 0.8/(1-m.cores.lacks)), High: wanted, Bound: fmt.Sprintf("%.2g goroutines run or want to", m.o.Cores.Running+m.cores.queue)},
		evidence: []string{fmt.Sprintf("threads had no core for %s of their time", percent(m.cores.lacks))}}, cheaper(p, top)}
}

// loosen returns the changes for a lockstep.
func (m *model) loosen(g *meeting, r *ruling) []change {
	base := change{part: -1, lighter: true, cpu: less(m.process(), costPassing), tokens: 2, line: r.at}
	if all := m.fewerGoroutines(); len(all) > 0 {
		return all
	}
	if p := m.answerer(g); p != nil {
		base.name = RemoveHop
		if p.Alive < 1.5 {
			base.name, base.part = UseMutex, p.index
		}
		base.text = fmt.Sprintf("Do the work of %s in the goroutine that asks for it, under a mutex: each call is two hand-offs", p.Name)
		base.evidence = []string{"each value waits for its answer, so it has nothing to be batched with"}
		return []change{base}
	}
	batch, room := base, base
	batch.name, batch.text = Batch, fmt.Sprintf("Send slices of values at %s, and at the channels after it", where(r.at.At))
	batch.evidence = []string{"values go one way, and the time goes into hand-offs: a slice needs one for many"}
	// A rendezvous lasts as long as a wake-up, 1 to 20 µs with its queue for a core.
	// Where waits are longer, values have room already, and wait for a full channel.
	if g.each() >= 20*time.Microsecond {
		return []change{batch}
	}
	room.name, room.tokens = Buffer, 1
	room.text = fmt.Sprintf("Give the channel of %s, and those after it, a buffer of 64 values or more", at(r.at))
	room.evidence = []string{"senders and receivers wait in turns: neither side is the slow one"}
	return []change{room, batch} // a buffer is a number, slices change the code at both ends
}

// answerer returns the role at a meeting that answers the values that it takes, or nil. The
// one with fewer goroutines wins.
func (m *model) answerer(g *meeting) (best *part) {
	for _, e := range append(g.receivers[:len(g.receivers):len(g.receivers)], g.senders...) {
		p := &m.parts[e.role]
		if dispatches, _ := m.passesOn(p); !p.Runtime && (p.trips || p.reply > p.room+p.feed) && !dispatches && (best == nil || p.Alive < best.Alive) {
			best = p
		}
	}
	return best
}
