package observe

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// The forms of dumps: a text with states has numbers, states, minutes and creators, and
// two of them show which goroutines stand. A profile or a debug=1 text has stacks and
// counts: two of them show growth. The stacks of a leak profile are proved to be stuck.

// maxStanding bounds the rows of Stood: a service has some hundreds of places, and a
// hostile dump has as many as goroutines.
const maxStanding = 4096

// dumps adds the rows that dumps and the leak profile have. Without a trace, they are
// also the roles and waits.
func (b *builder) dumps(c *capture.Capture, traced bool) {
	d := &dumped{b: b, same: map[string]*Standing{}, known: map[stackKey]*Standing{}, of: map[uint64]*capture.Goroutines{}}
	first, last := ends(c.Dumps)
	if last != nil {
		d.last(last)
	}
	if first != nil {
		d.before(first)
	}
	if c.Leaks != nil {
		d.leaks(c.Leaks)
	}
	for _, row := range d.rows {
		b.o.Stood = append(b.o.Stood, *row)
		if row.Role < 0 || traced {
			continue
		}
		b.o.Roles[row.Role].Alive += float64(row.Count)
		if row.Node >= 0 {
			w := &b.o.Waits[b.wait(row.Role, row.Node, row.Line)]
			w.Mean, w.Longest = w.Mean+float64(row.Count), max(w.Longest, row.Longest)
		}
	}
	holds(&b.o)
}

// ends returns the first and the last of the dumps that can be compared: those with
// states if there are any. first is nil with fewer than two.
func ends(dumps []capture.Dump) (first, last *capture.Dump) {
	states := slices.ContainsFunc(dumps, func(d capture.Dump) bool { return d.States })
	for i := range dumps {
		if d := &dumps[i]; d.States == states {
			first, last = cmp.Or(first, last), d
		}
	}
	return first, last
}

// innermost are the functions of the runtime that a text leaves out, by state.
var innermost = map[string]string{
	"chan send": "runtime.chansend1", "chan receive": "runtime.chanrecv1", "select": "runtime.selectgo", "sleep": "time.Sleep",
	"IO wait": "internal/poll.runtime_pollWait", "sync.Mutex.Lock": "sync.(*Mutex).Lock", "sync.RWMutex.Lock": "sync.(*RWMutex).Lock",
	"sync.RWMutex.RLock": "sync.(*RWMutex).RLock", "sync.Cond.Wait": "sync.(*Cond).Wait", "sync.WaitGroup.Wait": "sync.(*WaitGroup).Wait",
}

// A stackKey finds the row of goroutines with one stack, which a capture keeps once.
type stackKey struct {
	stack *capture.Frame
	by    capture.Frame
	state string
}

// dumped collects the rows of dumps.
type dumped struct {
	b     *builder
	rows  []*Standing
	same  map[string]*Standing
	known map[stackKey]*Standing
	of    map[uint64]*capture.Goroutines // of the last dump, by number
}

// row returns the row of goroutines, or nil if they do not count: the runtime's own, and
// the one that writes the dump.
func (d *dumped) row(g *capture.Goroutines, create bool) *Standing {
	if g == nil || len(g.Stack) == 0 {
		return nil
	}
	key := stackKey{&g.Stack[0], g.CreatedBy, g.State}
	row, ok := d.known[key]
	if !ok {
		if row = d.place(g, create); len(d.known) < maxStanding {
			d.known[key] = row
		}
	}
	return row
}

// place is row for a stack that was not seen before.
func (d *dumped) place(g *capture.Goroutines, create bool) *Standing {
	stack := g.Stack
	if f := innermost[g.State]; f != "" {
		stack = append(capture.Stack{{Function: f}}, stack...)
	}
	p := place(stack)
	if p.own || p.At.Function == "" {
		return nil
	}
	row := &Standing{Line: p.Line, Moves: moves(g.State, &p), Before: -1, Same: -1, Through: throughOf(g.Stack), By: Frame(g.CreatedBy)}
	row.By.Function = plain(row.By.Function)
	key := fmt.Sprint(row.Line, row.Moves, row.By, row.Through)
	if same, ok := d.same[key]; ok || !create || len(d.rows) == maxStanding {
		return same
	}
	row.Role, row.Node = d.b.role(p), d.b.node(p)
	for _, f := range row.Through {
		row.Around = append(row.Around, packageOf(f.Function), Owner(f.Function))
	}
	if row.By.ofProgram() {
		row.Around = append(row.Around, packageOf(row.By.Function))
	}
	d.same[key], d.rows = row, append(d.rows, row)
	return row
}

// ofProgram reports whether a frame without type arguments is the program's own.
func (f Frame) ofProgram() bool { return levelOf(f.Function, f.File, packageOf(f.Function)) == program }

// moves reports whether goroutines may do anything next. Waits for new connections and
// for signals last as long as the service.
func moves(state string, p *placed) bool {
	switch state {
	case "running", "runnable", "syscall", "sleep", "IO wait", "preempted", "copystack":
	default:
		if p.node != Outside && p.node != Disk && p.node != Timer {
			return false
		}
	}
	return p.name != "new connections" && p.name != "signals"
}

// last counts the last dump.
func (d *dumped) last(dump *capture.Dump) {
	for i := range dump.Groups {
		g := &dump.Groups[i]
		d.of[g.ID] = g
		row := d.row(g, true)
		if row == nil {
			continue
		}
		row.Count += g.Count
		row.Forever = row.Forever || g.Forever
		row.Main = row.Main || g.ID == 1
		if g.Leaked {
			row.Leaked += g.Count
		}
		row.Longest = max(row.Longest, g.Waited)
	}
	for i := range dump.Groups {
		if g := &dump.Groups[i]; g.Creator != 0 && !dump.Truncated && d.orphan(g) {
			d.row(g, false).Orphans++
		}
	}
}

// orphan reports whether the creator of a goroutine will not receive what it sends: it has
// ended, or left the function that started it, or it sends or waits for others there.
func (d *dumped) orphan(g *capture.Goroutines) bool {
	row, by := d.row(g, false), d.of[g.Creator]
	if row == nil || by == nil {
		return row != nil && g.Creator != 1
	}
	started, within := row.By.Function, plain
	if n := len(row.Through); n > 0 && !row.By.ofProgram() { // sync.(*WaitGroup).Go
		started, within = closing(row.Through[n-1].Function), func(function string) string { return closing(plain(function)) }
	}
	inside := slices.ContainsFunc(by.Stack, func(f capture.Frame) bool { return within(f.Function) == started })
	at := d.row(by, false)
	return !inside && g.Creator != 1 || inside && at != nil && (at.Op == Send || at.Op == Lock || at.Op == GroupWait && g.Creator != 1)
}

// before counts the first of two dumps.
func (d *dumped) before(dump *capture.Dump) {
	for _, row := range d.rows {
		row.Before = 0
		if dump.States {
			row.Same = 0
		}
	}
	for i := range dump.Groups {
		g := &dump.Groups[i]
		if row := d.row(g, false); row != nil {
			row.Before += g.Count
			if dump.States && row == d.row(d.of[g.ID], false) {
				row.Same++
			}
		}
	}
}

// leaks adds the stacks of a leak profile to the rows that have them, and as rows of
// their own.
func (d *dumped) leaks(p *capture.Profile) {
	for _, s := range p.Samples {
		count := int(min(max(s.Value, s.Count), 1<<31))
		through, at := throughOf(s.Stack), place(s.Stack).At
		row := (*Standing)(nil)
		if i := slices.IndexFunc(d.rows, func(r *Standing) bool { return r.At == at && slices.Equal(r.Through, through) }); i >= 0 {
			row = d.rows[i]
		} else if row = d.place(&capture.Goroutines{Stack: s.Stack}, true); row != nil {
			row.Moves, row.Count = false, count
			row.Forever = slices.ContainsFunc(s.Stack, func(f capture.Frame) bool { return f.Function == "runtime.block" })
		} else {
			continue
		}
		row.Leaked = max(row.Leaked, count)
	}
}

// maxThrough is more functions of a program than a stack without recursion has.
const maxThrough = 64

// throughOf returns the functions of the program on a stack.
func throughOf(s capture.Stack) []Frame {
	var through []Frame
	for _, f := range stepsOf(s) {
		if f.level != program {
			continue
		}
		if len(through) == maxThrough { // a recursion: the start function counts more
			through = through[:maxThrough-1]
		}
		through = append(through, f.Frame)
	}
	return through
}
