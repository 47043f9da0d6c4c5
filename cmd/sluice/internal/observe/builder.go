package observe

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// Of returns the observation of a capture. A part that cannot be read is a Gap; an error
// means that the capture has nothing that can be observed.
func Of(c *capture.Capture) (*Observation, error) {
	b := newBuilder(c)
	if b.home = homeOf(c); b.home != "" {
		eachFrame(c, func(f *capture.Frame) { f.File = b.home.file(f.File) })
	}
	traced := false
	if c.Trace != nil {
		if err := b.trace(c.Trace); err != nil {
			b.o.Missing = append(b.o.Missing, Gap{What: cmp.Or(c.Trace.Name, "trace"), Reason: err.Error()})
		} else {
			traced = true
		}
	}
	if c.CPU != nil {
		b.cpu(c.CPU)
	}
	b.contentions(c, traced)
	b.dumps(c, traced)
	b.finish(c)
	if len(b.o.Roles)+len(b.o.Spent)+len(b.o.Stood)+len(b.o.Waits)+len(c.Dumps) == 0 && c.CPU == nil && b.o.Sources.Events == 0 {
		return nil, errors.New("nothing to observe: no trace, no CPU profile, and no goroutines")
	}
	return &b.o, nil
}

// A builder makes an Observation. Indexes of roles and nodes are valid until finish,
// which sorts the rows.
type builder struct {
	o       Observation
	roleOf  map[roleKey]int
	nodeOf  map[Line]int // the first node of a line
	waitOf  index[waitKey]
	program bool // some stack has a function of the program
	home    home
}

// A waitKey finds a row of Waits.
type waitKey struct {
	role, node int
	line       Line
}

// A roleKey is what tells roles apart. Only one of the functions is set.
type roleKey struct{ start, host string }

// Bounds of tables: a service has some hundreds of each, and a hostile file as many as it
// has bytes.
const (
	maxRoles = 1 << 10
	maxLines = 1 << 14
)

func newBuilder(c *capture.Capture) *builder {
	b := &builder{roleOf: map[roleKey]int{}, nodeOf: map[Line]int{}, waitOf: index[waitKey]{}}
	b.o.Target, b.o.Live, b.o.Start, b.o.Flow = c.Target, c.Live, c.Start, c.Flow
	if c.Machine != nil {
		b.o.Cores.CPUs, b.o.Cores.Others = c.Machine.CPUs, c.Machine.Busy
	}
	b.o.Missing = slices.Clone(c.Missing)
	return b
}

// role returns the index of the role of a stack, and adds it. It returns -1 if the stack
// shows none, or if there are too many.
func (b *builder) role(p placed) int {
	key := roleKey{start: p.role.Function}
	if key.start == "" {
		key.host = p.host
	}
	if key == (roleKey{}) {
		return -1
	}
	i, ok := b.roleOf[key]
	if !ok {
		if len(b.o.Roles) == maxRoles {
			return -1
		}
		i = len(b.o.Roles)
		b.roleOf[key] = i
		r := Role{Start: p.role, Host: p.host}
		if key.start == "" {
			r.Runtime, r.Start, r.Host = true, Frame{Function: p.host}, ""
		}
		b.o.Roles = append(b.o.Roles, r)
	}
	if key.start != "" {
		b.program = true
		b.o.Roles[i].Host = cmp.Or(b.o.Roles[i].Host, p.host)
	}
	return i
}

// node returns the index of the node that a stack waits at or uses, and adds it. It
// returns -1 for a stack that does neither.
func (b *builder) node(p placed) int {
	if i, ok := b.nodeOf[p.Line]; ok {
		return i
	}
	if p.node == "" || len(b.o.Nodes) >= maxLines {
		return -1
	}
	return b.addNode(Node{Kind: p.node, Name: p.name, Lines: []Line{p.Line}})
}

// addNode adds a node. Of several with a line, it is found by that line if it is the first.
func (b *builder) addNode(n Node) int {
	i := len(b.o.Nodes)
	b.o.Nodes = append(b.o.Nodes, n)
	for _, line := range n.Lines {
		if _, ok := b.nodeOf[line]; !ok {
			b.nodeOf[line] = i
		}
	}
	return i
}

// wait returns the index of a role's waits at a line, and adds them.
func (b *builder) wait(role, node int, line Line) int {
	i, _ := rowOf(b.waitOf, &b.o.Waits, waitKey{role, node, line}, maxPorts, Wait{Role: role, Node: node, Line: line})
	return int(i)
}

// finish names what has no name yet, and sorts the rows.
func (b *builder) finish(c *capture.Capture) {
	o := &b.o
	o.Sources.Block, o.Sources.Mutex, o.Sources.Leaks = c.Block != nil, c.Mutex != nil, c.Leaks != nil
	b.countDumps(c)
	if !b.program {
		for i := range o.Roles { // a tool whose modules all have versions: it is its own program
			r := &o.Roles[i]
			r.Runtime = levelOfFunction(r.Start.Function) < library
		}
	}
	b.adopt()
	b.startedBy()
	b.nameChannels(c.Flow)
	b.nameNodes()
	b.nameRoles()
	b.artifacts(c)
	b.sort()
}

// jobs returns, for the role of a library's goroutines, the role of the only function of
// the program that the library calls, if there is one.
func (b *builder) jobs() map[int]int {
	called := map[string][]int{}
	for key, i := range b.roleOf {
		if host := b.o.Roles[i].Host; key.start != "" && host != "" {
			called[host] = append(called[host], i)
		}
	}
	jobs := map[int]int{}
	for key, i := range b.roleOf {
		if of := called[key.host]; key.host != "" && len(of) == 1 {
			jobs[i] = of[0]
		}
	}
	return jobs
}

// adopt gives the rows of a library's goroutines to its only job: a worker that waits has
// no line of the program. What waits for the network stays: a server between two
// requests. A trace has done so already.
func (b *builder) adopt() {
	if b.o.Sources.Trace > 0 {
		return
	}
	jobs := b.jobs()
	b.eachRole(func(role *int, op Op) {
		job, ok := jobs[*role]
		if ok && op != Network && levelOfFunction(b.o.Roles[*role].Start.Function) >= library {
			*role = job
		}
	})
}

// eachRole calls f for each row that refers to a role.
func (b *builder) eachRole(f func(role *int, op Op)) {
	o := &b.o
	for i := range o.Waits {
		f(&o.Waits[i].Role, o.Waits[i].Op)
	}
	for i := range o.Wakes {
		f(&o.Wakes[i].Role, o.Wakes[i].By.Op)
	}
	for i := range o.Spent {
		f(&o.Spent[i].Role, o.Spent[i].Op)
	}
	for i := range o.Stood {
		f(&o.Stood[i].Role, o.Stood[i].Op)
	}
}

// startedBy adds what dumps know of who started the goroutines of a role. In a wait without a
// line of the program, it stands for the caller.
func (b *builder) startedBy() {
	o := &b.o
	for _, s := range o.Stood {
		if s.Role >= 0 {
			o.Roles[s.Role].By = cmp.Or(o.Roles[s.Role].By, s.By)
		}
	}
	for i := range o.Waits {
		if w := &o.Waits[i]; o.Roles[w.Role].Runtime {
			w.Caller = cmp.Or(w.Caller, o.Roles[w.Role].By)
		}
	}
}

// countDumps fills in the sources.
func (b *builder) countDumps(c *capture.Capture) {
	s := &b.o.Sources
	for _, d := range c.Dumps {
		if d.States {
			s.Dumps++
		} else {
			s.Counts++
		}
		s.Crash = cmp.Or(s.Crash, d.Crash)
		if first := c.Dumps[0].At; !first.IsZero() && d.At.After(first) {
			s.Apart = d.At.Sub(first)
		}
	}
}

// nameRoles gives each role the shortest name that is unique, and a number to roles at
// several places of a pipeline.
func (b *builder) nameRoles() {
	roles, places := map[string]map[string]bool{}, map[string]int{} // functions by name, or by the function around them; by function
	add := func(name, f string) {
		if roles[name] == nil {
			roles[name] = map[string]bool{}
		}
		roles[name][f] = true
	}
	for i := range b.o.Roles {
		f := b.o.Roles[i].Start.Function
		add("in "+closing(f), f)
		places[f]++
	}
	alone := func(r *Role) bool { return len(roles["in "+closing(r.Start.Function)]) == 1 }
	for i := range b.o.Roles {
		r := &b.o.Roles[i]
		for _, name := range names(r, alone(r)) {
			add(name, r.Start.Function)
		}
	}
	number := map[string]int{}
	for i := range b.o.Roles {
		r := &b.o.Roles[i]
		f := r.Start.Function
		all := names(r, alone(r))
		r.Name = all[max(0, slices.IndexFunc(all, func(name string) bool { return len(roles[name]) == 1 }))]
		if number[f]++; places[f] > 1 {
			r.Name = fmt.Sprintf("%s %d", r.Name, number[f])
		}
	}
}

// names returns the names of a role, the shortest first: its function without its package, if
// it is a function of the program, with that, and with its path. A closure has the name of the
// function around it, and its line unless it is alone in there: "run (main.go:42)".
func names(r *Role, alone bool) (all []string) {
	f, place := closing(r.Start.Function), ""
	if at := r.Start; f != at.Function && !alone {
		if r.By.File != "" && closing(plain(r.By.Function)) == f { // the line of the go statement
			at = r.By
		}
		place = " (" + placeName(Line{At: at}) + ")"
	}
	short := shortName(f)
	if _, function, ok := strings.Cut(short, "."); ok && levelOfFunction(f) == program {
		all = append(all, function+place)
	}
	return append(all, short+place, f+place, r.Start.Function)
}

// nameNodes names nodes after their place, if they have no name yet.
func (b *builder) nameNodes() {
	used := map[string]int{}
	for i := range b.o.Nodes {
		n := &b.o.Nodes[i]
		if n.Name == "" && len(n.Lines) > 0 {
			n.Name = placeName(n.Lines[0])
		}
		if used[n.Name]++; used[n.Name] > 1 && n.Named == 0 {
			n.Name = fmt.Sprintf("%s (%d)", n.Name, used[n.Name])
		}
	}
}

// placeName is a line as a name: "queue.go:12".
func placeName(l Line) string {
	if l.At.File == "" {
		return shortName(l.At.Function)
	}
	return fmt.Sprintf("%s:%d", path.Base(strings.ReplaceAll(l.At.File, `\`, "/")), l.At.Line)
}

// version is the last element of the path of a module from version 2 on.
var version = regexp.MustCompile(`^v[0-9]+\.`)

// shortName returns a function with the name of its package: cache.New for
// example.com/cache/v2.New.
func shortName(function string) string {
	base := path.Base(function)
	if at := version.FindString(base); at != "" && base != function {
		if parent := path.Base(path.Dir(function)); parent != "." {
			return parent + "." + base[len(at):]
		}
	}
	return base
}

// sort brings the rows in their order, renumbers what refers to them, and drops roles
// without rows.
func (b *builder) sort() {
	o, used := &b.o, map[int]bool{}
	b.eachRole(func(role *int, _ Op) { used[*role] = true })
	for i := range o.Roles {
		if r := &o.Roles[i]; !used[i] && r.Alive == 0 && r.Created == 0 {
			r.Alive = -1
		}
	}
	roles := sorted(o.Roles, func(a, b *Role) int { return cmp.Or(cmp.Compare(b.Alive, a.Alive), cmp.Compare(a.Name, b.Name)) })
	o.Roles = slices.DeleteFunc(o.Roles, func(r Role) bool { return r.Alive < 0 })
	b.eachRole(func(role *int, _ Op) {
		if *role >= 0 {
			*role = roles[*role]
		}
	})
	waits := sorted(o.Waits, func(a, b *Wait) int {
		return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(b.Rate, a.Rate), a.Line.compare(b.Line), cmp.Compare(a.Role, b.Role))
	})
	for i := range o.Wakes {
		o.Wakes[i].Wait = waits[o.Wakes[i].Wait]
	}
	sorted(o.Wakes, func(a, b *Wake) int {
		return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Wait, b.Wait), a.By.compare(b.By))
	})
	sorted(o.Spent, func(a, b *Spend) int {
		return cmp.Or(cmp.Compare(b.Cores, a.Cores), a.Line.compare(b.Line), cmp.Compare(a.What, b.What), cmp.Compare(a.Role, b.Role))
	})
	sorted(o.Stood, func(a, b *Standing) int { return cmp.Compare(b.Count, a.Count) })
}

// sorted sorts rows, and returns the new index of each.
func sorted[T any](rows []T, compare func(a, b *T) int) []int {
	old, at, index := slices.Clone(rows), make([]int, len(rows)), make([]int, len(rows))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int { return compare(&old[i], &old[j]) })
	for to, from := range at {
		rows[to], index[from] = old[from], to
	}
	return index
}

func (l Line) compare(o Line) int {
	return cmp.Or(l.At.compare(o.At), cmp.Compare(l.Op, o.Op), l.Caller.compare(o.Caller), cmp.Compare(l.In, o.In))
}

func (f Frame) compare(o Frame) int {
	return cmp.Or(cmp.Compare(f.Function, o.Function), cmp.Compare(f.File, o.File), cmp.Compare(f.Line, o.Line))
}
