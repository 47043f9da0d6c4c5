package doctor

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
	"github.com/sluice-go/sluice/internal/flow"
)

// place returns a line as the answer has it.
func place(l observe.Line) Place {
	p := Place{Op: string(l.Op), Function: l.At.Function, File: l.At.File, Line: l.At.Line, In: l.In}
	if l.Caller.Function != "" {
		p.Caller = &Place{Function: l.Caller.Function, File: l.Caller.File, Line: l.Caller.Line}
	}
	return p
}

func placeOf(l observe.Line) *Place {
	if l.At.Function == "" {
		return nil
	}
	p := place(l)
	return &p
}

// either returns the first line that is known.
func either(a, b observe.Line) observe.Line {
	if a.At.Function != "" {
		return a
	}
	return b
}

// inLibrary reports whether an operation is inside a library, so that the program can only
// call it less often.
func inLibrary(l observe.Line) bool {
	return l.In != "" && !strings.HasPrefix(l.In, "sync.") && !strings.HasPrefix(l.In, "sluice.")
}

// where returns a line for a sentence: "main.run (main.go:30)", also for a
// closure in it.
func where(f observe.Frame) string {
	name := flow.Enclosing(f.Function)
	name = name[strings.LastIndex(name, "/")+1:]
	if f.File == "" {
		return cmp.Or(name, "an unknown line")
	}
	return fmt.Sprintf("%s (%s:%d)", name, path.Base(f.File), f.Line)
}

// at returns an operation with its line: "send at main.run (main.go:30)".
func at(l observe.Line) string {
	op := string(l.Op)
	if l.In != "" {
		op = l.In[strings.LastIndex(l.In, "/")+1:]
	}
	return cmp.Or(op, "code") + " at " + where(l.At)
}

func near(l observe.Line) string {
	if l.At.Function == "" {
		return ""
	}
	return " at " + where(l.At)
}

// largest returns the row with the largest figure above 0, or nil.
func largest[T any](rows []T, figure func(*T) float64) (best *T) {
	most := 0.0
	for i := range rows {
		if f := figure(&rows[i]); f > most {
			best, most = &rows[i], f
		}
	}
	return best
}

// given returns a figure under a condition.
func given(holds bool, figure float64) float64 {
	if holds {
		return figure
	}
	return 0
}

// longest returns the wait of a role in which most of its goroutines are, or nil.
func (m *model) longest(role int, of func(*wait) bool) *wait {
	return largest(m.waits, func(w *wait) float64 { return given(w.Role == role && of(w), w.Mean) })
}

// costliest returns the line of a role, or of any with -1, at which most CPU time of some
// categories is spent.
func (m *model) costliest(role int, categories ...observe.Category) *observe.Spend {
	return largest(m.o.Spent, func(s *observe.Spend) float64 {
		return given((role < 0 || s.Role == role) && slices.Contains(categories, category(s)) && s.At.Function != "", s.Cores)
	})
}

// takesAt returns the line where a part takes its values: the receive at which it waits
// or, if it never waits, at which it ends the waits of those that send to it.
func (m *model) takesAt(p *part) (line observe.Line) {
	if w := m.longest(p.index, func(w *wait) bool {
		return w.pushes < 0.5 && !w.asks && (w.Op == observe.Receive || w.Op == observe.Select || w.Op == observe.CondWait)
	}); w != nil {
		return w.Line
	}
	if l := largest(m.links, func(l *link) float64 {
		return given(l.push && l.to == p.index && l.wait.kind(m) != observe.Mutex, l.mean)
	}); l != nil {
		return l.by
	}
	return line
}

// queueAt returns the line and the node where most goroutines wait for a part.
func (m *model) queueAt(p *part) (line observe.Line, node int) {
	if l := largest(m.links, func(l *link) float64 { return given(l.waker() == p.index && l.from != l.to, l.mean) }); l != nil {
		return l.wait.Line, l.wait.Node
	}
	return line, -1
}

// nodeName returns a name for a node: its own, or the line where it is used most.
func (m *model) nodeName(i int) string {
	g := m.meets[i].Node
	if g.Name == "" && len(g.Lines) > 0 {
		return string(g.Kind) + " at " + where(g.Lines[0].At)
	}
	return cmp.Or(g.Name, string(g.Kind))
}

// naming returns a role for a sentence.
func (p *part) naming() string {
	if p.Alive < 1.5 {
		return p.Name
	}
	return fmt.Sprintf("%s (×%.0f)", p.Name, p.Alive)
}

// inUse returns the cores in use, in words.
func (m *model) inUse() string {
	switch m.cores.have {
	case 0:
		return cpus(m.cores.used) + " in use"
	case 1:
		return percent(min(1, m.cores.used)) + " of one core in use"
	}
	return fmt.Sprintf("%.2g of %.0f cores in use", m.cores.used, m.cores.have)
}

// cpus returns a number of cores in words.
func cpus(n float64) string {
	if s := fmt.Sprintf("%.2g", n); s != "1" {
		return s + " cores"
	}
	return "1 core"
}

// source names what the use of the cores is known from.
func (m *model) source() string {
	if m.o.Sources.CPU > 0 {
		return "CPU profile"
	}
	return "trace"
}

// count returns a number of goroutines in words, and waiting adds the verb.
func count(n float64) string {
	s := strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	if s == "1" {
		return "1 goroutine"
	}
	return s + " goroutines"
}

func waiting(n float64) string {
	if s := count(n); s != "1 goroutine" {
		return s + " wait"
	}
	return "1 goroutine waits"
}

func percent(f float64) string { return fmt.Sprintf("%.0f%%", 100*f) }

func span(d time.Duration) string { return fmt.Sprintf("%.2g s", d.Seconds()) }
