package observe

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// The forms of dumps: a text with states has numbers, states, minutes and creators, and
// two of them show which goroutines stand. A profile or a debug=1 text has stacks and
// counts: two of them show growth. A leak profile has stacks that the
// collector proved to be blocked forever.

// maxStanding bounds the rows of Stood: a service has some hundreds of places, and a
// hostile dump has as many as goroutines.
const maxStanding = 4096

// dumps adds the rows that dumps and the leak profile have. Without a trace, they are
// also the roles and waits.
func (b *builder) dumps(c *capture.Capture, traced bool) {
	d := &dumped{b: b, traced: traced, rows: map[string]*standing{}, known: map[string]*standing{}, of: map[uint64]*standing{}, stacks: map[uint64]capture.Stack{}}
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
	d.finish()
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

// A standing is a row while it is counted.
type standing struct {
	Standing
	order    int
	ids      map[uint64]bool
	creators map[uint64]bool
}

// dumped collects the rows of dumps.
type dumped struct {
	b      *builder
	traced bool
	rows   map[string]*standing
	known  map[string]*standing // by the whole stack
	key    []byte
	of     map[uint64]*standing // goroutines of the last dump
	stacks map[uint64]capture.Stack
}

// row returns the row of goroutines, or nil if they do not count: the runtime's own, and
// the one that writes the dump.
func (d *dumped) row(g *capture.Goroutines, create bool) *standing {
	d.key = d.key[:0]
	for _, f := range append(g.Stack[:len(g.Stack):len(g.Stack)], g.CreatedBy, capture.Frame{Function: g.State}) {
		d.key = append(append(append(d.key, f.Function...), f.File...), 0)
		d.key = strconv.AppendInt(d.key, int64(f.Line), 10)
	}
	if known, ok := d.known[string(d.key)]; ok && (known != nil || !create) {
		return known
	}
	row := d.place(g, create)
	if len(d.known) < maxStanding {
		d.known[string(d.key)] = row
	}
	return row
}

// place is row for a stack that was not seen before.
func (d *dumped) place(g *capture.Goroutines, create bool) *standing {
	stack := g.Stack
	if f := innermost[g.State]; f != "" {
		stack = append(capture.Stack{{Function: f}}, stack...)
	}
	p := place(stack)
	if p.own || p.At.Function == "" {
		return nil
	}
	through := throughOf(g.Stack)
	by := plainFrame(g.CreatedBy)
	var key strings.Builder
	for _, f := range append(through[:len(through):len(through)], p.At, by) {
		key.WriteString(f.Function + " " + f.File + " " + strconv.Itoa(f.Line) + "\n")
	}
	key.WriteString(g.State + string(p.Op) + p.In)
	row := d.rows[key.String()]
	if row != nil || !create || len(d.rows) >= maxStanding {
		return row
	}
	row = &standing{order: len(d.rows), ids: map[uint64]bool{}, creators: map[uint64]bool{}}
	row.Standing = Standing{Role: d.b.role(p), Node: d.b.node(p), Line: p.Line, State: g.State, Before: -1, Same: -1, Through: through, By: by}
	row.Moves = moves(g.State, &p)
	row.Calls = len(through) > 0 && !slices.ContainsFunc(through, func(f Frame) bool { return closing(f.Function) != closing(through[0].Function) && !started(f, by) })
	d.rows[key.String()] = row
	return row
}

// started reports whether f is the closure of a go statement in the function by: what it
// calls is what was started.
func started(f, by Frame) bool {
	return by.Function != "" && closing(f.Function) != f.Function && strings.HasPrefix(f.Function, by.Function+".")
}

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
		if g.ID != 0 {
			d.stacks[g.ID] = g.Stack
		}
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
		if g.ID != 0 {
			row.ids[g.ID], d.of[g.ID] = true, row
		}
	}
	if dump.Truncated {
		return // a creator that is missing may be alive
	}
	for i := range dump.Groups {
		d.creator(&dump.Groups[i])
	}
}

// creator counts a goroutine by what its creator does now.
func (d *dumped) creator(g *capture.Goroutines) {
	row := d.of[g.ID]
	if row == nil || g.Creator == 0 {
		return
	}
	row.creators[g.Creator] = true
	starts := func(f capture.Frame) bool { return plain(f.Function) == row.By.Function }
	if n := len(row.Through); n > 0 && levelOf(row.By.Function, row.By.File, packageOf(row.By.Function)) < program { // sync.(*WaitGroup).Go
		starts = func(f capture.Frame) bool { return closing(plain(f.Function)) == closing(row.Through[n-1].Function) }
	}
	stack, alive := d.stacks[g.Creator]
	inside := slices.ContainsFunc(stack, starts)
	switch by := d.of[g.Creator]; {
	case inside && by != nil && (by.Op == Send || by.Op == Lock): // it will not receive
	case inside || g.Creator == 1:
		row.Owned++
	case !alive:
		row.Gone++
	}
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
			if row.ids[g.ID] {
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
		through, at := throughOf(s.Stack), place(s.Stack)
		var same *standing
		for _, row := range d.rows {
			if row.At == at.At && slices.Equal(row.Through, through) && (same == nil || row.order < same.order) {
				same = row
			}
		}
		if same == nil {
			same = d.row(&capture.Goroutines{Stack: s.Stack, Labels: s.Labels}, true)
			if same == nil {
				continue
			}
			same.Moves = false
			same.Count += count
			same.Forever = len(s.Stack) > 0 && slices.ContainsFunc(s.Stack, func(f capture.Frame) bool { return f.Function == "runtime.block" })
		}
		same.Leaked = max(same.Leaked, count)
	}
}

// finish writes the rows to the observation.
func (d *dumped) finish() {
	o := &d.b.o
	for _, row := range slices.SortedFunc(maps.Values(d.rows), func(a, b *standing) int { return a.order - b.order }) {
		row.Creators = len(row.creators)
		o.Stood = append(o.Stood, row.Standing)
		if d.traced {
			continue
		}
		if row.Role >= 0 {
			o.Roles[row.Role].Alive += float64(row.Count)
		}
		if row.Role >= 0 && row.Node >= 0 {
			d.b.waits(row)
		}
	}
	holds(o.Stood)
}

// waits adds a row of dumps to Waits.
func (b *builder) waits(row *standing) {
	for i := range b.o.Waits {
		if w := &b.o.Waits[i]; w.Role == row.Role && w.Line == row.Line {
			w.Mean += float64(row.Count)
			w.Longest = max(w.Longest, row.Longest)
			return
		}
	}
	b.o.Waits = append(b.o.Waits, Wait{Role: row.Role, Node: row.Node, Line: row.Line, Mean: float64(row.Count), Longest: row.Longest})
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

func plainFrame(f capture.Frame) Frame { return Frame{plain(f.Function), f.File, f.Line} }
