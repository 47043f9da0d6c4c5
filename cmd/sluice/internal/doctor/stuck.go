package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// Goroutines that do not move. The evidence, from the strongest:
//
//   - the collector proved that nothing else can reach what goroutines wait for;
//   - the process died because all goroutines were asleep;
//   - a wait for a lock, or in a send, of minutes;
//   - the same goroutines at the same place in two dumps, and no goroutine in the same
//     packages that ran or waited for the outside, and could end the wait.
//
// A receive, a select or a condition is where a goroutine without work waits. Neither
// its length nor a second dump makes a problem of it: growth does, or a lock that others
// want meanwhile.

// A blockage is goroutines that wait for what may never come.
type blockage struct {
	Finding
	Probability float64 // that they wait forever, or for far too long
	Longest     time.Duration
	Rows        []int // of Stood: the first of the cause
	Explains    int   // goroutines that wait because of it
}

// Kinds of blockages.
const (
	deadlock  = "deadlock"
	leak      = "leak"
	exhausted = "exhausted pool"
	idlePool  = "idle pool" // or a leak: nothing decides
)

const (
	// proved is for what the runtime itself says; the rest is for what it cannot.
	proved = 0.97
	// minute is the resolution of waits in a dump.
	minute = time.Minute
	// crowd is the number of goroutines at one place that is worth a word although
	// nothing is known to be wrong: fewer are in every service.
	crowd = 10
	// maxJudged bounds the rows that are compared with each other: a service has some
	// hundreds, and the largest come first.
	maxJudged = 1 << 10
	// longHold is longer than a lock is held by a goroutine that has a core at times.
	longHold = 2 * time.Second
	// grown is the part by which goroutines at one place increase between two dumps if
	// that is not chance.
	grown = 1.5
)

// stuck returns what does not move, the most important first.
func stuck(o *observe.Observation) []blockage {
	s := &stall{o: o, dead: strings.Contains(o.Sources.Crash, "all goroutines are asleep"), program: map[string]bool{}, moving: map[string]bool{}}
	for i := range o.Stood {
		for _, f := range o.Stood[i].Through {
			s.program[packageName(f.Function)] = true
		}
	}
	for i := range min(len(o.Stood), maxJudged) {
		s.add(i)
	}
	// What explains others comes first: they are no findings of their own.
	slices.SortStableFunc(s.places, func(a, b *spot) int { return weight[b.Op] - weight[a.Op] })
	s.locks()
	for _, p := range s.places {
		switch {
		case p.taken, p.Op == observe.Lock:
		case p.Op == observe.Acquire:
			s.pool(p)
		case p.Op == observe.Send:
			s.send(p, s.onlySends())
		default:
			s.wait(p)
		}
	}
	slices.SortStableFunc(s.found, func(a, b blockage) int {
		return cmp.Or(
			cmp.Compare(min(b.Probability, sure), min(a.Probability, sure)),
			b.rank()-a.rank(),
			cmp.Compare(b.Longest, a.Longest),
			b.Count+b.Explains-a.Count-a.Explains)
	})
	return s.found
}

// rank orders blockages of the same certainty: a cause before what it may explain.
func (b *blockage) rank() int {
	if b.Kind == deadlock && b.Explains > 0 {
		return 4
	}
	switch b.Missing {
	case "lock order", "unlock":
		return 3
	case "receiver", "slot":
		return 2
	case "done", "": // an idle pool lacks nothing
		return 0
	}
	return 1
}

// weight is how unlikely it is that a goroutine waits for work in an operation.
var weight = map[observe.Op]int{observe.Send: 3, observe.Acquire: 3, observe.Lock: 3, observe.GroupWait: 2, observe.Receive: 1, observe.Select: 1}

// A stall is the state of stuck.
type stall struct {
	o       *observe.Observation
	dead    bool
	program map[string]bool // packages of the program
	moving  map[string]bool // those with goroutines that may do anything next
	places  []*spot
	found   []blockage
}

// A spot is the rows with one operation at one line.
type spot struct {
	observe.Line
	owner   string // of the lock
	rows    []*observe.Standing
	first   int // index of the first row
	count   int
	stand   int // of count, at the same place in both dumps, or for minutes
	leaked  int
	before  int
	longest time.Duration
	taken   bool // by a finding
}

// add sorts a row in.
func (s *stall) add(i int) {
	r := &s.o.Stood[i]
	if r.Moves || outward(r) || r.Same >= 0 && (r.Same < r.Before || r.Before == 0) {
		for _, pkg := range s.packages(r) {
			s.moving[pkg] = true
		}
	}
	if r.Moves || r.Forever && r.Op == observe.Select {
		return // a select without cases is meant to wait
	}
	p := s.at(r)
	if p == nil {
		p = &spot{Line: r.Line, owner: observe.Owner(r.At.Function), first: i}
		s.places = append(s.places, p)
	}
	p.rows = append(p.rows, r)
	p.count += r.Count
	p.leaked += r.Leaked
	p.before += max(0, r.Before)
	p.longest = max(p.longest, r.Longest)
	if r.Same >= 0 && !s.dead {
		p.stand += r.Same
	} else if s.dead || r.Longest >= minute {
		p.stand += r.Count
	}
}

// at returns the place of a row, or nil.
func (s *stall) at(r *observe.Standing) *spot {
	for _, p := range s.places {
		if p.Op == r.Op && p.At == r.At && p.In == r.In {
			return p
		}
	}
	return nil
}

// outward reports whether goroutines wait inside a library, as for a response, other than
// for a slot or in a channel of this module.
func outward(r *observe.Standing) bool {
	ours := strings.HasPrefix(r.In, "sluice.") || strings.HasPrefix(r.In, "sync.")
	return r.In != "" && !ours && len(r.Through) > 0 && (r.Op == observe.Receive || r.Op == observe.Select || r.Op == observe.CondWait)
}

// packages returns the packages of the program on a stack, with the one that started it:
// goroutines that share a channel mostly share one of these.
func (s *stall) packages(r *observe.Standing) []string {
	var all []string
	for _, f := range append(slices.Clone(r.Through), r.By) {
		if pkg := packageName(f.Function); s.program[pkg] {
			all = append(all, pkg)
		}
	}
	return all
}

// any reports whether a function of the program on the stacks at p fits.
func (p *spot) any(fits func(observe.Frame) bool) bool {
	return slices.ContainsFunc(p.rows, func(r *observe.Standing) bool { return slices.ContainsFunc(r.Through, fits) })
}

// inside reports whether goroutines at p are in a function of owner.
func (p *spot) inside(owner string) bool {
	return p.any(func(f observe.Frame) bool { return observe.Owner(f.Function) == owner })
}

// again reports whether goroutines at p come from another function of the same owner.
func (p *spot) again() bool {
	return p.any(func(f observe.Frame) bool { return observe.Owner(f.Function) == p.owner && f.Function != p.At.Function })
}

// ours reports whether the goroutines at p run functions of the program.
func (p *spot) ours() bool { return p.any(func(observe.Frame) bool { return true }) }

// certain returns the probability that goroutines at places wait for what does not come,
// because of what one of them waits for.
func (s *stall) certain(places ...*spot) float64 {
	var all spot
	near := false // goroutines of the same packages may end the wait
	for _, p := range places {
		all.rows = append(all.rows, p.rows...)
		all.stand, all.leaked, all.longest = all.stand+p.stand, all.leaked+p.leaked, max(all.longest, p.longest)
	}
	for _, r := range all.rows {
		near = near || slices.ContainsFunc(s.packages(r), func(pkg string) bool { return s.moving[pkg] })
	}
	switch {
	case all.leaked > 0, s.dead:
		return proved
	case all.stand == 0:
		return 0.1
	case !all.ours(): // a library's own goroutines: how they should wait is not known
		return 0.3
	case all.longest < minute && near:
		return 0.3
	case slices.ContainsFunc(places, func(p *spot) bool { return weight[p.Op] < 2 }):
		return 0.65 // what ends that wait is not known
	case all.longest >= minute:
		return 0.85
	}
	return 0.75
}

// unless returns a probability, or at most another one if nothing is proved.
func unless(probability, most float64) float64 {
	if probability == proved {
		return proved
	}
	return min(probability, most)
}

// report adds a blockage: the goroutines at p, and those that wait because of them.
func (s *stall) report(kind, missing string, probability float64, p *spot, text string, explained ...*spot) {
	b := blockage{Probability: probability, Longest: p.longest, Rows: []int{p.first}}
	b.Finding = Finding{Kind: kind, Missing: missing, At: placeOf(p.Line), Count: p.count, Text: format.Clean(text)}
	switch {
	case p.leaked > 0:
		b.Evidence = append(b.Evidence, Evidence{fmt.Sprintf("the collector proved that nothing can wake %d of them", p.leaked), "leak profile"})
	case p.stand > 0 && p.before > 0:
		b.Evidence = append(b.Evidence, Evidence{fmt.Sprintf("%d of them stood there in both dumps", p.stand), "dumps"})
	}
	p.taken = true
	for i, e := range explained {
		e.taken = true
		if e.Op == observe.Lock {
			b.Explains += e.count
		}
		b.Longest = max(b.Longest, e.longest)
		if i < 3 {
			b.Evidence = append(b.Evidence, Evidence{fmt.Sprintf("%s in %s%s", format.Plural(e.count, "goroutine"), format.Clean(at(e.Line)), minutes(e.longest)), "dumps"})
		}
	}
	s.found = append(s.found, b)
}

// locks looks for what holds the locks that goroutines wait for.
func (s *stall) locks() {
	waits := func(p *spot) bool {
		return p.Op == observe.Lock && p.stand+p.leaked > 0 && !strings.Contains(p.In, "Once") && !p.taken
	}
	for _, p := range s.places {
		var with []*spot
		for _, q := range s.places {
			// For the same lock, or for each other's.
			if waits(p) && waits(q) && (p.owner == q.owner || p.inside(q.owner) || q.inside(p.owner)) {
				with = append(with, q)
			}
		}
		if len(with) > 0 {
			s.lock(with)
		}
	}
}

// lock judges places whose goroutines wait for locks that belong together.
func (s *stall) lock(waiters []*spot) {
	slices.SortStableFunc(waiters, func(a, b *spot) int {
		return cmp.Or(cmp.Compare(b.longest, a.longest), b.count-a.count)
	})
	first, total := waiters[0], 0
	for _, p := range waiters {
		total += p.count
	}
	if holder := s.holder(waiters); holder != nil {
		holds, wait := "holds", fmt.Sprintf("%d others wait", total)
		if holder.count > 1 {
			holds = "hold"
		}
		if total == 1 {
			wait = "another one waits"
		}
		s.report(deadlock, missingAt(holder), s.certain(append(slices.Clone(waiters), holder)...), holder,
			fmt.Sprintf("%s, and most likely %s a lock of %s that %s for.", holder.stands(), holds, shortName(first.owner), wait), waiters...)
		return
	}
	missing, text := "unlock", "nothing on any stack holds it: a path without Unlock, or a goroutine that locks it twice"
	twice := slices.IndexFunc(waiters, (*spot).again)
	in := func(name string) bool {
		return slices.ContainsFunc(waiters, func(p *spot) bool { return p.In == name })
	}
	switch {
	case twice >= 0 && in("sync.(*RWMutex).RLock") && in("sync.(*RWMutex).Lock"):
		first, text = waiters[twice], "a writer waits too: a read lock below a read lock of the same goroutine waits for the writer, which waits for the first of them"
	case crossed(waiters):
		missing, text = "lock order", "each may hold the lock that the other wants"
	case twice >= 0:
		first, text = waiters[twice], "the same goroutine is in another function of its owner further out: it may hold the lock already"
	case len(waiters) > 1:
		text = fmt.Sprintf("%d at other lines: a path without Unlock, or locks taken in different orders", total-first.count)
	}
	probability := s.certain(waiters...)
	if probability < sure && s.o.Sources.Apart >= longHold && !s.held(waiters) {
		probability = 0.75
	}
	s.report(deadlock, missing, probability, first, fmt.Sprintf("%s, and %s.", first.stands(), text),
		slices.DeleteFunc(slices.Clone(waiters), func(p *spot) bool { return p == first })...)
}

// held reports whether some goroutine that moves may hold the lock: it is in a function of
// its owner, or the waiters do not all stand in both dumps. Whatever holds a lock of which
// no other function is on any stack is among the waiters.
func (s *stall) held(waiters []*spot) bool {
	total := 0
	for _, p := range waiters {
		if total += p.count; p.stand < p.count {
			return true
		}
		for _, r := range s.o.Stood {
			if r.Op != observe.Lock && slices.ContainsFunc(r.Through, func(f observe.Frame) bool { return observe.Owner(f.Function) == p.owner }) {
				return true
			}
		}
	}
	return total < 2
}

// holder returns the place whose goroutines most likely hold the lock: they are in a
// function of its owner, and wait for something else; or, for a lock that several types
// take, they wait in a send in the same package.
func (s *stall) holder(waiters []*spot) (near *spot) {
	for _, p := range s.places {
		switch {
		case p.taken || p.Op == observe.Lock || p.stand+p.leaked == 0:
		case slices.ContainsFunc(waiters, func(w *spot) bool { return p.inside(w.owner) }):
			return p
		case p.Op == observe.Send && packageName(p.At.Function) == packageName(waiters[0].At.Function) && !p.generator():
			near = p
		}
	}
	return near
}

// crossed reports whether two of the waiters may hold each other's locks: each is in
// functions of the other's owner; or they wait in two functions of one type, and come to them
// in different ways.
func crossed(waiters []*spot) bool {
	for _, p := range waiters {
		method := func(f observe.Frame) bool {
			owner := observe.Owner(f.Function)
			return owner != p.owner && strings.Contains(owner, ".(")
		}
		for _, q := range waiters {
			if p.At.Function == q.At.Function && p.At.Line != q.At.Line && p.count+q.count > 2 {
				return true // one of them has taken the first lock of the function, and wants the second
			}
			if q.owner != p.owner && p.inside(q.owner) && q.inside(p.owner) || q.owner == p.owner &&
				(p.In == "sync.(*Mutex).Lock" && strings.HasPrefix(q.In, "sync.(*RWMutex)") || p.At.Function != q.At.Function && p.any(method)) {
				return true
			}
		}
	}
	return false
}

// send judges a place where goroutines send.
func (s *stall) send(p *spot, only int) {
	kind, missing, text, probability := leak, "receiver", "no goroutine is seen that would receive", s.certain(p)
	if s.dead {
		kind = deadlock
	}
	for _, q := range s.places {
		passed := func(f observe.Frame) bool {
			return f.Function == p.At.Function && f.File == p.At.File && f.Line > p.At.Line
		}
		switch {
		case q == p:
		case q.stand+q.leaked > 0 && q.any(passed):
			kind, missing, text = exhausted, "slot", "goroutines that have passed it wait too, and most likely hold what it counts: "+at(q.Line)
			probability = s.certain(p, q)
		case q.Op == observe.Send && p.start() != q.start() && p.start() == q.owner && q.start() == p.owner:
			kind, text = deadlock, "its receiver waits in turn to send to it: "+at(q.Line)
		}
	}
	switch {
	case kind == leak && p.grows():
		probability, text = max(probability, 0.65), fmt.Sprintf("%d before, and none of those has gone on", p.before)
	case kind == leak && only >= 3 && p.stand == p.count && probability < proved:
		// One or two may be generators at rest, but not all of a program.
		kind, probability, text = deadlock, max(probability, 0.65), "so do all others of the program: none is left that could receive"
	case p.generator() && probability < proved:
		// One that hands out tokens or numbers waits as long without being asked.
		probability = min(probability, 0.4)
		if kind == leak {
			text = "a generator at rest, or a sender without a receiver"
		}
	}
	s.report(kind, missing, probability, p, fmt.Sprintf("%s: %s.", p.stands(), text))
}

// onlySends returns the number of places where goroutines send, or 0 if any goroutine of
// the program but the main one does something else.
func (s *stall) onlySends() (places int) {
	for i := range s.o.Stood {
		if r := &s.o.Stood[i]; !r.Main && len(r.Through) > 0 && r.Op != observe.Send && r.Op != observe.Lock {
			return 0
		}
	}
	for _, p := range s.places {
		if p.Op == observe.Send {
			places++
		}
	}
	return places
}

// generator reports whether the goroutines at p may be generators: they only send, or one
// does it in a method of its own, and they belong to the program as a whole or to a
// function that still runs.
func (p *spot) generator() bool {
	alone := p.count == 1 && !p.any(func(f observe.Frame) bool { return observe.Owner(f.Function) != p.owner })
	return !slices.ContainsFunc(p.rows, func(r *observe.Standing) bool {
		return !r.Calls && !alone || r.Owned < r.Count && r.Creators > 0
	})
}

// start returns the type of the outermost method on the first stack at p.
func (p *spot) start() string {
	for _, f := range slices.Backward(p.rows[0].Through) {
		if owner := observe.Owner(f.Function); strings.Contains(owner, ".(") {
			return owner
		}
	}
	return ""
}

// pool judges a place where goroutines wait for a slot.
func (s *stall) pool(p *spot) {
	probability := s.certain(p)
	if p.count < 3 {
		probability = unless(probability, 0.3) // one or two wait now and then
	}
	var holders []*spot
	held, longest, by := 0, time.Duration(0), ""
	for i := range s.o.Stood {
		r := &s.o.Stood[i]
		if r.Op == observe.Acquire || !slices.ContainsFunc(r.Holds, func(h observe.Hold) bool { return h.Node == p.rows[0].Node }) {
			continue
		}
		held, longest = held+r.Count, max(longest, r.Longest)
		if r.At.Function == "database/sql.(*Tx).awaitDone" {
			by = " by open transactions"
		}
		if h := s.at(r); h != nil && !slices.Contains(holders, h) {
			holders = append(holders, h)
		}
	}
	text := "what holds them is not seen: most likely goroutines that wait here for a second one"
	if held > 0 {
		text = fmt.Sprintf("%s %s held%s%s", format.Plural(held, "slot"), format.Are(held), by, minutes(longest))
	}
	s.report(exhausted, "slot", probability, p, fmt.Sprintf("%s: %s.", p.stands(), text), holders...)
}

// wait judges a place where goroutines may also wait for work.
func (s *stall) wait(p *spot) {
	certain := s.certain(p)
	switch {
	case certain == proved:
		kind := leak
		if s.dead {
			kind = deadlock
		}
		s.report(kind, missingAt(p), certain, p, p.stands()+": nothing can end the wait.")
	case p.grows():
		probability := 0.55 // a pool may grow with the load, too
		if s.o.Sources.Apart >= minute && p.ours() {
			probability = 0.65
		}
		s.report(leak, missingAt(p), probability, p, fmt.Sprintf("%s, %d before: none of those has gone on.", p.stands(), p.before))
	case p.joins():
		s.report(deadlock, "close", min(certain, 0.7), p, p.stands()+", below the loop whose end it waits for.")
	case p.Op == observe.GroupWait && p.stand > 0 && s.last(p):
		s.report(leak, "done", min(certain, 0.7), p, p.stands()+", and no goroutine is left that could call Done.")
	case p.count >= crowd && p.Op != observe.GroupWait:
		text, probability := "an idle pool, or a leak: two captures show which", 0.3
		if p.orphans() {
			text, probability = "each was started by another goroutine, which has ended: a leak, unless each serves a session", 0.5
		} else if p.before > 0 {
			text, probability = "no more than before: an idle pool, if the load is the same", 0.1
		}
		s.report(idlePool, "", probability, p, fmt.Sprintf("%s: %s.", p.stands(), text))
	}
}

// orphans reports whether goroutines of their own started those at p, and have ended.
func (p *spot) orphans() bool {
	gone, creators := 0, 0
	for _, r := range p.rows {
		gone, creators = gone+r.Gone, creators+r.Creators
	}
	return gone == p.count && creators == p.count
}

// grows reports whether the goroutines at p increased, and none left.
func (p *spot) grows() bool {
	return p.count-p.before >= crowd && float64(p.count) >= grown*float64(p.before) &&
		!slices.ContainsFunc(p.rows, func(r *observe.Standing) bool { return r.Before < 0 || r.Same >= 0 && r.Same < r.Before })
}

// joins reports whether the goroutines at p wait in a function that ends their own loop.
func (p *spot) joins() bool {
	return p.stand > 0 && p.stops() && (p.Op == observe.Receive || p.Op == observe.GroupWait) && strings.Contains(p.owner, ".(") &&
		slices.ContainsFunc(p.rows, func(r *observe.Standing) bool {
			n := len(r.Through)
			return n > 2 && observe.Owner(r.Through[n-1].Function) == p.owner
		})
}

// stops reports whether the function at p ends something, judging from its name: it
// waits for the end, which is a close.
func (p *spot) stops() bool {
	function, _, _ := strings.Cut(p.At.Function, ".func")
	return slices.Contains([]string{"close", "stop", "shutdown", "join", "terminate"}, strings.ToLower(function[strings.LastIndexByte(function, '.')+1:]))
}

// last reports whether only wait groups keep goroutines of the program, other than the
// main one.
func (s *stall) last(p *spot) bool {
	return !p.rows[0].Main && !slices.ContainsFunc(s.o.Stood, func(r observe.Standing) bool {
		return len(r.Through) > 0 && !r.Main && r.Op != observe.GroupWait
	})
}

// ends are what would end waits.
var ends = map[observe.Op]string{
	observe.Send: "receiver", observe.Receive: "sender", observe.GroupWait: "done", observe.CondWait: "signal",
	observe.Lock: "unlock", observe.Acquire: "slot", observe.Select: "cancel",
}

// missingAt returns what would end the waits at p.
func missingAt(p *spot) string {
	if p.Op == observe.Receive && p.stops() {
		return "close"
	}
	return ends[p.Op]
}

// stands starts a sentence about the goroutines at p: "30 goroutines wait in a send at
// main.run (main.go:30) for 5 minutes".
func (p *spot) stands() string {
	text := fmt.Sprintf("%d goroutines wait ", p.count)
	if p.count == 1 {
		text = "A goroutine waits "
	}
	switch {
	case p.Op == observe.Acquire && p.In != "":
		text += "in " + shortName(p.In) + " "
	case p.Op == observe.Lock, p.Op == observe.GroupWait:
		text += "for a " + string(p.Op) + " "
	case p.Op != observe.Other:
		text += "in a " + string(p.Op) + " "
	}
	return text + "at " + where(p.At) + minutes(p.longest)
}

// minutes returns how long goroutines have waited: " for 10 minutes", or "" below one.
func minutes(d time.Duration) string {
	if d < minute {
		return ""
	}
	return " for " + format.Plural(int(d/minute), "minute")
}

// shortName removes the folders of a package.
func shortName(function string) string { return function[strings.LastIndexByte(function, '/')+1:] }

// packageName returns the package of a function with its path.
func packageName(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
}
