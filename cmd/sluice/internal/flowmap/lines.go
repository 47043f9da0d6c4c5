package flowmap

import (
	"fmt"
	"math"
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
	Full                   // a channel that is nearly full or loses values, and goroutines that are busy all the time
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

func (l Line) width() int { return displaywidth.String(l.String()) }

// NearlyFull is the fill from which a channel is shown as full, and nearlyBusy the share of
// time from which goroutines are shown as busy.
const (
	NearlyFull = 0.8
	nearlyBusy = 0.9
)

// Widths from which a channel in a line has more figures.
const (
	widthOfRates = 80
	widthOfAges  = 120
)

// widest is the most cells of a name.
const widest = 27

const (
	arrowTo = "─▶"
	indent  = "  "
	omitted = -1 // stands in a path for nodes that are not shown
)

// All is a number of lines that every map fits, and boxed the width from which there is
// room for boxes.
const (
	All   = 10 * maxEdges
	boxed = 50
)

// Draw returns the map in at most most lines: the path through the bottleneck, in boxes if
// it is a map of roles and there is room for them, and then other paths. The last line
// counts what is left out. There is no map of one node.
func (m *Map) Draw(width, most int) (lines []Line) {
	paths := m.paths()
	if most < 1 || len(paths) == 0 || len(paths[0])+len(paths) == 2 {
		return nil
	}
	noun := "stage"
	if slices.ContainsFunc(m.nodes, func(n node) bool { return n.stage != nil && n.stage.Goroutines > 0 }) {
		noun = "role"
	}
	var shown []bool
	if noun == "role" && width >= boxed {
		lines, shown = m.inBoxes(paths[0], width, most-1)
	}
	if len(lines) == 0 || len(lines) > most-1 {
		lines, shown = m.around(paths[0], width, most, inLine)
		lines = lines[:min(most, len(lines))]
	}
	for _, other := range paths[1:] {
		if len(lines) >= most-1 {
			break
		}
		with := slices.Clone(shown)
		if more := m.layOut(other, with, width, inLine); len(lines)+len(more) < most {
			lines, shown = append(lines, more...), with
		}
	}
	stages, channels := 0, m.omitted
	for at, n := range m.nodes {
		switch {
		case shown[at]:
		case n.stage != nil:
			stages++
		case !m.isAlone(at):
			channels++
		}
	}
	var more []string
	if stages > 0 {
		more = append(more, format.Plural(stages, "more "+noun))
	}
	if channels > 0 {
		more = append(more, format.Plural(channels, "more channel"))
	}
	last := format.Capital(strings.Join(more, ", "))
	if last != "" && m.unseen != "" {
		last += ". "
	}
	if last += m.unseen; last != "" && len(lines) < most {
		lines = append(lines, Line{{format.Cut(last, width), Soft}})
	}
	return lines
}

// A form is how nodes are written.
type form int

const (
	inLine     form = iota // all of a node in one line
	inBox                  // a stage in a box, with its figures in a second line
	withDoings             // and with what its goroutines do
)

// inBoxes writes a path in boxes: with what goroutines do unless that takes one more band
// of boxes; or in lines, if only those have room for all of it; or in boxes without its ends.
func (m *Map) inBoxes(path []int, width, most int) (lines []Line, shown []bool) {
	const band = 4
	for form := withDoings; form >= inBox || form == inLine && lines == nil; form-- {
		with := make([]bool, len(m.nodes))
		if drawn := m.layOut(path, with, width, form); len(drawn) <= most && (lines == nil || len(drawn) <= len(lines)-band) {
			lines, shown = drawn, with
		}
	}
	if lines == nil {
		return m.around(path, width, most, inBox)
	}
	return lines, shown
}

// around omits from the ends of a path what does not fit most lines: first what is farther
// from the bottleneck.
func (m *Map) around(path []int, width, most int, form form) (lines []Line, shown []bool) {
	from, end, at := 0, len(path), max(0, slices.Index(path, m.worst))
	for {
		part := slices.Clone(path[from:end])
		if from > 0 {
			part = slices.Insert(part, 0, omitted)
		}
		if end < len(path) {
			part = append(part, omitted)
		}
		if end-from <= max(3, most*width/6) { // a node and an arrow have six cells at least
			shown = make([]bool, len(m.nodes))
			if lines = m.layOut(part, shown, width, form); len(lines) <= most || end-from <= 3 {
				return lines, shown
			}
		}
		if at-from > end-1-at {
			from++
		} else {
			end--
		}
	}
}

// layOut writes a path in bands of nodes, and marks the nodes as shown.
func (m *Map) layOut(path []int, shown []bool, width int, form form) []Line {
	var lines, band []Line
	middle := min(1, int(form)) // the row of the arrows
	for i, at := range path {
		arrow, further := " "+arrowTo+" ", indent+indent
		switch {
		case i == 0 && form == inLine && at != omitted && shown[at]:
			arrow = indent
		case i == 0:
			arrow = ""
		case form != inLine && at != omitted && m.nodes[at].stage != nil: // an arrow touches a box
			arrow, further = " "+arrowTo, indent
		case form != inLine:
			arrow, further = arrowTo+" ", indent
		}
		column := m.column(at, shown, width, form)
		if i > 0 && band[middle].width()+displaywidth.String(arrow)+column[middle].width() > width {
			lines, band, arrow = appendUsed(lines, band, width), nil, further+strings.TrimLeft(arrow, " ")
		}
		band = Beside(band, column, arrow, middle)
	}
	return appendUsed(lines, band, width)
}

// Beside puts lines to the right of others, behind an arrow in one of the rows.
func Beside(left, right []Line, arrow string, row int) []Line {
	lines, wide := make([]Line, max(len(left), len(right))), 0
	for _, line := range left {
		wide = max(wide, line.width())
	}
	for i := range lines {
		if i < len(left) {
			lines[i] = slices.Clone(left[i])
		}
		if i < len(right) {
			between := arrow
			if i != row {
				between = strings.Repeat(" ", displaywidth.String(arrow))
			}
			lines[i] = append(append(lines[i], Span{strings.Repeat(" ", wide-lines[i].width()) + between, Soft}), right[i]...)
		}
	}
	return lines
}

// appendUsed appends the rows of a band that have text, without spaces at their ends.
func appendUsed(lines, band []Line, width int) []Line {
	for _, row := range band {
		for i := range row {
			row[i].Text = format.Cut(row[i].Text, width-row[:i].width())
		}
		for len(row) > 0 && strings.TrimSpace(row[len(row)-1].Text) == "" {
			row = row[:len(row)-1]
		}
		if len(row) > 0 {
			row[len(row)-1].Text = strings.TrimRight(row[len(row)-1].Text, " ")
			lines = append(lines, row)
		}
	}
	return lines
}

// column writes a node in lines of the same width: a stage in a box, and what is between
// two in the row of its arrows, with its figures below.
func (m *Map) column(at int, shown []bool, width int, form form) []Line {
	if at == omitted {
		return append(make([]Line, min(1, int(form))), Line{{"…", Soft}})
	}
	cells := min(widest, max(8, width/3))
	n, known := &m.nodes[at], shown[at]
	shown[at] = true
	name, figures, side := Span{n.title(cells), Stage}, Span{"", Channel}, Soft
	text, hot := n.figures(width, form)
	if hot {
		figures.Role = Full
	}
	switch {
	case at == m.worst:
		name.Role, side = Bottleneck, Bottleneck
	case known:
		name.Role = Soft
	case n.channel != nil:
		name.Role = Channel
	}
	if form == inLine {
		if at == m.worst {
			name.Text = "[" + name.Text + "]"
		}
		if known || text == "" {
			return []Line{{name}}
		}
		figures.Text = " " + text
		return []Line{{name, figures}}
	}
	heading := ""
	if at == m.worst {
		heading = "bottleneck"
	}
	if n.channel != nil {
		figures.Text = text
		return even([]Span{{heading, side}, name, figures}, Span{}, 0)
	}
	if at == m.worst && n.stage.HoldsUp >= least {
		text = strings.TrimPrefix(text+", holds up "+few(n.stage.HoldsUp), ", ")
	}
	rows := []Span{name}
	if figures.Text = text; text != "" {
		rows = append(rows, figures)
	}
	if does := n.stage.Doing; form == withDoings && does != "" {
		rows = append(rows, Span{format.Cut(format.Clean(does), max(cells, displaywidth.String(text))), Soft})
	}
	border, edge, corners := "│", "─", []string{"╭", "╮", "╰", "╯"}
	if at == m.worst {
		border, edge, corners, heading = "┃", "━", []string{"┏", "┓", "┗", "┛"}, "━ "+heading+" "
	}
	lines := even(rows, Span{border, side}, displaywidth.String(heading)-1)
	inner := lines[0].width() - 2
	top := Span{corners[0] + heading + strings.Repeat(edge, inner-displaywidth.String(heading)) + corners[1], side}
	return append(append([]Line{{top}}, lines...), Line{{corners[2] + strings.Repeat(edge, inner) + corners[3], side}})
}

// even pads texts to the same width, and puts a border at their sides.
func even(texts []Span, border Span, least int) (lines []Line) {
	for _, t := range texts {
		least = max(least, displaywidth.String(t.Text))
	}
	left, right := border, border
	if border.Text != "" {
		left.Text, right.Text = border.Text+" ", " "+border.Text
	}
	for _, t := range texts {
		t.Text += strings.Repeat(" ", least-displaywidth.String(t.Text))
		lines = append(lines, Line{left, t, right})
	}
	return lines
}

// short shortens the name of a function or a line to what tells it from others: its end, and the
// line of a closure. "main.(*Server).run (server.go:42)" becomes "Server.run:42".
func short(name string, cells int) string {
	if displaywidth.String(name) <= cells {
		return name
	}
	name, place, closure := strings.Cut(name, " (")
	if closure {
		place = " (" + place
		if at, end := strings.Index(place, ".go:"), strings.IndexByte(place, ')'); at >= 0 && at < end {
			place = place[at+len(".go"):end] + place[end+1:]
		}
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	if !strings.Contains(name, ".go:") {
		name = strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(name)
		for displaywidth.String(name+place) > cells {
			_, rest, more := strings.Cut(name, ".")
			if !more {
				break
			}
			name = rest
		}
	}
	runes := []rune(name)
	if displaywidth.String(name+place) <= cells {
		return name + place
	}
	place = format.Cut(place, (cells+1)/2)
	for len(runes) > 0 && displaywidth.String(string(runes)+place) >= cells {
		runes = runes[1:]
	}
	return "…" + string(runes) + place
}

// title is the name with what the node is, a lock or ×4 goroutines, in a number of cells.
func (n *node) title(cells int) string {
	before, behind := "", ""
	if c := n.channel; c != nil && c.Unnamed && c.Kind != "channel" && !strings.Contains(n.name, c.Kind) {
		before = format.Cut(format.Clean(c.Kind), cells/2) + " "
	} else if n.stage != nil && n.stage.Goroutines > 0 {
		behind = " ×" + few(n.stage.Goroutines)
	}
	return before + short(n.name, cells-displaywidth.String(before+behind)) + behind
}

// least is the mean number of goroutines from which it is written.
const least = 0.05

// few writes a mean number of goroutines: "0.3", "1", "45".
func few(n float64) string {
	if n < 9.95 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	}
	return format.Compact(math.Round(n))
}

// barCells is the width of the bar of a channel's fill, which is empty or not.
const barCells = 3

var barOf = map[bool]string{false: "░", true: "█"}

// figures writes the busy share of a stage; or a channel's fill, its waiters, and what fits
// of its rate and the age of its oldest value. Lost values are always written. hot reports
// whether the stage is busy all the time, or the channel nearly full or loses values.
func (n *node) figures(width int, form form) (text string, hot bool) {
	if n.stage != nil && n.stage.Busy == nil {
		return "", false
	} else if n.stage != nil {
		busy := max(0, min(1, *n.stage.Busy))
		return fmt.Sprintf("busy %.0f%%", 100*busy), busy >= nearlyBusy
	}
	c := n.channel
	var parts []string
	switch {
	case c.Fill != nil:
		fill := max(0, min(1, *c.Fill))
		hot = fill >= NearlyFull
		bar := max(1, int(fill*barCells+0.5))
		parts = append(parts, fmt.Sprintf("%s %.0f%%", strings.Repeat(barOf[fill*barCells >= 0.5], bar), 100*fill))
	case c.Len > 0:
		parts = append(parts, format.Compact(float64(c.Len))+" queued")
	}
	if waiting := max(c.SendersMean, c.ReceiversMean); waiting >= least {
		words := " wait"
		if c.Kind == "channel" || !c.Unnamed {
			words = map[bool]string{true: " wait to send", false: " wait to receive"}[c.SendersMean >= c.ReceiversMean]
		}
		parts = append(parts, few(waiting)+words)
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
	if a := Oldest(&c.Age); a != "" && (c.OldestValue != nil || c.OldestSign == "≥") && width >= widthOfAges && form == inLine {
		parts = append(parts, "oldest "+a)
	}
	return strings.Join(parts, " "), hot
}

// Oldest writes what is known of the age of the oldest queued value: "≈72ms". It is "" if nothing
// is queued.
func Oldest(a *livepage.Age) string {
	seconds := a.OldestBound
	if a.OldestValue != nil {
		seconds = *a.OldestValue
	}
	if seconds == 0 {
		return a.OldestSign
	}
	return a.OldestSign + format.CompactSeconds(max(seconds, 1e-6))
}
