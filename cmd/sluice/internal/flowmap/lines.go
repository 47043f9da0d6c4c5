package flowmap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/livepage"
)

// A Role is the meaning of a part of a line.
type Role uint8

// The roles.
const (
	Soft       Role = iota // arrows, and names that an earlier path shows
	Stage                  // a function
	Channel                // a channel's name and figures
	Full                   // a channel that is nearly full or loses values
	Bottleneck             // what holds the service back
)

// A Span is a part of a line.
type Span struct {
	Text string
	Role Role
}

// A Line is a line of a map.
type Line []Span

// String returns the text of the line.
func (l Line) String() string {
	var b strings.Builder
	for _, span := range l {
		b.WriteString(span.Text)
	}
	return b.String()
}

// NearlyFull is the fill from which a channel is shown as full.
const NearlyFull = 0.8

// Widths from which a channel on the map has more figures.
const (
	widthOfRates = 80
	widthOfAges  = 120
)

const (
	to     = " ─▶ "
	toNext = "─▶ " // at the beginning of a line
	indent = "  "
)

// Lines returns the whole map in lines of at most width cells, and the channels
// without a call site. It is empty if there is no path.
func (m *Map) Lines(width int) []Line {
	var lines []Line
	shown := make([]bool, len(m.nodes))
	for _, path := range m.paths() {
		lines = append(lines, m.layOut(path, shown, width)...)
	}
	if len(m.unknown) > 0 && len(lines) > 0 {
		lines = append(lines, wrapped("No call seen yet: "+strings.Join(m.unknown, ", "), width)...)
	}
	if m.omitted > 0 && len(lines) > 0 {
		lines = append(lines, wrapped(format.Plural(m.omitted, "more channel")+" beside the map: the list has all.", width)...)
	}
	return lines
}

// Main returns the path through the bottleneck in at most most lines. The part
// around the bottleneck has priority.
func (m *Map) Main(width, most int) []Line {
	path := m.main()
	if len(path) == 0 || most < 1 {
		return nil
	}
	at := 0
	for i, n := range path {
		if n == m.worst {
			at = i
		}
	}
	from, end := 0, len(path)
	lines := m.layOut(path, make([]bool, len(m.nodes)), width)
	for len(lines) > most && end-from > 3 {
		// Omit the end that is farther from the bottleneck.
		if at-from > end-1-at {
			from++
		} else {
			end--
		}
		part := slices.Clone(path[from:end])
		if from > 0 {
			part = append([]int{omitted}, part...)
		}
		if end < len(path) {
			part = append(part, omitted)
		}
		lines = m.layOut(part, make([]bool, len(m.nodes)), width)
	}
	return lines[:min(most, len(lines))]
}

// omitted stands in a path for nodes that are not shown.
const omitted = -1

// layOut writes a path, and marks its nodes as shown.
func (m *Map) layOut(path []int, shown []bool, width int) []Line {
	var lines []Line
	var line Line
	used := 0
	put := func(text string, role Role) {
		line = append(line, Span{text, role})
		used += displaywidth.String(text)
	}
	if path[0] != omitted && shown[path[0]] {
		put(indent, Soft)
	}
	for i, at := range path {
		spans := []Span{{"…", Soft}}
		if at != omitted {
			spans = m.node(at, shown[at], width)
			shown[at] = true
		}
		text := Line(spans).String()
		arrow := to
		if i == 0 {
			arrow = ""
		}
		if i > 0 && used+displaywidth.String(arrow+text) > width {
			lines = append(lines, line)
			line, used = nil, 0
			put(indent+indent, Soft)
			arrow = toNext
		}
		if arrow != "" {
			put(arrow, Soft)
		}
		for _, span := range spans {
			put(cut(span.Text, width-used), span.Role)
		}
	}
	return append(lines, line)
}

// cut shortens text to a number of cells.
func cut(text string, cells int) string {
	return displaywidth.TruncateString(text, max(0, cells), "…")
}

// node writes a node; with its figures, unless an earlier path shows them.
func (m *Map) node(at int, shown bool, width int) []Span {
	n := &m.nodes[at]
	name := displaywidth.TruncateString(n.name, max(8, width/3), "…")
	role := Stage
	switch {
	case at == m.worst:
		role = Bottleneck
	case shown:
		role = Soft
	case n.channel != nil:
		role = Channel
	}
	if n.channel == nil || shown {
		return []Span{{name, role}}
	}
	text, hot := figures(n.channel, width)
	if text == "" {
		return []Span{{name, role}}
	}
	if hot {
		return []Span{{name + " ", role}, {text, Full}}
	}
	return []Span{{name + " ", role}, {text, Channel}}
}

// barCells is the width of the bar of a channel's fill.
const barCells = 3

// figures writes a channel's fill, and what fits of its rate and the age of its
// oldest value. Lost values are always written. hot reports whether the channel
// is nearly full or loses values.
func figures(c *livepage.FlowChannel, width int) (text string, hot bool) {
	var parts []string
	switch {
	case c.Fill != nil:
		fill := max(0, min(1, *c.Fill))
		hot = fill >= NearlyFull
		filled := int(fill*barCells + 0.5)
		bar := "░"
		if filled > 0 {
			bar = strings.Repeat("█", filled)
		}
		parts = append(parts, fmt.Sprintf("%s %.0f%%", bar, 100*fill))
	case c.Len > 0:
		parts = append(parts, format.Compact(float64(c.Len))+" queued")
	}
	if c.Closed {
		parts = append(parts, "closed")
	} else if c.ReceivedRate != nil && width >= widthOfRates {
		parts = append(parts, format.Compact(*c.ReceivedRate)+"/s")
	}
	if c.DroppedRate != nil && *c.DroppedRate > 0 {
		parts = append(parts, "drops "+format.Compact(*c.DroppedRate)+"/s")
		hot = true
	}
	if c.OldestValue > 0 && width >= widthOfAges {
		parts = append(parts, "oldest "+format.CompactSeconds(c.OldestValue))
	}
	return strings.Join(parts, " "), hot
}

// wrapped breaks a text into lines.
func wrapped(text string, width int) []Line {
	var lines []Line
	for line := range strings.Lines(format.Wrap(text, width, 0, indent)) {
		lines = append(lines, Line{{cut(strings.TrimRight(line, "\n"), width), Soft}})
	}
	return lines
}
