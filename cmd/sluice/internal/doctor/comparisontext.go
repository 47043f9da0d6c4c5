package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// shownChanges is the number of operations, and of named channels, in the text
// of a comparison; the JSON has all.
const shownChanges = 3

// shownUnclear is the number of operations without a clear change in the text.
const shownUnclear = 2

// answer states the change of the cost of the same work, and where it came
// from.
func (c *Comparison) answer() string {
	if c.Change == Unclear {
		side, which := &c.Before, "before"
		if side.cost != nil {
			side, which = &c.After, "after"
		}
		return fmt.Sprintf("The two captures cannot be compared: the one %s has too little CPU time (%s). %s.", which, side.sparse, side.repeat)
	}
	all := c.Costs[0]
	text := "The same work takes about as much CPU time as before"
	switch c.Change {
	case Cheaper:
		text = fmt.Sprintf("The same work takes %s less CPU time than before", format.Percent(1-all.After/all.Before))
	case Dearer:
		text = fmt.Sprintf("The same work takes ×%s the CPU time of before", factor(all.After/all.Before))
	}
	if moved := c.moved(); moved != "" {
		text += ": " + moved
	}
	if load := c.load(); load > 1+sameWork {
		text += fmt.Sprintf("; its own code runs ×%s as much, which is a higher throughput, or a higher load", factor(load))
	}
	text += "."
	if c.strangers() {
		text += " No channel operation is in both captures: are they of the same service?"
	}
	return text
}

// load returns how many times as much the program's own code ran after as before.
func (c *Comparison) load() float64 { return c.After.Own / c.Before.Own }

// strangers reports whether both captures have channel operations, but none in
// common.
func (c *Comparison) strangers() bool {
	a, b := c.Before.cost.operations, c.After.cost.operations
	for key := range a {
		if _, ok := b[key]; ok {
			return false
		}
	}
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(c.Operations, Cost.hasMoved)
}

// moved names the parts whose cost changed clearly.
func (c *Comparison) moved() string {
	var less, more []string
	for _, cost := range c.Costs[1 : len(c.Costs)-1] {
		switch {
		case max(cost.Before, cost.After) < minOperation:
		case cost.change() == Cheaper:
			less = append(less, cost.Name)
		case cost.change() == Dearer:
			more = append(more, cost.Name)
		}
	}
	var parts []string
	if len(less) > 0 {
		parts = append(parts, "less in "+format.And(less))
	}
	if len(more) > 0 {
		parts = append(parts, "more in "+format.And(more))
	}
	return strings.Join(parts, ", ")
}

// WriteText writes the comparison for a terminal, with as many operations as fit
// one screen.
func (c *Comparison) WriteText(w io.Writer) error {
	text := ""
	for shown := shownChanges; shown >= 0; shown-- {
		if text = c.text(shown); strings.Count(text, "\n") <= screenLines {
			break
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

func (c *Comparison) text(shown int) string {
	var b strings.Builder
	b.WriteString(wrap(c.Answer, ""))
	if len(c.Costs) > 0 {
		fmt.Fprintf(&b, "\n%-*s %10s %10s %10s\n", nameWidth, "CPU time for the same work", "before", "after", "change")
		for _, cost := range append(c.Costs[:len(c.Costs)-1:len(c.Costs)-1], c.Operations[:min(shown, len(c.Operations))]...) {
			if max(cost.Before, cost.After) >= minOperation {
				b.WriteString(cost.row())
			}
		}
		b.WriteString(c.unclear(max(0, len(c.Operations)-shown)))
		b.WriteString("\n" + wrap(fmt.Sprintf("The same work is one second of the program's own code. Own code used %s cores before and %s after (×%s): a different load, or a different throughput. Profiles "+
			"count no items: its own counters show whether it takes more.", format.Number(c.Before.Own), format.Number(c.After.Own), factor(c.load())), ""))
	}
	if before, after := c.Before.Shares.Wakeups, c.After.Shares.Wakeups; before != nil && after != nil {
		b.WriteString(wrap(fmt.Sprintf("Goroutines were woken %s times per second before, and %s after.", format.Count(*before), format.Count(*after)), ""))
	}
	for _, channel := range c.Channels[:min(shownChanges, len(c.Channels))] {
		if channel.Before != nil && channel.After != nil {
			b.WriteString(wrap(fmt.Sprintf("Channel %s: %s before, %s after.", channel.Name, format.Rate(*channel.Before), format.Rate(*channel.After)), ""))
		}
	}
	b.WriteString("\n" + wrap("before: "+c.Before.sentence(), "  "))
	b.WriteString(wrap("after: "+c.After.sentence(), "  "))
	return b.String()
}

// verdicts are the verdicts in words.
var verdicts = map[Verdict]string{
	Yes: "channels are the problem", Partly: "channels are part of the problem", No: "channels are not the problem",
	Idle: "too little load to tell", Undetermined: "unclear whether channels are the problem",
}

// sentence gives the verdict and the findings of one capture, whose name has the
// rest: 'sluice doctor NAME'.
func (s *Side) sentence() string {
	text := verdicts[s.Verdict]
	if len(s.Kinds) > 0 {
		var kinds []string
		for _, kind := range s.Kinds {
			kinds = append(kinds, string(kind))
		}
		text += " (" + strings.Join(kinds, ", ") + ")"
	}
	return text + "."
}

// unclear lists the operations without a clear change in a sentence, and counts
// the others that are not shown.
func (c *Comparison) unclear(hidden int) string {
	text := ""
	if hidden > 0 {
		text = format.Plural(hidden, "more operation") + " changed or moved (see -json). "
	}
	var names []string
	for _, one := range c.Unclear[:min(shownUnclear, len(c.Unclear))] {
		names = append(names, one.Name)
	}
	if more := len(c.Unclear) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	switch {
	case len(names) == 0:
	case len(c.Operations) == 0 && c.Costs[1].Clear: // channels changed, and each operation has a part of that
		text += "Too few samples to tell the change of each operation: " + format.And(names) + "."
	default:
		text += "No clear change: " + format.And(names) + "."
	}
	if text == "" {
		return ""
	}
	return wrap(strings.TrimSpace(text), "  ")
}

// nameWidth is the width of the names in the table.
const nameWidth = 36

func (c *Cost) row() string {
	change := "about same"
	switch {
	case c.Clear && c.Before == 0:
		change = "new"
	case c.Clear && c.After == 0:
		change = "gone"
	case c.Clear:
		change = fmt.Sprintf("%+.0f%%", 100*(c.After/c.Before-1))
	}
	name := format.Cut(printable(c.Name), nameWidth)
	row := fmt.Sprintf("%-*s %8s s %8s s %10s\n", nameWidth, name, format.Number(c.Before), format.Number(c.After), change)
	if c.Note != "" && c.Note != noLonger && c.Note != notBefore { // the change says those
		row += "  " + wrap(c.Note, "    ")
	}
	return row
}
