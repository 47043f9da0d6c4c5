package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// textWidth is the width of the output: a terminal of 80 columns.
const textWidth = 80

// shownOperations is the number of operations in the text; the JSON has all.
const shownOperations = 8

// WriteJSON writes the diagnosis as JSON.
func (d *Diagnosis) WriteJSON(w io.Writer) error { return writeJSON(w, d) }

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// WriteText writes the whole diagnosis for a terminal, the answer first.
func (d *Diagnosis) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString(wrap(d.Answer, ""))
	if path := d.path(true); path != "" {
		b.WriteString("\nThe map: functions, and the named channels between them\n" + path)
	}
	for i := range d.Findings {
		heading := d.Findings[i].Text
		if strings.Contains(d.Answer, heading) { // the answer already has this sentence
			heading = string(d.Findings[i].Kind)
		}
		fmt.Fprintf(&b, "\n%s", wrap(fmt.Sprintf("%d. %s", i+1, heading), "   "))
		d.Findings[i].text(&b)
	}
	if slices.ContainsFunc(d.Operations, func(o Operation) bool { return !o.quiet() }) {
		b.WriteString("\nChannel operations by cost\n")
	}
	for i := range d.Operations {
		if d.Operations[i].quiet() {
			continue
		}
		if i >= shownOperations {
			fmt.Fprintf(&b, "  … and %d more (see -json)\n", len(d.Operations)-i)
			break
		}
		o := &d.Operations[i]
		b.WriteString("  " + wrap(o.label(), "    "))
		b.WriteString("    " + wrap(strings.Join(o.figures(d.Shares.ChannelCPU != nil), ", "), "    "))
	}
	d.partnersText(&b)
	if len(d.Unknown) > 0 {
		b.WriteString("\nUnknown\n")
	}
	for _, u := range d.Unknown {
		b.WriteString(wrap("- "+u.What, "  "))
		if u.Command != "" {
			b.WriteString("    " + printable(u.Command) + "\n")
		}
	}
	for i, taken := range d.Taken {
		if i == 0 {
			b.WriteString("\nAdditional profiles\n")
		}
		b.WriteString(wrap("- "+taken, "  "))
	}
	b.WriteString("\n" + wrap(d.head(), "  "))
	b.WriteString(wrap(d.Prices.sentence(), "  "))
	_, err := io.WriteString(w, b.String())
	return err
}

// head describes the capture.
func (d *Diagnosis) head() string {
	parts := []string{d.Target}
	if d.GoVersion != "" {
		parts = append(parts, d.GoVersion)
	}
	if d.Window > 0 {
		parts = append(parts, "observed for "+format.Seconds(d.Window))
	}
	switch {
	case d.GOMAXPROCS > 0 && d.CPUs > 0:
		parts = append(parts, fmt.Sprintf("GOMAXPROCS %d on %d CPUs", d.GOMAXPROCS, d.CPUs))
	case d.GOMAXPROCS > 0:
		parts = append(parts, fmt.Sprintf("GOMAXPROCS %d", d.GOMAXPROCS))
	}
	if c := d.Shares.Cores; c != nil {
		parts = append(parts, format.Number(*c)+" cores in use")
	}
	if c := d.Shares.ChannelCPU; c != nil {
		parts = append(parts, "channels "+format.Percent(*c)+" of CPU time")
	}
	if c := d.Shares.ChannelCores; c != nil {
		parts = append(parts, format.Percent(*c)+" of available cores")
	}
	return strings.Join(parts, ", ") + "."
}

// sentence names the machine that the prices come from.
func (p Prices) sentence() string {
	text := "Gains are predicted from prices measured by " + p.Source + "."
	if p.OtherMachine {
		text = "Gains are predicted from prices of " + p.Source + ", not of the service's machine: run sluice lab there, and pass its folder to -prices."
		if p.beside != "" {
			text += " If it ran on the service's machine: -prices " + p.beside + "."
		}
	}
	return text
}

func (f *Finding) text(b *strings.Builder) {
	for i, r := range f.Remedies {
		word := "  or:  "
		if i == 0 {
			word = "  fix: "
		}
		b.WriteString("   " + wrap(word+r.sentence(), "        "))
	}
	if f.Next != "" {
		b.WriteString("   " + wrap("  next: "+f.Next+".", "         "))
	}
	if f.Channel != "" {
		b.WriteString("   " + wrap("  which channel: "+f.Channel+".", "        "))
	}
	for _, n := range merged(f.RuledOut) {
		b.WriteString("   " + wrap(fmt.Sprintf("  not %s: %s", n.Name, n.Why), "        "))
	}
	for i, e := range f.Evidence {
		if i == 0 {
			fmt.Fprintf(b, "     because (confidence in the diagnosis: %s)\n", f.Confidence)
		}
		b.WriteString("     " + wrap("- "+e.sentence(), "       "))
	}
}

// merged joins remedies that are ruled out for the same reason.
func merged(not []RuledOut) []RuledOut {
	var all []RuledOut
	for _, n := range not {
		if last := len(all) - 1; last >= 0 && all[last].Why == n.Why {
			all[last].Name += ", " + n.Name
			continue
		}
		all = append(all, n)
	}
	return all
}

// quiet reports whether the only known fact is a goroutine in the operation, as
// in every program.
func (o *Operation) quiet() bool {
	n, _ := o.count()
	return o.Weight == 0 && n <= 1 && value(o.Waited) == 0
}

// label names the operation and its caller.
func (o *Operation) label() string {
	if o.Caller != "" && o.Caller != o.User {
		return o.String() + ", called by " + o.Caller
	}
	return o.String()
}

// figures lists the known figures. shares reports whether shares are
// meaningful.
func (o *Operation) figures(shares bool) []string {
	var list []string
	add := func(p *float64, layout string) {
		if p != nil && *p > 0 {
			list = append(list, fmt.Sprintf(layout, format.Seconds(*p)))
		}
	}
	if shares && o.Weight > 0 {
		list = append(list, format.Percent(o.Weight)+" of channel cost")
	}
	add(o.CPU, "CPU %s")
	add(o.Lock, "in the lock %s")
	add(o.AfterPark, "scheduler %s")
	add(o.Asleep, "threads blocked on the lock %s")
	switch {
	case o.both():
		list = append(list, fmt.Sprintf("%s in it, %d waiting", format.Plural(*o.In, "goroutine"), *o.Waiting))
	case o.Waiting != nil:
		list = append(list, fmt.Sprintf("%s waiting", format.Plural(*o.Waiting, "goroutine")))
	case o.In != nil:
		list = append(list, format.Plural(*o.In, "goroutine")+" in it")
	}
	list = append(list, o.waits()...)
	if len(list) == 0 {
		return []string{"no measurements"}
	}
	return list
}

// both reports whether In and Waiting come from the same snapshot, where In
// includes the waiting goroutines.
func (o *Operation) both() bool { return o.In != nil && o.Waiting != nil && *o.In >= *o.Waiting }

// waits lists the figures of a trace or a block profile, with the window that
// they cover.
func (o *Operation) waits() (list []string) {
	if o.Waited != nil && *o.Waited > 0 {
		within := " in " + format.Seconds(value(o.WaitWindow))
		if value(o.WaitWindow) == 0 {
			within = " since the process started"
		}
		list = append(list, "waited "+format.Seconds(*o.Waited)+" in total"+within)
	}
	if o.Items != nil {
		list = append(list, "at least "+format.Count(*o.Items)+" values/s")
	}
	return list
}

func (d *Diagnosis) partnersText(b *strings.Builder) {
	for i, p := range d.Partners {
		if i == 0 {
			b.WriteString("\nSenders and receivers\n")
		}
		if i >= shownOperations {
			fmt.Fprintf(b, "  … and %d more (see -json)\n", len(d.Partners)-i)
			return
		}
		b.WriteString("  " + wrap(p.sentence(), "    "))
	}
}

func (p *Partners) sentence() string {
	text := fmt.Sprintf("%s → %s", p.Sender, p.Receiver)
	switch p.Sure {
	case Unseen:
		return fmt.Sprintf("%s → receiver unknown: %s; -trace would show it", p.Sender, p.Why)
	case Seen:
		text += ": wake each other in the trace"
		if p.PerSec != nil {
			text += ", " + format.Count(*p.PerSec) + " times per second"
		}
	case OnMap:
		text += ": by the map"
	case Likely:
		text += ": likely, the only candidate"
	}
	return text
}

// wrap breaks text into lines that fit behind the indent. The first line is
// assumed to start at the same column.
func wrap(text, indent string) string {
	return format.Wrap(printable(text), textWidth, utf8.RuneCountInString(indent), indent)
}

// printable replaces control characters, which could steer a terminal or start
// a line: names come from untrusted files.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
