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

// drawFlow draws the sentence in some rows, and the path through the bottleneck in those that
// remain.
func (m *model) drawFlow(rows []*row) {
	if len(rows) == 0 {
		return
	}
	sentence := lines(m.flow.Sentence(), m.width)
	if room := max(1, len(rows)-2); len(sentence) > room { // two for the path, if there is room
		sentence[room-1] += " …"
		sentence = sentence[:room]
	}
	for i, line := range sentence {
		rows[i].write(line, strong)
	}
	rows = rows[len(sentence):]
	for i, line := range m.flow.Draw(m.width, len(rows)) {
		rows[i].append(line...)
	}
}

// lines breaks a text into lines.
func lines(text string, width int) []string {
	return strings.Split(strings.TrimRight(format.Wrap(text, max(1, width), 0, ""), "\n"), "\n")
}

// maxLines limits the lines of one text, which may come from a service.
const maxLines = 4

// few returns the first lines of a text from a service.
func few(text string, width int) []string {
	all := lines(format.Clean(text), width)
	return all[:min(maxLines, len(all))]
}

// drawMap returns the whole map.
func (m *model) drawMap() *canvas {
	c := newCanvas(m.width, 0)
	if m.flow == nil {
		c.pair("map", "This service has none: its version of package livepage is older, or it did not respond. m shows the list.")
		return c
	}
	for _, line := range lines(m.flow.Sentence(), m.width) {
		c.add().write(line, strong)
	}
	c.add()
	paths := m.flow.Draw(m.width, flowmap.All)
	if len(paths) == 0 {
		c.add().write("No stage has been seen yet: a few thousand values through named channels show them.", soft)
	}
	for _, line := range paths {
		c.add().append(line...)
	}
	return c
}
