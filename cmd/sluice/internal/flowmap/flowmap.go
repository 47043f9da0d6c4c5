// Package flowmap writes the map of a service as text: the functions that send
// and receive, and the channels between them, from left to right.
//
// The map is a list of paths. A path starts at a stage or channel that nothing
// leads to, or at one that an earlier path shows, and is then indented. It ends
// where the flow ends or joins an earlier path.
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
	// maxUnknown is one less than what a service sends beside a list.
	maxUnknown = 19
)

// A Map is a flow prepared to be written.
type Map struct {
	sentence string
	nodes    []node
	next     [][]arrow // by index of node, the most important first
	before   [][]arrow
	worst    int      // index of the node that holds the service back, or -1
	unknown  []string // names of channels without a call site
	omitted  int      // channels that the service left out
}

// A node is a stage or a channel.
type node struct {
	name    string
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
	for _, s := range f.Stages[:min(maxNodes, len(f.Stages))] {
		stages[s.ID] = len(m.nodes)
		m.nodes = append(m.nodes, node{name: format.Clean(cmp.Or(s.Name, s.Function, s.ID)), column: 2 * s.Column})
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
	for _, name := range f.Unknown[:min(maxUnknown, len(f.Unknown))] {
		m.unknown = append(m.unknown, format.Clean(name))
	}
	if len(f.Unknown) > maxUnknown {
		m.unknown = append(m.unknown, "and others")
	}
	m.omitted = f.Omitted
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

// Sentence says what holds the service back, or why nothing does; "" if the
// service sent no sentence.
func (m *Map) Sentence() string { return m.sentence }

// Channels returns the number of channels on the map.
func (m *Map) Channels() int {
	n := 0
	for i := range m.nodes {
		if m.nodes[i].channel != nil {
			n++
		}
	}
	return n
}

// sortArrows puts the arrows first that carry most.
func (m *Map) sortArrows(arrows []arrow) {
	weight := func(a arrow) float64 {
		if c := m.nodes[a.to].channel; c != nil && c.SentRate != nil {
			return a.share * *c.SentRate
		}
		return a.share
	}
	slices.SortStableFunc(arrows, func(a, b arrow) int { return cmp.Compare(weight(b), weight(a)) })
}

// main returns the path through the bottleneck, or else from the first node
// that has a successor.
func (m *Map) main() []int {
	start := m.worst
	if start < 0 || len(m.next[start])+len(m.before[start]) == 0 {
		start = -1
		for i := range m.nodes {
			if len(m.next[i]) > 0 && (start < 0 || m.nodes[i].column < m.nodes[start].column) {
				start = i
			}
		}
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
	var back []int
	if start == m.worst {
		back = walk(m.before)
		slices.Reverse(back)
	}
	return append(append(back, start), walk(m.next)...)
}

// paths returns paths that have every arrow once, and the main one first.
func (m *Map) paths() [][]int {
	first := m.main()
	if first == nil {
		return nil
	}
	taken := map[[2]int]bool{}
	shown := make([]bool, len(m.nodes))
	for i, at := range first {
		shown[at] = true
		if i > 0 {
			taken[[2]int{first[i-1], at}] = true
		}
	}
	paths := [][]int{first}
	order := make([]int, len(m.nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.nodes[a].column, m.nodes[b].column) })
	free := func(at int) bool {
		return slices.ContainsFunc(m.next[at], func(a arrow) bool { return !taken[[2]int{at, a.to}] })
	}
	for {
		// Nodes that are on a path already, and those that nothing leads to; then
		// the rest, which are cycles.
		i := slices.IndexFunc(order, func(at int) bool { return free(at) && (shown[at] || len(m.before[at]) == 0) })
		if i < 0 {
			i = slices.IndexFunc(order, free)
		}
		if i < 0 {
			return paths
		}
		paths = append(paths, m.follow(order[i], taken, shown))
	}
}

// follow returns the path of arrows from start that are not taken, up to a node
// that is already shown.
func (m *Map) follow(start int, taken map[[2]int]bool, shown []bool) []int {
	path := []int{start}
	shown[start] = true
	for at := start; ; {
		i := slices.IndexFunc(m.next[at], func(a arrow) bool { return !taken[[2]int{at, a.to}] })
		if i < 0 {
			break
		}
		to := m.next[at][i].to
		taken[[2]int{at, to}] = true
		path = append(path, to)
		if shown[to] {
			break
		}
		shown[to] = true
		at = to
	}
	return path
}
