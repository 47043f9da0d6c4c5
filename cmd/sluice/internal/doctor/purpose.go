package doctor

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// The use of a channel decides which advice is safe. A channel of values
// may get more slots; in a channel that is a lock or a semaphore, the slots are
// the number of holders. A profile shows neither the type of the values nor
// which channel an operation uses, but the waits differ:
//
//   - the users of a lock acquire and release in the same function, or by
//     methods of one type that the same goroutines call, and wait to acquire
//     only; a pipeline stage has both operations too, and waits in both;
//   - if capacity is the limit, a send acquires and a receive releases: the
//     receive never waits, and no send ever wakes a receive;
//   - values go to another function, which waits for them at times.

// A use is what a channel is used for.
type use int

const (
	doubtful use = iota // the capture does not show it
	values              // values go from one function to another
	tokens              // the goroutines at one end are those at the other end
)

// A purpose is the use of a channel, and what shows it.
type purpose struct {
	use     use
	awaited bool   // receives wait at times
	why     string // for a person, a clause
}

// purpose returns what the channel of an operation is used for. In doubt, it is
// doubtful.
func (f *facts) purpose(o *Operation) purpose {
	if p, ok := f.tracedPurpose(o); ok {
		return p
	}
	same, other := f.otherEnds(o)
	if len(same) > 0 && !f.alone(o) && f.waitsOnce(o, same) {
		if len(other) == 0 {
			return purpose{tokens, false, "the goroutines that wait in it are those at its other end"}
		}
		return purpose{doubtful, false, "the same function sends and receives, and waits in one of the two only"}
	}
	if len(other) == 0 {
		return purpose{doubtful, false, "no other function is seen at its other end"}
	}
	p := purpose{use: values, why: "another function is at its other end"}
	for _, x := range other {
		p.awaited = p.awaited || awaits(o, x) || awaits(x, o)
	}
	if !p.awaited && slices.ContainsFunc(other, func(x *Operation) bool { return f.startsHolders(o, x) }) {
		return purpose{doubtful, false, "the function that waits in it also starts the goroutines at its other end, which never wait: it may limit their number"}
	}
	return p
}

// awaits reports whether the receives at one end wait for the sends at the other,
// or are woken by them. A select may be either end.
func awaits(from, to *Operation) bool {
	return !receives(from) && !sends(to) && (from.wake > 0 || waits(to) > 0)
}

// tracedPurpose uses the wake-ups of the trace, if it has any of the operation.
func (f *facts) tracedPurpose(o *Operation) (p purpose, ok bool) {
	var same, to, from int64
	for _, pair := range f.pairs() {
		other, wakes := pair.Sleeper, true
		if pair.Sleeper == o.site {
			other, wakes = pair.Waker, false
		} else if pair.Waker != o.site {
			continue
		}
		switch {
		case !other.Op.Channel() || other.Op == profile.Close:
		case f.related(o, f.operationAt(other)):
			same += pair.Count
		case wakes:
			to += pair.Count
		default:
			from += pair.Count
		}
	}
	switch {
	case same+to+from == 0:
		return p, false
	case same >= to+from && !f.alone(o):
		return purpose{tokens, false, "the goroutines that wait in it are woken by the same function"}, true
	}
	awaited := !receives(o) && to > 0 || !sends(o) && from > 0
	return purpose{values, awaited, "the trace shows another function at its other end"}, true
}

// operationAt returns the operation at a site, or a new one without a cost.
func (f *facts) operationAt(s profile.Site) *Operation {
	for i := range f.operations {
		if f.operations[i].site == s {
			return &f.operations[i]
		}
	}
	return &Operation{Place: place(s), site: s}
}

// otherEnds returns the operations that may be at the other end of the channel.
// In the same goroutines, any operation counts except a range loop, which
// releases no lock; in others, it must have a cost or waiting goroutines.
func (f *facts) otherEnds(o *Operation) (same, other []*Operation) {
	var selects []*Operation // they may face each other, where nothing else does
	for i := range f.operations {
		x := &f.operations[i]
		switch {
		case x == o || !faces(o, x) || ofRuntime(x.root) || ofRuntime(x.Function):
		case x.site.At == o.site.At && x.Op == o.Op: // a line does the same for all of its callers
		case f.related(o, x):
			if x.Op != profile.Range && o.Op != profile.Range {
				same = append(same, x)
			}
		case x.Weight >= smallSite || waits(x) > 0 && o.Weight < smallSite:
			if x.Op == profile.Select && o.Op == profile.Select {
				selects = append(selects, x)
			} else {
				other = append(other, x)
			}
		}
	}
	if len(other) == 0 {
		other = selects
	}
	return same, other
}

// faces reports whether x may be the other end of o: a select may be either.
func faces(o, x *Operation) bool {
	switch {
	case o.Op == profile.Close || x.Op == profile.Close:
		return false
	case o.Op == profile.Select, x.Op == profile.Select:
		return true
	}
	return sends(o) != sends(x)
}

// waitsOnce reports whether goroutines wait at one end only, as the users of a
// lock do; also if no wait is known.
func (f *facts) waitsOnce(o *Operation, same []*Operation) bool {
	for _, x := range same {
		if a, b := waits(o), waits(x); min(a, b) > 0 && min(a, b)*10 > max(a, b) {
			return false
		}
	}
	return true
}

// alone reports whether one goroutine is known to be the only one that runs the
// operation: a lock needs two.
func (f *facts) alone(o *Operation) bool {
	n, counted := f.users(o)
	return counted && n == 1
}

// users returns the number of goroutines whose start function runs the
// operation, and whether it is known.
func (f *facts) users(o *Operation) (n int, counted bool) {
	if len(o.roots) == 0 {
		_, counted := o.count()
		return f.crowd(o), counted
	}
	g := f.capture.Goroutines
	if g == nil {
		return 0, false
	}
	there, stated := 0, 0 // two snapshots: a goroutine may be at two lines
	for _, s := range g.Sites {
		if slices.Contains(o.roots, s.Root) {
			there, stated = there+s.In, stated+s.Waiting+s.Runnable
		}
	}
	n = max(there, stated)
	return n, n > 0
}

// startsHolders reports whether the function of o starts the goroutines of x,
// which take one value each: a loop that sends before it starts a goroutine,
// which receives at its end, limits the number of goroutines.
func (f *facts) startsHolders(o, x *Operation) bool {
	if x.Op != profile.Receive || !sends(o) && o.Op != profile.Select {
		return false
	}
	creator := x.created.Function
	if g := f.capture.Goroutines; g != nil && creator == "" {
		for _, s := range g.Sites {
			if s.Root != "" && slices.Contains(x.roots, s.Root) && s.CreatedBy.Function != "" {
				creator = s.CreatedBy.Function
			}
		}
	}
	if creator == "" {
		creator = enclosing(x.Function)
	}
	return creator == o.Function || creator == enclosing(o.Function)
}

// related reports whether the goroutines of one operation may run the other as
// well: in the same function, or by methods of the same type, or functions of
// the same package, that the same function calls or the same goroutines run.
func (f *facts) related(a, b *Operation) bool {
	if home(a) == home(b) {
		return true
	}
	if a.site.At.Package() != b.site.At.Package() {
		return false
	}
	callerOf := func(o *Operation) string { return o.site.Caller.Function }
	if callerOf(b) != "" && callerOf(b) == home(a) || callerOf(a) != "" && callerOf(a) == home(b) {
		return true
	}
	if receiverType(a.Function) != receiverType(b.Function) {
		return false
	}
	if callerOf(a) != "" && callerOf(a) == callerOf(b) {
		return true
	}
	return slices.ContainsFunc(a.roots, func(root string) bool { return slices.Contains(b.roots, root) })
}

// home returns the function of an operation; for a function literal that this
// function calls or defers itself, the function around it.
func home(o *Operation) string {
	if around := enclosing(o.Function); o.site.Caller.Function != "" && o.site.Caller.Function == around {
		return around
	}
	return o.Function
}

// enclosing returns the function around a function literal, such as main.f for
// main.f.func1, or the function itself.
func enclosing(function string) string {
	for {
		dot := strings.LastIndexByte(function, '.')
		if dot < 0 {
			return function
		}
		last := function[dot+1:]
		digits := strings.TrimPrefix(last, "func")
		if digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) == len(last) && !strings.Contains(function[:dot], ".func") {
			return function
		}
		function = function[:dot]
	}
}

// receiverType returns the type of a method with its package, such as main.(*T)
// for main.(*T).f, or the package for a function.
func receiverType(function string) string {
	function = enclosing(function)
	if dot := strings.LastIndexByte(function, '.'); dot >= 0 {
		return function[:dot]
	}
	return function
}
