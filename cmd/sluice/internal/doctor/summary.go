package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// screenLines is the height of the first screen: with the command, its progress
// and the prompt, it fits a terminal of 24 lines.
const screenLines = 20

// An excerpt is how much of each list is on the first screen.
type excerpt struct {
	remedies, evidence, others int
	channel                    bool // which kind of channel the first remedy needs
}

// excerpts are from the longest to the shortest.
var excerpts = []excerpt{{3, 3, 3, true}, {2, 3, 2, true}, {2, 2, 2, true}, {1, 2, 1, true}, {1, 1, 1, true}, {1, 1, 0, true}, {1, 1, 1, false}, {1, 1, 0, false}, {1, 0, 0, false}}

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
				b.WriteString("  " + wrap(found.Text, "  "))
			}
		}
	}
	b.WriteString("\n" + wrap(d.basis(), "  "))
	b.WriteString(wrap(d.rest(max(0, others-p.others), main != nil && len(main.Remedies) > 0), "  "))
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
	for i, r := range f.Remedies[:min(p.remedies, len(f.Remedies))] {
		word := "or:  "
		if i == 0 {
			word = "fix: "
		}
		b.WriteString(wrap(word+r.sentence(), "     "))
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

// rest names what -v shows in addition, and which machine the gains are from.
func (d *Diagnosis) rest(findings int, gains bool) string {
	var more []string
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
	if gains && d.Prices.OtherMachine {
		text += " Gains are for a reference machine; -prices takes yours."
	}
	return text
}
