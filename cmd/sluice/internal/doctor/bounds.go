package doctor

import (
	"fmt"
	"math"

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
	lighter bool    // no part passes as many values: nothing but work is left at best
	gone    float64 // at least this share of what all parts spend on passing values goes then
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
// is removed, or everything but the work goes with it, such as the memory and the timers that
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
func (d *made) work() float64 { return d[costOwn] + d[costSystem] + d.away() }

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
		s := station{i, p.Name, p.made.sum() - p.made[costQueue], max(p.Alive-p.Time.Unknown, 1e-9)}
		if p.hot > p.busy && p.busy > 0 {
			s.servers = min(s.servers, s.demand/max(p.serves(), 1e-9)) // as its busiest goroutine limits
		}
		switch {
		case c.lighter && best:
			s.demand = max(m.sampled(p.made.work()), 0.02*s.demand)
		case c.lighter:
			s.demand -= p.made[costPassing] * c.gone
		case i == c.part:
			s.demand *= c.kept.at(best)
			s.servers *= c.servers.at(!best)
		}
		all = append(all, s)
	}
	if m.cores.have > 0 {
		used := m.cores.full * m.cores.have
		if m.cores.crowded && best {
			used = m.cores.used // others had the rest, and need not have it then
		}
		if used *= c.cpu.at(best); best {
			used = m.sampled(used)
		}
		all = append(all, station{-1, "the cores", used, m.cores.have})
	}
	return all
}

// sampled returns how little of the cores may be behind a share of the samples of a CPU
// profile: a standard error less, which is the root of their number, or half of it where
// there are hardly any.
func (m *model) sampled(cores float64) float64 {
	n := cores * float64(m.o.Sources.Samples) / max(m.cores.used, 1e-9)
	return cores * (1 - 1/math.Sqrt(max(n, 4)))
}

// limit lowers the upper bound of a gain.
func (g *Gain) limit(high float64, why string, a ...any) {
	if high < g.High {
		g.High, g.Bound = high, fmt.Sprintf(why, a...)
	}
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
			if u := s.util(); u > 0 {
				g.limit(1/u, "%s would be busy %s of the time at the present rate", s.name, percent(u))
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
		if c.tokens >= 1 {
			g.Low = c.tokens / max(sum+(c.tokens-1)*most, 1e-9)
			if c.lighter {
				g.Low = min(g.Low, 1/c.cpu.at(false)) // the CPU time alone, no more of it at once
			}
			if c.callers {
				g.limit(c.tokens/sum, "%.0f callers are inside or wait", c.tokens)
			}
		}
	}
	g.High = two(max(1, g.High), math.Ceil)
	g.Low = min(two(max(1, g.Low), math.Floor), g.High)
	g.Likely = min(max(two(math.Sqrt(g.Low*g.High), math.Round), g.Low), g.High) // the middle of a range of factors
	return g
}

// two rounds to two digits, the ends of a range outward.
func two(f float64, to func(float64) float64) float64 {
	unit := math.Pow(10, 1-math.Floor(math.Log10(f)))
	return to(math.Round(f*unit*1e6)/1e6) / unit
}

// spare returns the factor that the cores leave if values need that share of the CPU time
// that they need now.
func (m *model) spare(kept float64) float64 { return max(1, 1/max(0.01, m.cores.full*kept)) }

// freed bounds the gain if all that wait at a lock or a limit were inside at once, where
// that share of what they do there and of the CPU time is kept.
func (m *model) freed(tokens float64, inside made, kept, cpu remains) *Gain {
	n := max(inside.sum(), 1e-9)
	g := &Gain{Low: 1, High: math.Inf(1)}
	g.limit(tokens/n/kept.at(true), "%.0f goroutines are inside or wait", tokens)
	g.limit(m.spare(cpu.at(true)), "%s", m.inUse())
	// If the time inside is spent away, twice as many overlap fully.
	if inside.away() > n/2 {
		g.Low = min(2, g.High)
	}
	return g
}
