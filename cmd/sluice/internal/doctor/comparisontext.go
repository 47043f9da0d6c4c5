package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// shownChanges is the number of operations, and of named channels, in the text
// of a comparison; the JSON has all.
const shownChanges = 3

// answer states the change of the cost of the same work, and where it came
// from.
func (c *Comparison) answer() string {
	if c.Change == Unclear {
		side, which := &c.Before, "before"
		if side.cost != nil {
			side, which = &c.After, "after"
		}
		return fmt.Sprintf("The two captures cannot be compared: the one %s has too little CPU time: capture both under load. %s", which, side.Answer)
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
	text += "."
	if c.strangers() {
		text += " No channel operation is in both captures: are they of the same service?"
	}
	return text
}

// strangers reports whether both captures have channel operations, but none in
// common.
func (c *Comparison) strangers() bool {
	a, b := c.Before.cost.operations, c.After.cost.operations
	for key := range a {
		if _, ok := b[key]; ok {
			return false
		}
	}
	return len(a) > 0 && len(b) > 0
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

// WriteText writes the comparison for a terminal.
func (c *Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString(wrap(c.Answer, ""))
	if len(c.Costs) > 0 {
		fmt.Fprintf(&b, "\n%-*s %10s %10s %10s\n", nameWidth, "CPU time per second of own code", "before", "after", "change")
		for _, cost := range append(c.Costs[:len(c.Costs)-1:len(c.Costs)-1], c.Operations[:min(shownChanges, len(c.Operations))]...) {
			if max(cost.Before, cost.After) >= minOperation {
				b.WriteString(cost.row())
			}
		}
		load := c.After.Own / c.Before.Own
		b.WriteString("\n" + wrap(fmt.Sprintf("Own code used %s cores before and %s after (×%s): a different load, or a different throughput. Profiles "+
			"count no items.", format.Number(c.Before.Own), format.Number(c.After.Own), factor(load)), ""))
	}
	for _, channel := range c.Channels[:min(shownChanges, len(c.Channels))] {
		if channel.Before != nil && channel.After != nil {
			b.WriteString(wrap(fmt.Sprintf("Channel %s: %s before, %s after.", channel.Name, format.Rate(*channel.Before), format.Rate(*channel.After)), ""))
		}
	}
	for _, side := range []struct {
		name string
		*Side
	}{{"before", &c.Before}, {"after", &c.After}} {
		b.WriteString("\n" + wrap(fmt.Sprintf("%s: %s", side.name, side.Answer), "  "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// nameWidth is the width of the names in the table.
const nameWidth = 36

func (c *Cost) row() string {
	change := "about same"
	switch {
	case c.Clear && c.Before == 0:
		change = "new"
	case c.Clear:
		change = fmt.Sprintf("%+.0f%%", 100*(c.After/c.Before-1))
	}
	name := format.Cut(printable(c.Name), nameWidth)
	return fmt.Sprintf("%-*s %8s s %8s s %10s\n", nameWidth, name, format.Number(c.Before), format.Number(c.After), change)
}
