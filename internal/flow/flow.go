// Package flow learns the map of a program: which functions send into its named channels
// and receive from them.
//
// The functions are stages. They are learned from the stacks that package callsite
// samples, so the map shows what the program did lately. It is a graph whose edges lead
// from a stage to a channel that it sends into, and from a channel to a stage that
// receives from it.
package flow

import (
	"cmp"
	"maps"
	"runtime"
	"slices"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/registry"
)

// The sides of a channel.
const (
	Send    = "send"
	Receive = "receive"
)

// A Stage is a function that sends or receives.
type Stage struct {
	ID       string // unique and stable
	Name     string // unique, and short
	Function string // with the path of its package
	File     string
	Line     int
}

// An Edge connects a stage and a channel.
type Edge struct {
	Stage   string // ID
	Channel uint64
	Side    string
	// Share is the part of the samples of this side of the channel. It is 0 for a stage
	// that receives only what another one made of the values, as workers.Map does.
	Share float64
}

// Learn returns the stages, by ID, and their edges, by channel, side and stage.
func Learn(channels []registry.Entry) ([]Stage, []Edge) {
	var operations []*operation
	paths := map[callsite.Stack]path{}
	for _, c := range channels {
		if c.Sites != nil {
			operations = append(operations, operationsOf(operation{channel: c.ID, name: c.Name, side: Send}, c.Sites.Send, paths)...)
			operations = append(operations, operationsOf(operation{channel: c.ID, name: c.Name, side: Receive}, c.Sites.Receive, paths)...)
		}
	}
	return learn(operations)
}

func learn(operations []*operation) ([]Stage, []Edge) {
	assign(operations)
	separate(operations)
	stages, edges := connect(operations)
	nameStages(stages)
	return stages, edges
}

// operationsOf returns the call sites of one side of a channel. Samples without a function
// of the program belong to the functions that were declared. paths has those of stacks that
// other channels have, too.
func operationsOf(side operation, sites *callsite.Side, paths map[callsite.Stack]path) (operations []*operation) {
	inLibrary := 0.0
	declared, onward := sites.Declared()
	add := func(p path, weight float64, goroutines []uint64) {
		if len(p.frames) == 0 && len(declared) == 0 && p.root.isStage() {
			p.frames = []frame{p.root}
		}
		if len(p.frames) == 0 {
			inLibrary += weight
			return
		}
		o := side
		o.path, o.weight, o.goroutines = p, weight, goroutines
		operations = append(operations, &o)
	}
	for _, s := range sites.Sites() {
		p, ok := paths[s.Stack]
		if !ok {
			p = pathOf(s.Stack)
			paths[s.Stack] = p
		}
		add(p, s.Weight, s.Goroutines)
	}
	if inLibrary == 0 {
		return operations
	}
	weight := inLibrary / float64(len(declared))
	for _, stack := range declared {
		add(pathOf(stack), weight, nil)
	}
	for _, stack := range onward {
		add(pathOf(stack), 0, nil)
	}
	return operations
}

// connect makes the stages and edges of operations.
func connect(operations []*operation) ([]Stage, []Edge) {
	stages := map[string]Stage{}
	weights := map[Edge]float64{} // of edges without their shares
	sums := map[end]float64{}
	for _, o := range operations {
		at := o.path.frames[o.stage]
		file, line := at.file, at.line
		if at.entry != 0 {
			file, line = runtime.FuncForPC(at.entry).FileLine(at.entry)
		}
		id := at.function + o.part
		if known, ok := stages[id]; !ok || line < known.Line {
			stages[id] = Stage{ID: id, Name: o.part, Function: at.function, File: file, Line: line}
		}
		weights[Edge{Stage: id, Channel: o.channel, Side: o.side}] += o.weight
		sums[o.end()] += o.weight
	}
	edges := make([]Edge, 0, len(weights))
	for e, weight := range weights {
		e.Share = weight / sums[end{e.Channel, e.Side}]
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(b.Side, a.Side), cmp.Compare(a.Stage, b.Stage)) // Send before Receive
	})
	return slices.SortedFunc(maps.Values(stages), func(a, b Stage) int { return cmp.Compare(a.ID, b.ID) }), edges
}
