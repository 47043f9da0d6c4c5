package doctor

import (
	"strings"
	"testing"
)

// TestSummaryOfTwo: an answer that names two findings shows the remedy of the one
// that has it, and repeats neither.
func TestSummaryOfTwo(t *testing.T) {
	d := diagnose(hotService...)
	other := Finding{Kind: SystemCallBound, Text: "System calls take most of the CPU time.", Confidence: Medium, Remedies: []Remedy{}}
	hot := d.Findings[0]
	d.Findings = []Finding{other, hot}
	d.Answer = "Channels are only part of the problem. " + other.Text + " Then: " + hot.Text
	var b strings.Builder
	if err := d.WriteSummary(&b); err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(b.String()), " ")
	if !strings.Contains(flat, "fix: batch") || strings.Count(flat, other.Text) != 1 || strings.Count(flat, hot.Text) != 1 {
		t.Error(b.String())
	}
	d.Findings[1].Remedies = nil
	if d.main() != &d.Findings[0] {
		t.Errorf("without a remedy: %+v", d.main())
	}
}
