package doctor

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// A costKind is what busy time is spent on.
type costKind string

const (
	costOwn     costKind = "own code"
	costPassing costKind = "passing values"
	costLocking costKind = "locks"
	costMemory  costKind = "allocation and the collector"
	costTimers  costKind = "timers and contexts"
	costSystem  costKind = "system calls"
	costDisk    costKind = "the disk"
	costOutside costKind = "the network"
	costSleep   costKind = "sleep"
	costQueue   costKind = "waiting for a core"
)

// doing are the costs as what a role does.
var doing = map[costKind]string{
	costOwn: "computes", costPassing: "passes values", costLocking: "is in locks", costMemory: "allocates", costTimers: "makes timers and contexts",
	costSystem: "makes system calls", costDisk: "writes to the disk", costOutside: "waits for the network", costSleep: "sleeps", costQueue: "waits for a core",
}

// spentOn are the categories of CPU time of each kind.
var spentOn = map[costKind][]observe.Category{
	costOwn:     {observe.OwnCode, observe.Foreign, observe.Detector},
	costPassing: {observe.Passing, observe.Scheduling},
	costLocking: {observe.Locking},
	costMemory:  {observe.Allocating, observe.Collecting, observe.Making},
	costTimers:  {observe.Timers},
	costSystem:  {observe.SystemCalls},
}

func kindOf(c observe.Category) costKind {
	for kind, categories := range spentOn {
		if slices.Contains(categories, c) {
			return kind
		}
	}
	return costOwn
}

// category returns the category of CPU time. Memory of a timer or a context is part of
// what making it costs.
func category(s *observe.Spend) observe.Category {
	if s.Makes == "timer" || s.Makes == "context" {
		return observe.Timers
	}
	return s.What
}

// A cost is a share of something's time, with the line where most of it is.
type cost struct {
	kind  costKind
	share float64
	line  observe.Line
	makes string  // what is made there: see observe.Spend
	whole float64 // part of share of which all can be saved, of those of which only half can
}

func (c cost) doing() string { return doing[c.kind] }

// kinds are the kinds of costs in the order of made; the first running are part of
// Time.Running.
var kinds = [...]costKind{costOwn, costPassing, costLocking, costMemory, costTimers, costSystem, costDisk, costOutside, costSleep, costQueue}

const running = 5

func (d *made) each() [len(kinds)]*float64 {
	return [...]*float64{&d.Own, &d.Passing, &d.Locking, &d.Memory, &d.Timers, &d.System, &d.Disk, &d.Outside, &d.Sleep, &d.Runnable}
}

func (d *made) sum() float64 { return d.cpu() + d.Runnable + d.System + d.away() }

// cpu is what takes a core outside of system calls, and away what takes no core.
func (d *made) cpu() float64  { return d.Own + d.Passing + d.Locking + d.Memory + d.Timers }
func (d *made) away() float64 { return d.Disk + d.Outside + d.Sleep }

func (d *made) add(o *made) {
	for i, of := range d.each() {
		*of += *o.each()[i]
	}
}

// split returns what busy time is spent on, without waiting for a core, as shares of it,
// the largest first. It never returns none.
func (d *made) split() (all []cost) {
	for i, of := range d.each() {
		if kinds[i] != costQueue {
			all = append(all, cost{kind: kinds[i], share: *of / max(d.sum()-d.Runnable, 1e-12)})
		}
	}
	slices.SortStableFunc(all, func(a, b cost) int { return cmp.Compare(b.share, a.share) })
	return all
}

func (p *part) costs() []cost { return p.made.split() }

// share returns the share of some kinds.
func share(costs []cost, kinds ...costKind) (sum float64) {
	for _, c := range costs {
		if slices.Contains(kinds, c.kind) {
			sum += c.share
		}
	}
	return sum
}

// pick returns the cost of a kind.
func pick(costs []cost, kind costKind) cost {
	for _, c := range costs {
		if c.kind == kind {
			return c
		}
	}
	return cost{kind: kind}
}

// located returns a cost of a part with its line: where the CPU time goes, or where the
// goroutines wait.
func (m *model) located(p *part, c cost) cost {
	if s := m.costliest(p.index, spentOn[c.kind]...); s != nil {
		c.line, c.makes = s.Line, s.Makes
		return c
	}
	kind := map[costKind]observe.NodeKind{costDisk: observe.Disk, costSystem: observe.Disk, costOutside: observe.Outside, costSleep: observe.Timer}[c.kind]
	if w := m.longest(p.index, func(w *wait) bool { return !w.load && w.kind(m) == kind && kind != "" }); w != nil {
		c.line = w.Line
	}
	return c
}

// process returns what all CPU time of the process is spent on.
func (m *model) process() (all []cost) {
	sum := 0.0
	for _, kind := range kinds[:running+1] {
		c := cost{kind: kind}
		for _, what := range spentOn[kind] {
			c.share += m.spent[what]
		}
		if c.kind == costMemory {
			c.whole = m.spent[observe.Making]
		}
		sum += c.share
		if s := m.costliest(-1, spentOn[kind]...); s != nil {
			c.line, c.makes = s.Line, s.Makes
		}
		all = append(all, c)
	}
	for i := range all {
		all[i].share /= max(sum, 1e-12)
		all[i].whole /= max(sum, 1e-12)
	}
	slices.SortStableFunc(all, func(a, b cost) int { return cmp.Compare(b.share, a.share) })
	return all
}

// passingCPU returns the share of the CPU time of the process that passing values takes.
func (m *model) passingCPU() float64 { return pick(m.process(), costPassing).share }

// most returns the role of the program that has most CPU time of a kind, or nil.
func (m *model) most(kind costKind) *part {
	return largest(m.parts, func(p *part) float64 { return given(!p.Runtime, *p.made.each()[slices.Index(kinds[:], kind)]) })
}
