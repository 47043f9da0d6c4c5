package doctor

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// A Screen is where text is written. Its zero value is a plain file.
type Screen = format.Screen

const screenful = 22 // lines of a terminal, without its prompt and a line of progress

// sheetOn cleans what is written, and returns the sheet for it.
func sheetOn(o Screen, v any) sheet {
	clean(reflect.ValueOf(v))
	o.Width = min(format.WidestWidth, max(format.NarrowestWidth, cmp.Or(o.Width, format.UsualWidth)))
	return sheet{Screen: o}
}

// WriteSummary writes what fits one screen: the answer, the map, what to do, and then
// what the answer is based on, as far as there is room.
func (d *Diagnosis) WriteSummary(w io.Writer, o Screen) error {
	s := sheetOn(o, d)
	s.put(s.cut(s.paragraph(flowmap.Stage, d.Answer, ""), 5))
	fixes := d.fixes(s)
	foot := s.cut(s.paragraph(flowmap.Soft, d.foot(s.Width/2)+" More: -v, or -html FILE.", ""), 2)
	room := screenful - 1 - len(s.lines) - len(foot)
	first := s.cut(fixes[0], max(1, min(6, room-4)))
	room -= 1 + len(first)
	// At most half of what is left is the map, but enough for its path in boxes.
	const boxes, facts = 8, 3
	if drawn := flowmap.New(d.Map).Draw(s.Width, min(room-1, max(boxes, room-1-facts))); len(drawn) > 0 && room > 2 {
		s.put(nil, drawn)
		room -= 1 + len(drawn)
	}
	s.put(nil, first)
	for _, fix := range fixes[1:] {
		if len(fix) <= room {
			s.put(fix)
			room -= len(fix)
		}
	}
	between := [][]flowmap.Line{nil} // an empty line before the first
	for _, fact := range d.facts(s) {
		if room -= len(between) + len(fact); room < 0 {
			break
		}
		s.put(append(between, fact)...)
		between = nil
	}
	s.put(nil, foot)
	return s.write(w)
}

// WriteText writes all of the diagnosis.
func (d *Diagnosis) WriteText(w io.Writer, o Screen) error {
	s := sheetOn(o, d)
	s.put(s.paragraph(flowmap.Stage, d.Answer, ""))
	if drawn := flowmap.New(d.Map).Draw(s.Width, flowmap.All); len(drawn) > 0 {
		s.put(nil, drawn)
	}
	s.put(nil)
	s.put(d.fixes(s)...)
	for i := range d.Remedies {
		for _, text := range d.Remedies[i].Evidence {
			s.put(s.item(string(d.Remedies[i].Name) + ": " + text))
		}
	}
	section(&s, "Evidence", d.Evidence, (*Evidence).sentence)
	section(&s, "Also seen", d.Also, func(f *Finding) string {
		text := f.sentence()
		for _, e := range f.Evidence {
			text += " " + e.sentence()
		}
		return text
	})
	section(&s, "Roles", d.unmapped(false), (*RoleRow).sentence)
	section(&s, "Unknown", d.Unknown, func(g *observe.Gap) string { return format.Join(": ", g.What, g.Reason) })
	s.put(nil, s.paragraph(flowmap.Soft, d.foot(2*format.WidestWidth), ""))
	return s.write(w)
}

// fixes writes what to do: each remedy, or the next step.
func (d *Diagnosis) fixes(s sheet) (all [][]flowmap.Line) {
	if len(d.Remedies) == 0 {
		return [][]flowmap.Line{s.paragraph(flowmap.Channel, strings.TrimSuffix("Next: "+d.Next, "Next: "), "      ")}
	}
	word := "Fix: "
	for i := range d.Remedies {
		all = append(all, s.paragraph(flowmap.Channel, word+d.Remedies[i].sentence(), "     "))
		word = "Or:  "
	}
	return all
}

func (r *Remedy) sentence() string {
	return format.Join(" ", stop(r.Change), r.gives(), condition(r.Condition))
}

// gives writes the gain of a remedy. A remedy that ends a wait forever needs none.
func (r *Remedy) gives() string {
	switch {
	case r.Gain != nil:
		return format.Capital(r.Gain.String()) + "."
	case r.Name == Release:
		return ""
	}
	return "Gain unknown: measure it."
}

// String writes a gain with its range: "throughput ×1.8 to ×2.4, likely ×2".
func (g *Gain) String() string {
	text := fmt.Sprintf("%s ×%s to ×%s", g.Of, times(g.Low), times(g.High))
	if times(g.Low) == times(g.High) {
		text = g.Of + " ×" + times(g.High)
	} else if g.Likely > 0 {
		text += ", likely ×" + times(g.Likely)
	}
	if g.Bound != "" {
		text += ": " + strings.TrimSuffix(g.Bound, ".")
	}
	return text
}

// times writes a factor with two digits, which is as much as a model knows.
func times(f float64) string {
	if f >= 9.95 {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.1f", f)
}

// condition writes the condition of a remedy as a sentence.
func condition(text string) string {
	if strings.HasPrefix(text, "if ") {
		text = "only " + text
	}
	return format.Capital(stop(text))
}

// stop ends a sentence.
func stop(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// facts writes what the answer is based on, and what else was seen.
func (d *Diagnosis) facts(s sheet) (all [][]flowmap.Line) {
	for _, e := range d.Evidence {
		all = append(all, s.item(e.sentence()))
	}
	for i, f := range d.Also { // after the first two
		if strings.Contains(d.Answer, strings.TrimSuffix(f.Text, ".")) {
			continue
		}
		all = slices.Insert(all, min(len(all), i+2), s.item("Also: "+f.sentence()))
	}
	return all
}

func (e *Evidence) sentence() string {
	text := format.Capital(e.Text)
	if e.Source == "" {
		return text
	}
	return strings.TrimSuffix(text, ".") + " (" + e.Source + ")."
}

func (f *Finding) sentence() string {
	return format.Join(" Missing: ", stop(f.Text), stop(f.Missing))
}

// timed reports whether the parts of the role's time are known.
func (r *RoleRow) timed() bool { return r.Running+r.System+r.Outside+r.Waiting > 0 }

// unmapped returns the roles of which the map does not show everything. What a role does is
// left out if the map shows it, except in a table, where an empty cell would puzzle.
func (d *Diagnosis) unmapped(table bool) (rows []RoleRow) {
	stages := map[string]string{}
	if d.Map != nil {
		for _, s := range d.Map.Stages {
			stages[s.ID] = s.Doing
		}
	}
	for _, row := range d.Roles {
		doing, mapped := stages[row.Name]
		if (doing != "" || row.Doing == "") && !row.timed() {
			continue
		}
		if doing != "" && !table {
			row.Doing = ""
		}
		if !mapped {
			row.Name += " ×" + format.Compact(row.Alive)
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *RoleRow) sentence() string {
	var parts []string
	for _, part := range []struct {
		share float64
		name  string
	}{{r.Running, "runs"}, {r.System, "in system calls"}, {r.Outside, "waits outside"}, {r.Waiting, "waits inside"}} {
		if part.share > 0 {
			parts = append(parts, part.name+" "+format.Percent(part.share))
		}
	}
	return r.Name + ": " + format.Join("; ", strings.Join(parts, ", "), r.Doing)
}

// target is the address as people type it.
func (d *Diagnosis) target() string {
	return strings.TrimSuffix(strings.TrimPrefix(d.Target, "http://"), "/debug/pprof")
}

// foot returns how sure the answer is, its sources and its service, in a number of cells.
func (d *Diagnosis) foot(cells int) string {
	sure := ""
	if d.Probability > 0 {
		sure = fmt.Sprintf("Confidence %.0f%%", 100*d.Probability)
	}
	return format.Join(" of ", format.Join(", from ", sure, d.Observed), displaywidth.TruncateString(d.target(), cells, "…")) + "."
}

// WriteJSON writes the diagnosis as JSON.
func (d *Diagnosis) WriteJSON(w io.Writer) error { return writeJSON(w, d) }

func writeJSON(w io.Writer, v any) error {
	clean(reflect.ValueOf(v))
	return format.WriteJSON(w, v)
}

// clean replaces what could steer a terminal in all text below a pointer.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(format.Clean(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			clean(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			clean(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() {
				clean(v.Field(i))
			}
		}
	}
}

// A sheet is text that is being written.
type sheet struct {
	Screen
	lines []flowmap.Line
}

// put appends paragraphs. A nil one is an empty line.
func (s *sheet) put(paragraphs ...[]flowmap.Line) {
	for _, p := range paragraphs {
		if p == nil {
			p = []flowmap.Line{nil}
		}
		s.lines = append(s.lines, p...)
	}
}

// section writes a heading and items, if there are any.
func section[T any](s *sheet, head string, items []T, text func(*T) string) {
	for i := range items {
		if i == 0 {
			s.put(nil, []flowmap.Line{{{Text: head, Role: flowmap.Stage}}})
		}
		s.put(s.item(text(&items[i])))
	}
}

func (s *sheet) item(text string) []flowmap.Line {
	return s.paragraph(flowmap.Channel, "- "+text, "  ")
}

func (s *sheet) paragraph(role flowmap.Role, text, indent string) []flowmap.Line {
	lines := []flowmap.Line{}
	for _, line := range (Screen{Width: s.Width}).Paragraph("", text, indent) {
		if line != "" {
			lines = append(lines, flowmap.Line{{Text: line, Role: role}})
		}
	}
	return lines
}

// cut shortens a paragraph to a number of lines.
func (s *sheet) cut(lines []flowmap.Line, most int) []flowmap.Line {
	if len(lines) <= most {
		return lines
	}
	last := lines[most-1][0]
	last.Text = displaywidth.TruncateString(last.Text, s.Width-2, "") + " …"
	return append(lines[:most-1:most-1], flowmap.Line{last})
}

// codes are the escape codes of what is not plain.
var codes = map[flowmap.Role]string{
	flowmap.Soft: "\x1b[2m", flowmap.Stage: "\x1b[1m", flowmap.Full: "\x1b[31m", flowmap.Bottleneck: "\x1b[1;31m",
}

func (s *sheet) write(w io.Writer) error {
	var lines []string
	for _, line := range s.lines {
		text := ""
		for _, span := range line {
			text += s.In(codes[span.Role], span.Text)
		}
		lines = append(lines, text)
	}
	return format.WriteLines(w, lines)
}
