// Package flow draws the map of a program: which functions send into its named channels
// and receive from them, and what holds the whole back.
//
// The functions are stages. They are learned from the stacks that package callsite
// samples, so the map shows what the program did lately. A Flow is a graph whose edges
// lead from a stage to a channel that it sends into, and from a channel to a stage that
// receives from it. Diagnose finds the bottleneck in such a graph.
package flow

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-go/sluice/internal/callsite"
)

// A Side is one side of a channel.
type Side uint8

const (
	Send Side = iota
	Receive
)

// A Flow is the map.
type Flow struct {
	Stages   []Stage   // by ID
	Channels []Channel // by ID
	Edges    []Edge    // by channel, side and stage

	bySide  map[end][]Edge    // made by edgesOf
	outputs map[string][]Edge // of stages; made by outputsOf
}

// A Stage is a function that sends or receives.
type Stage struct {
	ID       string // unique and stable
	Name     string // unique, and short
	Function string // with the path of its package
	File     string
	Line     int
	Column   int // stages of a column receive only from columns before it
}

// A Channel is a named channel, with its figures at one moment.
type Channel struct {
	ID         uint64
	Name, Kind string
	Len, Cap   int
	Closed     bool
	// Column is the column of the stages that send into the channel: it is drawn
	// between this column and the next one.
	Column int

	Senders, Receivers int           // that wait now
	OldestSender       time.Duration // how long the first of them has waited
	OldestReceiver     time.Duration
	OldestValue        time.Duration

	// The rest is about the time since the last reading; zero unless Known.
	Known                   bool
	Sent, Received, Dropped float64 // per second
	SendersMean             float64 // the number of senders that waited, on average
	ReceiversMean           float64

	Foreign bool            // call sites are not sampled
	Sites   *callsite.Sites // nil if Foreign
}

// An Edge connects a stage and a channel.
type Edge struct {
	Stage   string
	Channel uint64
	Side    Side
	// Share is the part of the samples of this side of the channel. It is 0 for a stage
	// that receives only what another one made of the values, as workers.Map does.
	Share float64
}

// Draw returns the map of the channels, which are in ascending order of ID.
func Draw(channels []Channel) *Flow {
	f := &Flow{Channels: channels}
	var operations []*operation
	paths := map[uint64]path{}
	for _, c := range channels {
		if c.Sites == nil {
			continue
		}
		operations = append(operations, operationsOf(c.ID, Send, &c.Sites.Send, paths)...)
		operations = append(operations, operationsOf(c.ID, Receive, &c.Sites.Receive, paths)...)
	}
	f.draw(operations)
	return f
}

func (f *Flow) draw(operations []*operation) {
	assign(operations)
	separate(operations)
	f.connect(operations)
	nameStages(f.Stages)
	f.LayOut()
}

// operationsOf returns the call sites of one side of a channel. Samples without a function
// of the program belong to the functions that were declared. paths has those of stacks that
// other channels have, too, by their hashes.
func operationsOf(channel uint64, side Side, sites *callsite.Side, paths map[uint64]path) (operations []*operation) {
	inLibrary := 0.0
	for _, s := range sites.Sites() {
		p, ok := paths[s.Hash]
		if !ok {
			p = pathOf(s.Stack)
			paths[s.Hash] = p
		}
		if len(p.frames) > 0 {
			operations = append(operations, &operation{channel: channel, side: side, weight: s.Weight, path: p, goroutines: s.Goroutines})
		} else {
			inLibrary += s.Weight
		}
	}
	if inLibrary == 0 {
		return operations
	}
	declared, onward := sites.Declared()
	for _, stack := range declared {
		if p := pathOf(stack); len(p.frames) > 0 {
			operations = append(operations, &operation{channel: channel, side: side, weight: inLibrary / float64(len(declared)), path: p})
		}
	}
	for _, stack := range onward {
		if p := pathOf(stack); len(p.frames) > 0 {
			operations = append(operations, &operation{channel: channel, side: side, path: p})
		}
	}
	return operations
}

// connect makes the stages and edges of operations.
func (f *Flow) connect(operations []*operation) {
	stages := map[string]Stage{}
	edges := map[Edge]float64{} // without their shares
	sums := map[end]float64{}
	for _, o := range operations {
		at := o.path.frames[o.stage]
		file, line := at.file, at.line
		if at.entry != 0 {
			file, line = runtime.FuncForPC(at.entry).FileLine(at.entry)
		}
		part := "" // also the suffix of the name
		if o.part != 0 {
			part = " (" + f.channel(o.part).Name + ")"
		}
		id := at.function + part
		if known, ok := stages[id]; !ok || line < known.Line {
			stages[id] = Stage{ID: id, Name: part, Function: at.function, File: file, Line: line}
		}
		edges[Edge{Stage: id, Channel: o.channel, Side: o.side}] += o.weight
		sums[end{o.channel, o.side}] += o.weight
	}
	f.Stages = slices.Collect(maps.Values(stages))
	f.Edges = make([]Edge, 0, len(edges))
	for e, weight := range edges {
		e.Share = weight / sums[end{e.Channel, e.Side}]
		f.Edges = append(f.Edges, e)
	}
	slices.SortFunc(f.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Side, b.Side), cmp.Compare(a.Stage, b.Stage))
	})
}

// Unknown returns the names of the channels without an edge.
func (f *Flow) Unknown() []string {
	known := map[uint64]bool{}
	for _, e := range f.Edges {
		known[e.Channel] = true
	}
	names := []string{}
	for _, c := range f.Channels {
		if !known[c.ID] {
			names = append(names, c.Name)
		}
	}
	return names
}
