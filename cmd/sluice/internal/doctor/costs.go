package doctor

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// A costKind is what busy time is spent on. The first running are part of Time.Running.
type costKind int

const (
	costOwn costKind = iota
	costPassing
	costLocking
	costMemory
	costTimers
	costSystem
	costDisk
	costOutside
	costSleep
	costQueue

	running = 5
)

// costKinds has, for each kind, its name, what a role does meanwhile, and the categories
// of CPU time.
var costKinds = [...]struct {
	name, doing string
	spent       []observe.Category
}{
	costOwn:     {"own code", "computes", []observe.Category{observe.OwnCode, observe.Foreign, observe.Detector}},
	costPassing: {"passing values", "passes values", []observe.Category{observe.Passing, observe.Scheduling}},
	costLocking: {"locks", "is in locks", []observe.Category{observe.Locking}},
	costMemory:  {"allocation and the collector", "allocates", []observe.Category{observe.Allocating, observe.Collecting, observe.Making}},
	costTimers:  {"timers and contexts", "makes timers and contexts", []observe.Category{observe.Timers}},
	costSystem:  {"system calls", "makes system calls", []observe.Category{observe.SystemCalls}},
	costDisk:    {"the disk", "writes to the disk", nil},
	costOutside: {"the network", "waits for the network", nil},
	costSleep:   {"sleep", "sleeps", nil},
	costQueue:   {"waiting for a core", "waits for a core", nil},
}

func (k costKind) String() string { return costKinds[k].name }

func kindOf(c observe.Category) costKind {
	for kind := range costKinds {
		if slices.Contains(costKinds[kind].spent, c) {
			return costKind(kind)
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

func (c cost) doing() string { return costKinds[c.kind].doing }

// made is what the busy time of a part consists of, in goroutines, by kind: Running is split
// as its CPU samples are.
type made [len(costKinds)]float64

// total adds up some kinds.
func total(kinds []float64) (sum float64) {
	for _, of := range kinds {
		sum += of
	}
	return sum
}

func (d *made) sum() float64 { return total(d[:]) }

// cpu is what takes a core outside of system calls, and away what takes no core.
func (d *made) cpu() float64  { return total(d[:running]) }
func (d *made) away() float64 { return total(d[costDisk:costQueue]) }

func (d *made) add(o *made) {
	for kind, of := range o {
		d[kind] += of
	}
}

// split returns what busy time is spent on, without waiting for a core, as shares of it,
// the largest first. It never returns none.
func (d *made) split() (all []cost) {
	for kind, of := range d[:costQueue] {
		all = append(all, cost{kind: costKind(kind), share: of / max(d.sum()-d[costQueue], 1e-12)})
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
	if s := m.costliest(p.index, costKinds[c.kind].spent...); s != nil {
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
	for kind, of := range costKinds[:costDisk] {
		c := cost{kind: costKind(kind)}
		for _, what := range of.spent {
			c.share += m.spent[what]
		}
		if c.kind == costMemory {
			c.whole = m.spent[observe.Making]
		}
		sum += c.share
		if s := m.costliest(-1, of.spent...); s != nil {
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
	return largest(m.parts, func(p *part) float64 { return given(!p.Runtime, p.made[kind]) })
}
