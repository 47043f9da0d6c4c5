// Package flowmap writes the map of a service as text: the functions or roles that send
// and receive, and what is between them, from left to right.
//
// The map is a list of paths. A path starts at a stage or channel that nothing
// leads to, or at one that an earlier path shows, and is then indented. It ends
// where the flow ends or joins an earlier path. The first path leads through the
// bottleneck; Draw writes it in boxes.
//
// This package holds the choice of paths and their layout in lines. It knows
// neither terminals nor requests, and does not trust a service's text.
package flowmap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/livepage"
)

// Limits of the maps that are drawn: a service may send anything.
const (
	maxNodes = 2000
	maxEdges = 10_000
)

// A Map is a flow prepared to be written.
type Map struct {
	sentence string
	nodes    []node
	next     [][]arrow // by index of node, the most important first
	before   [][]arrow
	worst    int    // index of the node that holds the service back, or -1
	unseen   string // why channels without a call site have none
	omitted  int    // channels that the service left out
}

// A node is a stage or a channel.
type node struct {
	name    string
	stage   *livepage.Stage       // nil for a channel
	channel *livepage.FlowChannel // nil for a stage
	column  int                   // twice the column of the service, and one more for channels
}

type arrow struct {
	to    int
	share float64
}

// New prepares a flow. A nil flow is an empty one.
func New(f *livepage.Flow) *Map {
	m := &Map{worst: -1}
	if f == nil {
		return m
	}
	m.sentence = strings.TrimSpace(format.Clean(f.Summary))
	stages, channels := map[string]int{}, map[uint64]int{}
	for i := range f.Stages[:min(maxNodes, len(f.Stages))] {
		s := &f.Stages[i]
		stages[s.ID] = len(m.nodes)
		m.nodes = append(m.nodes, node{name: format.Clean(cmp.Or(s.Name, s.Function, s.ID)), stage: s, column: 2 * s.Column})
	}
	for i := range f.Channels[:min(maxNodes, len(f.Channels))] {
		c := &f.Channels[i]
		channels[c.ID] = len(m.nodes)
		m.nodes = append(m.nodes, node{name: format.Clean(c.Name), channel: c, column: 2*c.Column + 1})
	}
	m.next, m.before = make([][]arrow, len(m.nodes)), make([][]arrow, len(m.nodes))
	for _, e := range f.Edges[:min(maxEdges, len(f.Edges))] {
		stage, known := stages[e.Stage]
		channel, exists := channels[e.Channel]
		if !known || !exists {
			continue
		}
		from, to := stage, channel
		if e.Side == "receive" {
			from, to = channel, stage
		}
		m.next[from] = append(m.next[from], arrow{to, e.Share})
		m.before[to] = append(m.before[to], arrow{from, e.Share})
	}
	for i := range m.nodes {
		m.sortArrows(m.next[i])
		m.sortArrows(m.before[i])
	}
	m.unseen, m.omitted = strings.TrimSpace(format.Clean(f.Unseen)), f.Omitted
	if b := f.Bottleneck; b != nil {
		m.sentence = cmp.Or(strings.TrimSpace(format.Clean(b.Text)), m.sentence)
		if stage, known := stages[b.Stage]; known {
			m.worst = stage
		} else if channel, known := channels[b.Channel]; known {
			m.worst = channel
		}
	}
	return m
}

// Sentence names what holds the service back, or the reason why nothing does; "" if the
// service sent no sentence.
func (m *Map) Sentence() string { return m.sentence }

// sortArrows puts the arrows first that lead where most goroutines wait, and then those
// that carry most.
func (m *Map) sortArrows(arrows []arrow) {
	weight := func(a arrow) [2]float64 {
		n := &m.nodes[a.to]
		if n.stage != nil {
			return [2]float64{n.stage.HoldsUp, a.share}
		}
		if n.channel.SentRate != nil {
			a.share *= *n.channel.SentRate
		}
		return [2]float64{n.waiting(), a.share}
	}
	slices.SortStableFunc(arrows, func(a, b arrow) int {
		x, y := weight(a), weight(b)
		return slices.Compare(y[:], x[:])
	})
}

// main returns the path through the bottleneck, or else through the channel where most
// goroutines wait, or from the first node that has a successor.
func (m *Map) main() []int {
	start := m.worst
	if start < 0 || m.isAlone(start) && m.nodes[start].channel != nil {
		start = -1
		for i, n := range m.nodes {
			if !m.isAlone(i) && (start < 0 || cmp.Or(cmp.Compare(n.waiting(), m.nodes[start].waiting()), cmp.Compare(m.nodes[start].column, n.column)) > 0) {
				start = i
			}
		}
	}
	if start < 0 {
		start = slices.IndexFunc(m.nodes, func(n node) bool { return n.stage != nil && n.stage.Goroutines > 0 })
	}
	if start < 0 {
		return nil
	}
	seen := make([]bool, len(m.nodes))
	seen[start] = true
	walk := func(arrows [][]arrow) (path []int) {
		for at := start; ; {
			i := slices.IndexFunc(arrows[at], func(a arrow) bool { return !seen[a.to] })
			if i < 0 {
				return path
			}
			at = arrows[at][i].to
			seen[at] = true
			path = append(path, at)
		}
	}
	back := walk(m.before)
	slices.Reverse(back)
	return append(append(back, start), walk(m.next)...)
}

// waiting is the mean number of goroutines that wait at a channel.
func (n *node) waiting() float64 {
	if n.channel == nil {
		return 0
	}
	return n.channel.SendersMean + n.channel.ReceiversMean
}

func (m *Map) isAlone(at int) bool { return len(m.next[at])+len(m.before[at]) == 0 }

// paths returns paths that have every arrow once, and the main one first.
func (m *Map) paths() [][]int {
	first := m.main()
	if first == nil {
		return nil
	}
	taken, shown := map[[2]int]bool{}, make([]bool, len(m.nodes))
	for i, at := range first {
		shown[at] = true
		if i > 0 {
			taken[[2]int{first[i-1], at}] = true
		}
	}
	order := make([]int, len(m.nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.nodes[a].column, m.nodes[b].column) })
	next := func(at int) int {
		return slices.IndexFunc(m.next[at], func(a arrow) bool { return !taken[[2]int{at, a.to}] })
	}
	starts := []func(int) bool{
		func(at int) bool { return next(at) >= 0 && (shown[at] || len(m.before[at]) == 0) },
		func(at int) bool { return next(at) >= 0 },                                             // the rest of the arrows: cycles
		func(at int) bool { return !shown[at] && m.isAlone(at) && m.nodes[at].channel == nil }, // roles that meet no other
	}
	paths := [][]int{first}
	for len(starts) > 0 {
		i := slices.IndexFunc(order, starts[0])
		if i < 0 {
			starts = starts[1:]
			continue
		}
		at := order[i]
		path := []int{at}
		for shown[at] = true; next(at) >= 0; shown[at] = true {
			to := m.next[at][next(at)].to
			taken[[2]int{at, to}] = true
			path, at = append(path, to), to
			if shown[at] {
				break
			}
		}
		paths = append(paths, path)
	}
	return paths
}
