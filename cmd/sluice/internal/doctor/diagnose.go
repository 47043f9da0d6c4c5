package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// worth is the factor below which a change is not worth advice: noise, and the cost of
// the change, can be as large. So a part that is busy 1/worth of the time is a bottleneck,
// and a cost is worth removing if the removal gives that much.
const worth = 1.3

// sure is the probability below which nothing is advised and the verdict is Undecided: a
// wrong answer costs more than none, at these odds as much as two right ones gain.
const sure = 0.6

// atBest is by how much an answer is better than a coin toss at best.
const atBest = 0.4

// A ruling is what a law says about the service.
type ruling struct {
	verdict  Verdict
	channels Involvement
	part     int     // index of the limiting part, or -1
	meet     int     // index of the limiting meeting, or -1
	util     float64 // of what limits
	holds    float64 // goroutines that wait for it
	at       observe.Line
	why      string
	answer   string
	// clear is how clear the inequality of the law is, from 0, where it just holds, to
	// 1. seen is how much was seen of it, from 0 to 1.
	clear, seen float64
	changes     []change
	next        string
	evidence    []Evidence
	headroom    float64 // 0 if unknown
}

// A law looks for one reason why a service is no faster. It returns nil if it does not
// hold.
type law func(*model) *ruling

// laws are the laws in the order in which they are asked: first the
// artifacts that make all figures useless, then goroutines that do not move or that spin,
// then parts that are busy all the time, then the explanations without a busy part.
var laws = []law{barred, stood, halted, spinning, unseen, napping, herds, saturated, locksteps, leaking, shedding, nearly, outside, idle, loaded}

// Diagnose finds what holds the service back.
func Diagnose(o *observe.Observation) *Diagnosis {
	m := newModel(o)
	d := m.answer(m.rule())
	d.Map = mapOf(o, m, d)
	return d
}

// answer writes down what a law says, or, if that is not sure enough, that it may be so.
func (m *model) answer(r *ruling) *Diagnosis {
	o := m.o
	d := &Diagnosis{
		Schema: Schema, Target: o.Target, Start: o.Start, Observed: observed(o),
		Verdict: r.verdict, Channels: r.channels, Probability: r.probability(),
		Answer: r.answer, Remedies: []Remedy{}, Evidence: m.evidence(r),
		Also: m.also(r), Roles: m.rows(), Unknown: append([]observe.Gap{}, o.Missing...),
	}
	if d.Probability < sure || r.verdict == Undecided {
		if r.verdict != Undecided {
			d.Answer = fmt.Sprintf("Undecided, possibly %s. %s", r.verdict, r.answer)
			if r.next == fine {
				r.next = ""
			}
		}
		d.Verdict, d.Channels = Undecided, Unknown
		d.Next = decide(m, r)
		return d
	}
	if r.part >= 0 || r.meet >= 0 || r.at.At.Function != "" {
		d.Bottleneck = &Bottleneck{At: place(r.at), Why: r.why, Busy: round(min(1, r.util)), HoldsUp: round(r.holds)}
		if r.part >= 0 {
			d.Bottleneck.Role = m.parts[r.part].Name
		} else if r.meet >= 0 {
			d.Bottleneck.Node = m.nodeName(r.meet)
		}
	}
	if r.headroom > 1 {
		h := round(r.headroom)
		d.Headroom = &h
	}
	if d.Remedies = m.remedies(r); len(d.Remedies) == 0 {
		d.Next = decide(m, r)
	}
	return d
}

// rule returns what the first law that holds says.
func (m *model) rule() *ruling {
	for _, l := range laws {
		if r := l(m); r != nil {
			if r.seen == 0 {
				r.seen = m.seen()
			}
			return r
		}
	}
	return &ruling{verdict: Undecided, channels: Unknown, part: -1, meet: -1, answer: "The observation does not decide."}
}

// probability turns clearness into the probability that the verdict is right. A law that
// just holds is a coin toss; of those that hold clearly, in much data, more than nine in ten were
// right on services that no law was tuned on (docs/doctor.md).
func (r *ruling) probability() float64 {
	p := 0.5 + atBest*min(1, max(0, r.clear))*min(1, max(0, r.seen))
	return math.Round(p*100) / 100
}

// seen is how much there is to judge by: a trace with a thousand events has means with
// an error of a few percent, as has one in which all cores compute and nothing happens; a
// CPU profile with a hundred samples has shares with one of five. Without one of the two
// half of the picture is missing.
func (m *model) seen() float64 {
	s := &m.o.Sources
	trace := min(1, max(float64(s.Events)/1000, m.cores.full))
	cpu := min(1, float64(s.Samples)/100)
	switch {
	case s.Trace > 0 && s.CPU > 0:
		// A service that does not use the CPU has no samples, and needs none.
		return trace * max(cpu, 1-min(1, m.cores.used))
	case s.Trace > 0:
		return 0.8 * trace
	}
	return 0.7 * cpu
}

// barred holds if an artifact makes all figures useless.
func barred(m *model) *ruling {
	for _, a := range m.o.Artifacts {
		if a.Bars {
			return &ruling{
				verdict: Undecided, channels: Unknown, part: -1, meet: -1, answer: a.Text,
				next: "Observe a build and a platform without this: " + a.Kind + ".",
			}
		}
	}
	return nil
}

// evidence returns what was seen of what limits: what is special to the law first, then its
// role, its meeting, and the cores.
func (m *model) evidence(r *ruling) []Evidence {
	all := append([]Evidence{}, r.evidence...)
	add := func(source, format string, a ...any) {
		if text := fmt.Sprintf(format, a...); !strings.Contains(r.answer, text) {
			all = append(all, Evidence{text, source})
		}
	}
	if r.part >= 0 && m.traced() {
		p := &m.parts[r.part]
		for _, k := range p.costs()[:3] {
			place := near(m.located(p, k).line)
			if strings.Contains(r.answer, place) {
				place = ""
			}
			if k.share >= 0.1 {
				add(m.source(), "for %s of its busy time it %s%s", percent(k.share), k.doing(), place)
			}
		}
	}
	if r.meet >= 0 {
		g := &m.meets[r.meet]
		add("trace", "A wait for it ends %s times a second", format.Compact(g.rate))
	}
	switch {
	case m.cores.queue >= 0.05:
		add(m.source(), "%s, and %s for one", m.inUse(), waiting(m.cores.queue))
	case m.cores.used > 0:
		add(m.source(), "%s", m.inUse())
	}
	if m.cores.lacks > 0 && m.cores.full > 0.3 { // below, it does not want one often
		add("trace", "GOMAXPROCS is %d, but threads had no core for %s of their time", m.o.Cores.Procs, percent(m.cores.lacks))
	}
	if m.o.Sources.CPU > 0 {
		for _, k := range m.process()[:3] {
			if k.share >= 0.05 {
				add("CPU profile", "%s of CPU time is %s%s", percent(k.share), k.kind, near(k.line))
			}
		}
	}
	return all
}

// rows returns the roles as the answer shows them: by what waits for them, then by busy
// share.
func (m *model) rows() []RoleRow {
	rows := []RoleRow{}
	for i := range m.parts {
		p := &m.parts[i]
		if t, n := &p.Time, max(p.Alive, 1e-9); !p.Runtime {
			rows = append(rows, RoleRow{
				Name: p.Name, Start: place(observe.Line{At: p.Start}), Alive: round(p.Alive), Busy: round(p.busy),
				Running: round((t.Running + t.Runnable) / n), System: round(t.System / n), Outside: round((t.Outside + t.Sleep) / n),
				Waiting: round((t.Partner + t.Lock + t.Limit) / n), HoldsUp: round(p.held()), Doing: m.doing(p),
			})
		}
	}
	slices.SortStableFunc(rows, func(a, b RoleRow) int {
		return cmp.Or(cmp.Compare(b.HoldsUp, a.HoldsUp), cmp.Compare(b.Busy, a.Busy))
	})
	return rows
}

// doing says in a few words what a role spends most of its time on.
func (m *model) doing(p *part) string {
	w := m.longest(p.index, func(*wait) bool { return true })
	waits := p.Time.Partner + p.Time.Lock + p.Time.Limit + p.load
	switch {
	case p.made.sum() > waits:
		return p.costs()[0].doing()
	case w == nil:
		return ""
	case w.load:
		return "waits for requests or ticks"
	}
	return "waits in " + at(w.Line)
}

// observed lists the sources of the observation.
func observed(o *observe.Observation) string {
	s := &o.Sources
	all := []string{}
	for _, p := range []struct {
		have bool
		name string
	}{
		{s.CPU > 0, "CPU profile of " + span(s.CPU)}, {s.Trace > 0, "trace of " + span(s.Trace)}, {s.Block, "block profile"}, {s.Mutex, "mutex profile"},
		{s.Leaks, "leak profile"}, {max(s.Dumps, s.Counts) == 1, "1 dump"}, {max(s.Dumps, s.Counts) > 1, fmt.Sprintf("%d dumps", max(s.Dumps, s.Counts))},
	} {
		if p.have {
			all = append(all, p.name)
		}
	}
	return strings.Join(all, ", ")
}

// decide names the source or the load that would decide.
func decide(m *model, r *ruling) string {
	s := &m.o.Sources
	switch {
	case r.next != "":
		return r.next
	case s.Trace == 0:
		return "An execution trace of 0.2 s, taken at the same load, shows which goroutines wait for each other: curl -o trace 'HOST/debug/pprof/trace?seconds=0.2'."
	case s.CPU == 0:
		return "A CPU profile of the same minutes shows what the busy goroutines spend their time on."
	case m.cores.crowded:
		return fmt.Sprintf("Other processes use %.2g of %d CPUs: observe it again on a quiet machine.", m.o.Cores.Others, m.o.Cores.CPUs)
	}
	return "Observe it again, for longer or at a higher load: the figures are close to each other."
}

func round(f float64) float64 { return math.Round(f*100) / 100 }
