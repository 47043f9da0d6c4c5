package watch

import (
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// flowHeight is the height from which the list has the sentence and the path
// through the bottleneck above it.
const flowHeight = 12

// flowRows returns the lines above the list. They depend on the size alone, so
// that the list does not move.
func (m *model) flowRows() int {
	switch {
	case m.flow == nil || m.height < flowHeight:
		return 0
	case m.width < 50:
		return 5
	case m.width < 120:
		return 4
	}
	return 3
}

// drawFlow draws the sentence at y, and the path through the bottleneck in the
// lines that remain.
func (m *model) drawFlow(g *grid, y int) {
	end := y + m.flowRows()
	if end == y {
		return
	}
	sentence := lines(m.flow.Sentence(), g.width)
	if room := max(1, end-y-2); len(sentence) > room { // two for the path, if there is room
		sentence[room-1] += " …"
		sentence = sentence[:room]
	}
	for _, line := range sentence {
		g.put(0, y, g.width, line, strong)
		y++
	}
	for _, line := range m.flow.Draw(g.width, end-y) {
		g.drawLine(y, line)
		y++
	}
}

// lines breaks a text into lines.
func lines(text string, width int) []string {
	return strings.Split(strings.TrimRight(format.Wrap(text, max(1, width), 0, ""), "\n"), "\n")
}

// drawMap returns the whole map.
func (m *model) drawMap(width int) *grid {
	if m.flow == nil {
		b := &body{grid: newGrid(width, maxBody)}
		b.pair("map", "This service has none: its version of package livepage is older, or it did not respond. m shows the list.")
		return b.drawn()
	}
	sentence := lines(m.flow.Sentence(), width)
	paths := m.flow.Draw(width, flowmap.All)
	if len(paths) == 0 {
		paths = []flowmap.Line{{{Text: "No stage has been seen yet: a few thousand values through named channels show them.", Role: flowmap.Soft}}}
	}
	g := newGrid(width, len(sentence)+1+len(paths))
	for i, line := range sentence {
		g.put(0, i, width, line, strong)
	}
	for i, line := range paths {
		g.drawLine(len(sentence)+1+i, line)
	}
	return g
}

// drawLine draws a line of the map.
func (g *grid) drawLine(y int, line flowmap.Line) {
	x := 0
	for _, span := range line {
		x = g.put(x, y, g.width-x, span.Text, styleOf[span.Role])
	}
}

var styleOf = map[flowmap.Role]style{
	flowmap.Soft: soft, flowmap.Stage: strong, flowmap.Channel: plain, flowmap.Full: hot, flowmap.Bottleneck: hot,
}
