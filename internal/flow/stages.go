package flow

import (
	"fmt"
	"maps"
	slashes "path"
	"slices"
	"strings"
)

// An operation is a call site of one side of a channel.
type operation struct {
	channel    uint64
	name       string // of the channel
	side       string
	weight     float64
	path       path
	goroutines []uint64 // some of those that were here, if known
	stage      int      // index into path.frames: see assign
	part       string   // the suffix of the name of this part of the stage: see separate
}

// An end is a side of a channel.
type end struct {
	channel uint64
	side    string
}

func (o *operation) end() end { return end{o.channel, o.side} }

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
	a := assignment{parents: map[string]map[string]bool{}, next: map[any][]any{}}
	for _, o := range operations {
		f := o.path.frames[0].function
		switch {
		case o.onMain():
		case o.side == Send:
			a.next[f] = append(a.next[f], o.channel)
		default:
			a.next[o.channel] = append(a.next[o.channel], f)
		}
		outer := ""
		for _, f := range o.path.frames {
			if a.parents[f.function] == nil {
				a.parents[f.function] = map[string]bool{}
			}
			a.parents[f.function][outer] = true
			outer = f.function
		}
	}
	for _, group := range byFunction(operations, 0) {
		a.walk(group, 0)
	}
}

type assignment struct {
	parents map[string]map[string]bool // the functions that called a function
	// next has what a value may reach without the goroutine of main: from a channel, the
	// functions of goroutines that receive from it, and from such a function, channels.
	next map[any][]any
}

// reach adds to reached what a value may reach from a channel or a function, itself included.
func (a *assignment) reach(from any, reached map[any]bool) {
	if reached[from] {
		return
	}
	reached[from] = true
	for _, to := range a.next[from] {
		a.reach(to, reached)
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
	for _, o := range group {
		o.stage = depth
	}
	f := group[0].path.frames[depth]
	callees := byFunction(group, depth+1)
	together := true
	switch {
	case len(callees) == 0:
	case slices.ContainsFunc(group, func(o *operation) bool { return len(o.path.frames) == depth+1 }): // it does some itself
		together = f.function != "main.main"
	case len(callees) == 1:
		callee := callees[0][0].path.frames[depth+1]
		passes := isClosure(f.function) || group[0].onMain() || callee.gap && isServer(group[0].path.root.function)
		together = !passes || a.isHelper(callee.function, f.function)
	case dispatches(callees, depth):
		together = false
	case group[0].onMain():
		together = a.complementary(callees)
	default:
		together = !meet(callees)
	}
	if !together {
		for _, callee := range callees {
			a.walk(callee, depth+1)
		}
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

// meet reports whether one callee sends into a channel that another receives from.
func meet(callees [][]*operation) bool {
	users := map[end]map[int]bool{} // the indices of callees
	for i, group := range callees {
		for _, o := range group {
			if users[o.end()] == nil {
				users[o.end()] = map[int]bool{}
			}
			users[o.end()][i] = true
		}
	}
	for e, senders := range users {
		for receiver := range users[end{e.channel, Receive}] {
			if e.side == Send && (len(senders) > 1 || !senders[receiver]) {
				return true
			}
		}
	}
	return false
}

// complementary reports whether some callees receive and others send, none does both,
// and what the others send does not come back.
func (a *assignment) complementary(callees [][]*operation) bool {
	reached, sides := map[any]bool{}, map[string]bool{}
	for _, group := range callees {
		for _, o := range group {
			if sides[o.side] = true; o.side != group[0].side {
				return false
			}
			if o.side == Send {
				a.reach(o.channel, reached)
			}
		}
	}
	comesBack := func(group []*operation) bool {
		return slices.ContainsFunc(group, func(o *operation) bool { return o.side == Receive && reached[o.channel] })
	}
	return len(sides) == 2 && !slices.ContainsFunc(callees, comesBack)
}

// isServer reports whether goroutines that begin with root serve requests: then the
// functions of the program that call back are middleware.
func isServer(root string) bool {
	return strings.HasPrefix(root, "net/http.") || strings.Contains(root, "/grpc.")
}

// isClosure reports whether a function has no name of its own.
func isClosure(function string) bool { return Enclosing(function) != function }

// Enclosing returns the named function in which a closure is written.
func Enclosing(function string) string {
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
// already. A closure has the name of the function around it, and its line if that function has
// other stages: "run (main.go:42)".
func nameStages(stages []Stage) {
	around := map[string]int{} // how many functions there are in a function
	seen := map[string]bool{}
	for _, s := range stages {
		if !seen[s.Function] {
			seen[s.Function] = true
			around[Enclosing(s.Function)]++
		}
	}
	names := map[string]int{}
	for i := range stages {
		s := &stages[i]
		outer := Enclosing(s.Function)
		if outer != s.Function && around[outer] > 1 {
			s.Name = fmt.Sprintf(" (%s:%d)", slashes.Base(s.File), s.Line) + s.Name
		}
		s.Name = shortName(outer) + s.Name
		names[s.Name]++
	}
	for i := range stages {
		if s := &stages[i]; names[s.Name] > 1 {
			s.Name = s.ID
		}
	}
}
