package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// screenLines is the height of the first screen: with the command, its progress
// and the prompt, it fits a terminal of 32 lines.
const screenLines = 28

// An excerpt is how much of each list is on the first screen. Remedies beyond it
// have a line each.
type excerpt struct {
	remedies, evidence, others int
	channel                    bool // which kind of channel the first remedy needs
	steps                      bool // what to do about the others
}

// excerpts are from the longest to the shortest.
var excerpts = []excerpt{
	{3, 3, 3, true, true}, {2, 3, 2, true, true}, {2, 2, 2, true, true}, {1, 2, 2, true, true}, {1, 1, 2, true, true}, {1, 1, 2, true, false},
	{1, 1, 1, true, true}, {1, 1, 1, true, false}, {1, 1, 0, true, false}, {1, 0, 0, true, false}, {1, 0, 0, false, false},
}

// WriteSummary writes what fits on one screen of a terminal, the answer first:
// the most important finding, with its remedies and evidence. WriteText has the
// rest.
func (d *Diagnosis) WriteSummary(w io.Writer) error {
	text := ""
	for _, p := range excerpts {
		if text = d.summary(p); strings.Count(text, "\n") <= screenLines {
			break
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

func (d *Diagnosis) summary(p excerpt) string {
	var b strings.Builder
	b.WriteString(wrap(d.Answer, ""))
	if path := d.path(false); path != "" {
		b.WriteString("\n" + path)
	}
	main := d.main()
	if main != nil {
		b.WriteString("\n")
		main.summary(&b, p, d.Answer)
	}
	others := 0
	for i := range d.Findings {
		// The answer has the sentence of the map.
		if found := &d.Findings[i]; found != main && found.Kind != Mapped && !strings.Contains(d.Answer, found.Text) {
			if others++; others == 1 && p.others > 0 {
				b.WriteString("\nAlso found\n")
			}
			if others <= p.others {
				text := found.Text
				if p.steps {
					text += found.step()
				}
				b.WriteString("  " + wrap(text, "  "))
			}
		}
	}
	b.WriteString("\n" + wrap(d.basis(), "  "))
	b.WriteString(wrap(d.rest(main, p, max(0, others-p.others)), "  "))
	return b.String()
}

// basis describes the capture in a line.
func (d *Diagnosis) basis() string {
	parts := []string{d.Target}
	if d.Window > 0 {
		parts = append(parts, format.Seconds(d.Window))
	}
	if c := d.Shares.Cores; c != nil {
		cores := format.Number(*c)
		if d.GOMAXPROCS > 0 {
			cores += fmt.Sprintf(" of %d", d.GOMAXPROCS)
		}
		parts = append(parts, cores+" cores in use")
	}
	if c := d.Shares.ChannelCPU; c != nil {
		parts = append(parts, "channels "+format.Percent(*c)+" of CPU time")
	}
	return strings.Join(parts, ", ") + "."
}

// main returns the finding that the answer is about, or nil: of several, the first
// one with a remedy.
func (d *Diagnosis) main() *Finding {
	var first *Finding
	for i := range d.Findings {
		found := &d.Findings[i]
		if !strings.Contains(d.Answer, found.Text) {
			continue
		}
		if len(found.Remedies) > 0 {
			return found
		}
		if first == nil {
			first = found
		}
	}
	if first != nil {
		return first
	}
	if len(d.Findings) > 0 {
		return &d.Findings[0]
	}
	return nil
}

// summary writes the remedies and the evidence of the main finding.
func (f *Finding) summary(b *strings.Builder, p excerpt, answer string) {
	if !strings.Contains(answer, f.Text) {
		b.WriteString(wrap(f.Text, ""))
	}
	for i, r := range f.Remedies {
		word, text := "or:  ", r.sentence()
		if i == 0 {
			word = "fix: "
		}
		if i >= p.remedies {
			text = r.short()
		}
		b.WriteString(wrap(word+text, "     "))
	}
	if f.Next != "" {
		b.WriteString(wrap("next: "+f.Next+".", "      "))
	}
	if p.channel && f.Channel != "" {
		b.WriteString(wrap("which channel: "+f.Channel+".", "     "))
	}
	for i, e := range f.Evidence[:min(p.evidence, len(f.Evidence))] {
		if i == 0 {
			fmt.Fprintf(b, "because (confidence in the diagnosis: %s)\n", f.Confidence)
		}
		b.WriteString("  " + wrap("- "+e.sentence(), "    "))
	}
}

// step says in a sentence what to do about a finding that is not the main one; or it
// returns "".
func (f *Finding) step() string {
	if best := f.Best(); best != nil {
		return " Fix: " + best.short()
	}
	if f.Next != "" {
		return " Next: " + f.Next + "."
	}
	return ""
}

// inFull counts the remedies of which an excerpt has only the names.
func inFull(n int) string {
	if n == 1 {
		return "1 more remedy in full"
	}
	return fmt.Sprintf("%d more remedies in full", n)
}

// rest names what -v shows in addition to an excerpt, and which machine the gains
// are from.
func (d *Diagnosis) rest(main *Finding, p excerpt, findings int) string {
	var more []string
	if main != nil && len(main.Remedies) > p.remedies {
		more = append(more, inFull(len(main.Remedies)-p.remedies))
	}
	if findings > 0 {
		more = append(more, format.Plural(findings, "more finding"))
	}
	more = append(more, "all evidence")
	if len(d.Operations) > 0 {
		more = append(more, "operations by cost")
	}
	if n := len(d.Unknown); n > 0 {
		more = append(more, "how to measure "+format.Plural(n, "unknown fact"))
	}
	text := "With -v: " + format.And(more) + "."
	if main != nil && len(main.Remedies) > 0 && d.Prices.OtherMachine {
		text += " Gains are for a reference machine; " + d.Prices.yours()
	}
	return text
}
