package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
	"github.com/sluice-go/sluice/internal/flow"
	"github.com/sluice-go/sluice/livepage"
)

// Limits of a map: a service may have thousands of roles. They are more than a page can
// show, and the bottleneck and its neighbors come first.
const (
	mostStages = 40
	mostNodes  = 60
)

// unnamed is the first ID of nodes other than named channels, whose IDs count from 1. It is
// exact in JavaScript.
const unnamed = 1 << 50

// seldom is the mean number of goroutines below which those that wait at a node, or run in
// a role that meets no other, are left out.
const seldom = 0.02

// mapOf draws the map of a service: its roles as stages, and what they meet at as channels.
// The diagnosis has everything but its map.
func mapOf(o *observe.Observation, m *model, d *Diagnosis) *livepage.Flow {
	p := &plan{o: o, m: m, d: d, channels: map[uint64]*livepage.FlowChannel{}, edges: map[livepage.Edge]float64{},
		Flow: livepage.Flow{Time: o.Start, Over: o.Sources.Trace.Seconds(), Summary: d.Answer, Unknown: []string{},
			Stages: []livepage.Stage{}, Channels: []livepage.FlowChannel{}, Edges: []livepage.Edge{}}}
	p.met()
	p.cores()
	p.stood()
	p.named()
	p.keepChannels()
	p.keepStages()
	p.finish()
	return &p.Flow
}

// A plan is a map that is being drawn. Roles have their names as IDs.
type plan struct {
	livepage.Flow
	o        *observe.Observation
	m        *model
	d        *Diagnosis
	channels map[uint64]*livepage.FlowChannel
	edges    map[livepage.Edge]float64 // weights of edges without a share
	place    uint64                    // ID of the node that is the bottleneck, or 0
}

const (
	send    = flow.Send
	receive = flow.Receive
)

// node returns the channel of a node, which is added if it is new.
func (p *plan) node(i int) *livepage.FlowChannel {
	n := &p.o.Nodes[i]
	c := livepage.FlowChannel{ID: unnamed + uint64(i), Name: cmp.Or(n.Name, string(n.Kind)), Kind: nodeWord(n), Unnamed: true}
	for i := 0; n.Named != 0 && p.o.Flow != nil && i < len(p.o.Flow.Channels); i++ {
		if p.o.Flow.Channels[i].ID == n.Named {
			c = p.o.Flow.Channels[i]
		}
	}
	if p.isPlace(i) {
		p.place = c.ID
	}
	if p.channels[c.ID] == nil {
		p.channels[c.ID] = &c
	}
	return p.channels[c.ID]
}

// nodeWord returns a word for a node. Things outside that have a name need no other word.
func nodeWord(n *observe.Node) string {
	switch {
	case n.Kind == observe.Group:
		return "group"
	case n.Kind != observe.Outside:
		return string(n.Kind)
	case n.Name != "" && !strings.Contains(n.Name, ":"):
		return n.Name
	}
	return "network"
}

// patient are waits that last as long as the service and say nothing about it.
var patient = []string{"new connections", "signals"}

// isPlace reports whether a node is the bottleneck.
func (p *plan) isPlace(node int) bool {
	return p.d.Bottleneck != nil && p.d.Bottleneck.Node != "" && p.d.Bottleneck.Node == p.m.nodeName(node)
}

func (p *plan) isBottleneck(role string) bool {
	return p.d.Bottleneck != nil && p.d.Bottleneck.Role == role
}

// still reports whether goroutines that do not move matter. Every service has some that
// wait for its end.
func (p *plan) still() bool {
	return !p.m.traced() || p.d.Verdict == Stuck || p.d.Verdict == Idle || p.d.Verdict == Undecided
}

// connect adds an edge of a role of the program, unless it waits for what does not matter.
func (p *plan) connect(role int, c *livepage.FlowChannel, side string, weight float64) {
	if p.ofProgram(role) && !slices.Contains(patient, c.Kind) {
		p.edges[livepage.Edge{Stage: p.o.Roles[role].Name, Channel: c.ID, Side: side}] += weight
	}
}

// ofProgram reports whether a role is the program's, and not a library's helper.
func (p *plan) ofProgram(role int) bool {
	return role >= 0 && role < len(p.o.Roles) && !p.o.Roles[role].Runtime
}

// met adds what roles were seen to meet at in the trace.
func (p *plan) met() {
	for i := range p.m.meets {
		g := &p.m.meets[i]
		outside, excludes := g.Kind == observe.Outside || g.Kind == observe.Disk, g.Kind == observe.Mutex || g.Kind == observe.Limit
		rare := g.sending+g.receiving < seldom && g.rate < 1 && g.Named == 0 || g.Kind == observe.Timer || g.rate == 0 && !p.still()
		if (rare || len(g.senders)+len(g.receivers) == 0) && !p.isPlace(i) {
			continue
		}
		c := p.node(i)
		for _, e := range g.senders {
			p.connect(e.role, c, send, e.rate+e.waiting)
		}
		for _, e := range g.receivers {
			if outside || excludes && slices.ContainsFunc(g.senders, func(s end) bool { return s.role == e.role }) {
				continue // it releases what it acquired
			}
			p.connect(e.role, c, receive, e.rate+e.waiting)
		}
		c.SendersMean += g.sending
		if !outside {
			c.ReceiversMean += g.receiving
		}
	}
	for i := range p.m.waits { // requests come from outside, and calls go there
		w := &p.m.waits[i]
		if kind := w.kind(p.m); kind != observe.Outside && kind != observe.Disk || w.Mean < seldom || !p.ofProgram(w.Role) {
			continue
		}
		c, side := p.node(w.Node), send
		if w.load {
			side = receive
			c.ReceiversMean += w.Mean
		} else {
			c.SendersMean += w.Mean * (1 - w.pushes)
		}
		p.connect(w.Role, c, side, w.Mean)
	}
}

// cores adds the cores as a node, if they are the bottleneck.
func (p *plan) cores() {
	k := p.m.cores
	if p.d.Verdict != Cores || k.have <= 0 {
		return
	}
	c := &livepage.FlowChannel{ID: unnamed + uint64(len(p.o.Nodes)), Name: fmt.Sprintf("%.2g cores", k.have), Kind: "cores", Unnamed: true, Fill: &k.full, SendersMean: k.queue}
	p.channels[c.ID] = c
	for i := range p.m.parts {
		if made := &p.m.parts[i].made; made.cpu()+made[costQueue] >= seldom {
			p.connect(i, c, send, made.cpu()+made[costQueue])
		}
	}
}

// stood adds the places of goroutines that dumps show and that the trace does not.
func (p *plan) stood() {
	if !p.still() {
		return
	}
	for i := range p.o.Stood {
		s := &p.o.Stood[i]
		if s.Node < 0 || s.Node >= len(p.o.Nodes) || s.Role < 0 || s.Role >= len(p.o.Roles) {
			continue
		}
		c, n, role := p.node(s.Node), float64(s.Count), p.o.Roles[s.Role].Name
		if p.edges[livepage.Edge{Stage: role, Channel: c.ID, Side: send}]+p.edges[livepage.Edge{Stage: role, Channel: c.ID, Side: receive}] == 0 {
			side, mean := receive, &c.ReceiversMean
			if slices.Contains([]observe.Op{observe.Send, observe.Lock, observe.Acquire, observe.Network, observe.File}, s.Op) {
				side, mean = send, &c.SendersMean
			}
			*mean += n
			p.connect(s.Role, c, side, n)
		}
		for _, h := range s.Holds {
			if h.Node >= 0 && h.Node < len(p.o.Nodes) {
				p.connect(s.Role, p.node(h.Node), receive, n)
			}
		}
	}
}

// named adds the service's named channels at which no goroutine was seen to wait.
func (p *plan) named() {
	if p.o.Flow == nil {
		return
	}
	met, functions := maps.Clone(p.channels), map[string]string{}
	for _, c := range p.o.Flow.Channels {
		p.channels[c.ID] = cmp.Or(met[c.ID], &c)
	}
	for _, s := range p.o.Flow.Stages {
		functions[s.ID] = s.Function
	}
	for _, e := range p.o.Flow.Edges {
		if met[e.Channel] == nil && p.channels[e.Channel] != nil {
			p.edges[livepage.Edge{Stage: cmp.Or(p.roleOf(functions[e.Stage]), e.Stage), Channel: e.Channel, Side: e.Side}] += e.Share
		}
	}
}

// roleOf returns the name of a role that starts or waits in a function, or "".
func (p *plan) roleOf(function string) string {
	for i, r := range p.o.Roles {
		waits := func(w observe.Wait) bool { return w.Role == i && w.At.Function == function }
		if !r.Runtime && function != "" && (r.Start.Function == function || slices.ContainsFunc(p.o.Waits, waits)) {
			return r.Name
		}
	}
	return ""
}

// first is more than any number of goroutines.
const first = 1e12

// keepChannels keeps channels with an edge: the bottleneck's first, then the ones where most
// goroutines wait.
func (p *plan) keepChannels() {
	rank := map[uint64]float64{}
	for e := range p.edges {
		c := p.channels[e.Channel]
		waiting := c.SendersMean + c.ReceiversMean + float64(c.Senders+c.Receivers)
		if c.ID == p.place || p.isBottleneck(e.Stage) {
			waiting += first
		}
		rank[c.ID] = max(rank[c.ID], waiting)
	}
	for _, id := range slices.SortedFunc(maps.Keys(p.channels), func(a, b uint64) int { return cmp.Or(cmp.Compare(rank[b], rank[a]), cmp.Compare(a, b)) }) {
		c := p.channels[id]
		switch _, met := rank[id]; {
		case met && len(p.Channels) < mostNodes:
			p.Channels = append(p.Channels, *c)
		case met:
			p.Omitted++
		case !c.Unnamed && len(p.Unknown) < mostNodes:
			p.Unknown, p.Unseen = append(p.Unknown, c.Name), p.o.Flow.Unseen
		}
	}
	slices.SortFunc(p.Channels, func(a, b livepage.FlowChannel) int { return cmp.Compare(a.ID, b.ID) })
}

// keepStages adds the stages: the bottleneck, then those that hold others up, then the
// busiest.
func (p *plan) keepStages() {
	meets, works := map[string]bool{}, map[string]float64{}
	for e := range p.edges {
		meets[e.Stage] = true
	}
	for _, row := range p.d.Roles {
		works[row.Name] = row.Busy * row.Alive
		rare := !meets[row.Name] && works[row.Name] < seldom || !p.still() && row.Alive < seldom && row.HoldsUp < seldom
		if rare && !p.isBottleneck(row.Name) {
			continue
		}
		s := livepage.Stage{ID: row.Name, Name: strings.TrimPrefix(row.Name, "main."), Function: row.Start.Function, File: row.Start.File, Line: row.Start.Line,
			Goroutines: row.Alive, HoldsUp: row.HoldsUp, Doing: row.Doing}
		if strings.HasPrefix(row.Doing, "waits in ") || !p.m.traced() && strings.HasPrefix(row.Doing, "waits ") { // the map shows where
			s.Doing = ""
		}
		if p.isBottleneck(s.ID) {
			s.HoldsUp, row.Busy = p.d.Bottleneck.HoldsUp, p.d.Bottleneck.Busy
		}
		if p.m.traced() {
			s.Busy = &row.Busy
		}
		p.Stages, meets[s.ID] = append(p.Stages, s), false
	}
	if p.o.Flow != nil {
		for _, s := range p.o.Flow.Stages {
			if meets[s.ID] {
				p.Stages = append(p.Stages, s)
			}
		}
	}
	rank := func(s livepage.Stage) float64 {
		if p.isBottleneck(s.ID) {
			return first
		}
		return 1000*s.HoldsUp + works[s.ID] // what holds up a goroutine comes before what only works
	}
	slices.SortStableFunc(p.Stages, func(a, b livepage.Stage) int { return cmp.Compare(rank(b), rank(a)) })
	p.Stages = p.Stages[:min(mostStages, len(p.Stages))]
	slices.SortFunc(p.Stages, func(a, b livepage.Stage) int { return cmp.Compare(a.ID, b.ID) })
}

// finish makes the edges between what is on the map, its columns, as the live page does,
// and the bottleneck.
func (p *plan) finish() {
	channels := map[uint64]*livepage.FlowChannel{}
	for i := range p.Channels {
		channels[p.Channels[i].ID] = &p.Channels[i]
	}
	var stages []string
	for _, s := range p.Stages {
		stages = append(stages, s.ID)
	}
	if b := p.d.Bottleneck; b != nil {
		p.Bottleneck = &livepage.Bottleneck{Kind: string(p.d.Verdict), Text: p.d.Answer, Channel: p.place}
		if slices.Contains(stages, b.Role) {
			p.Bottleneck.Stage = b.Role
		}
	}
	// In one order, so that sums and maps are the same in each run.
	edges := slices.SortedFunc(maps.Keys(p.edges), func(a, b livepage.Edge) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(b.Side, a.Side), cmp.Compare(a.Stage, b.Stage))
	})
	sums := map[livepage.Edge]float64{}
	for _, e := range edges {
		sums[livepage.Edge{Channel: e.Channel, Side: e.Side}] += p.edges[e]
	}
	var kept []flow.Edge
	most := 0.0 // of those that wait for the bottleneck
	for _, e := range edges {
		c := channels[e.Channel]
		if !slices.Contains(stages, e.Stage) || c == nil {
			continue
		}
		if p.isBottleneck(e.Stage) && e.Side == receive && c.SendersMean > most {
			p.Bottleneck.Channel, most = e.Channel, c.SendersMean
		}
		e.Share = p.edges[e] / max(1e-9, sums[livepage.Edge{Channel: e.Channel, Side: e.Side}])
		p.Edges, kept = append(p.Edges, e), append(kept, flow.Edge(e))
	}
	ofStages, ofChannels := flow.Columns(stages, kept)
	for i, s := range p.Stages {
		p.Stages[i].Column = ofStages[s.ID]
	}
	for i, c := range p.Channels {
		p.Channels[i].Column = ofChannels[c.ID]
	}
}
