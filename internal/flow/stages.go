package flow

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// An operation is a call site of one side of a channel.
type operation struct {
	channel    uint64
	side       Side
	weight     float64
	path       path
	goroutines []uint64 // some of those that were here, if known
	stage      int      // index into path.frames: see assign
	part       uint64   // the input of this part of the stage, or 0: see separate
}

// onMain reports whether the goroutine is the first one of the program.
func (o *operation) onMain() bool { return o.path.frames[0].function == "main.main" }

// assign chooses the stage of each operation: one of the functions on its stack.
//
// A goroutine is a stage, and its function is the outermost one on the stack. The
// exceptions are what makes it longer:
//
//   - A closure that only calls another function gives way to that function.
//   - A wrapper starts or calls different functions at the same place, as goSafe(f) and
//     middleware do: the functions that it calls are the stages.
//   - In the goroutine of main, and wherever two callees of a function send to and receive
//     from the same channel, the callees are the stages. The innermost function that both
//     receives and sends stays together.
//   - A helper that several stages call, such as the Put of a queue, is never a stage.
func assign(operations []*operation) {
	a := assignment{parents: map[string]map[string]bool{}, receivers: map[uint64][]int{}}
	for _, o := range operations {
		outer := ""
		for _, f := range o.path.frames {
			if a.parents[f.function] == nil {
				a.parents[f.function] = map[string]bool{}
			}
			a.parents[f.function][outer] = true
			outer = f.function
		}
	}
	groups := byFunction(operations, 0)
	for _, group := range groups {
		if !group[0].onMain() {
			a.link(group)
		}
	}
	for _, group := range groups {
		a.walk(group, 0)
	}
}

type assignment struct {
	parents map[string]map[string]bool // the functions that called a function
	// Groups of goroutines with the same function, except main's: the ones that receive from
	// a channel, and what each of them sends into.
	receivers map[uint64][]int
	sends     [][]uint64
}

// link records what a group of goroutines connects.
func (a *assignment) link(group []*operation) {
	ends := endsOf(group)
	number := len(a.sends)
	a.sends = append(a.sends, nil)
	for e := range ends {
		if e.side == Send {
			a.sends[number] = append(a.sends[number], e.channel)
		} else {
			a.receivers[e.channel] = append(a.receivers[e.channel], number)
		}
	}
}

// reached adds to channels those that values of a channel may reach without the goroutine
// of main, the channel itself included.
func (a *assignment) reached(channel uint64, channels map[uint64]bool, passed map[int]bool) {
	channels[channel] = true
	for _, group := range a.receivers[channel] {
		if passed[group] {
			continue
		}
		passed[group] = true
		for _, next := range a.sends[group] {
			a.reached(next, channels, passed)
		}
	}
}

// byFunction groups operations by the function at a depth, in the order of names.
func byFunction(operations []*operation, depth int) [][]*operation {
	groups := map[string][]*operation{}
	for _, o := range operations {
		if depth < len(o.path.frames) {
			f := o.path.frames[depth].function
			groups[f] = append(groups[f], o)
		}
	}
	sorted := make([][]*operation, 0, len(groups))
	for _, f := range slices.Sorted(maps.Keys(groups)) {
		sorted = append(sorted, groups[f])
	}
	return sorted
}

// walk chooses the stages of operations whose stacks are the same down to depth.
func (a *assignment) walk(group []*operation, depth int) {
	f := group[0].path.frames[depth]
	var direct []*operation
	for _, o := range group {
		if len(o.path.frames) == depth+1 {
			direct = append(direct, o)
		}
	}
	callees := byFunction(group, depth+1)
	together := true
	switch {
	case len(callees) == 0:
	case len(direct) > 0:
		together = f.function != "main.main"
	case len(callees) == 1:
		callee := callees[0][0].path.frames[depth+1]
		passes := isClosure(f.function) || group[0].onMain() || callee.gap && isServer(group[0].path.root)
		together = !passes || a.isHelper(callee.function, f.function)
	case dispatches(callees, depth):
		together = false
	case group[0].onMain():
		together = a.complementary(callees)
	default:
		together = !meet(callees)
	}
	if together {
		for _, o := range group {
			o.stage = depth
		}
		return
	}
	for _, o := range direct {
		o.stage = depth
	}
	for _, callee := range callees {
		a.walk(callee, depth+1)
	}
}

// isHelper reports whether functions besides caller call a function. Several closures may:
// each of them starts it.
func (a *assignment) isHelper(function, caller string) bool {
	for other := range a.parents[function] {
		if other != caller && other != "" && !(isClosure(other) && isClosure(caller)) {
			return true
		}
	}
	return false
}

// dispatches reports whether a function calls two different ones at the same place.
func dispatches(callees [][]*operation, depth int) bool {
	called := map[int]int{} // by line: the index of the callee, from 1
	for i, group := range callees {
		for _, o := range group {
			line := o.path.frames[depth].line
			if before := called[line]; before != 0 && before != i+1 {
				return true
			}
			called[line] = i + 1
		}
	}
	return false
}

type end struct {
	channel uint64
	side    Side
}

func endsOf(group []*operation) map[end]bool {
	ends := map[end]bool{}
	for _, o := range group {
		ends[end{o.channel, o.side}] = true
	}
	return ends
}

// meet reports whether one callee sends into a channel that another receives from.
func meet(callees [][]*operation) bool {
	const several = -1
	users := map[end]int{} // the index of the callee, from 1
	for i, group := range callees {
		for e := range endsOf(group) {
			if users[e] == 0 {
				users[e] = i + 1
			} else {
				users[e] = several
			}
		}
	}
	for e, user := range users {
		if other := users[end{e.channel, 1 - e.side}]; other != 0 && (other != user || user == several) {
			return true
		}
	}
	return false
}

// complementary reports whether some callees receive and others send, none does both,
// and what the others send does not come back.
func (a *assignment) complementary(callees [][]*operation) bool {
	ends := map[Side][]uint64{}
	for _, group := range callees {
		for _, o := range group {
			if o.side != group[0].side {
				return false
			}
			ends[o.side] = append(ends[o.side], o.channel)
		}
	}
	reached, passed := map[uint64]bool{}, map[int]bool{}
	for _, channel := range ends[Send] {
		a.reached(channel, reached, passed)
	}
	if slices.ContainsFunc(ends[Receive], func(channel uint64) bool { return reached[channel] }) {
		return false
	}
	return len(ends) == 2
}

// isServer reports whether goroutines that begin with root serve requests: then the
// functions of the program that call back are middleware.
func isServer(root string) bool {
	return strings.HasPrefix(root, "net/http.") || strings.Contains(root, "/grpc.")
}

// isClosure reports whether a function has no name of its own.
func isClosure(function string) bool { return enclosing(function) != function }

// enclosing returns the named function in which a closure is written.
func enclosing(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	parts := strings.Split(function[slash:], ".")
	for i, part := range parts[1:] {
		for _, prefix := range []string{"func", "gowrap", "deferwrap"} {
			digits, ok := strings.CutPrefix(part, prefix)
			if ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
				return function[:slash] + strings.Join(parts[:i+1], ".")
			}
		}
	}
	return function
}

// shortName returns the name of a function as people call it: without the path of its
// package, without package main, and without the parentheses of a method.
func shortName(function string) string {
	name := function[strings.LastIndexByte(function, '/')+1:]
	name = strings.TrimPrefix(name, "main.")
	return strings.NewReplacer("(*", "", ")", "", "..", ".").Replace(name)
}

// nameStages gives each stage a name that no other has, before the suffix that it has
// already. A closure has the name of the function around it, if no other stage is in that
// function.
func nameStages(stages []Stage) {
	around := map[string]int{} // how many functions there are in a function
	seen := map[string]bool{}
	for _, s := range stages {
		if !seen[s.Function] {
			seen[s.Function] = true
			around[enclosing(s.Function)]++
		}
	}
	names := map[string]int{}
	for i := range stages {
		s := &stages[i]
		name := s.Function
		if outer := enclosing(name); around[outer] == 1 {
			name = outer
		}
		s.Name = shortName(name) + s.Name
		names[s.Name]++
	}
	for i := range stages {
		if s := &stages[i]; names[s.Name] > 1 {
			s.Name = s.ID
		}
	}
	slices.SortFunc(stages, func(a, b Stage) int { return cmp.Compare(a.ID, b.ID) })
}
