package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// String returns "×2.1 (1.5 to 2.6)".
func (r Range) String() string {
	if !r.known() {
		return "by an unknown factor"
	}
	if r.Low == r.High {
		return "×" + factor(r.Mid)
	}
	return fmt.Sprintf("×%s (%s to %s)", factor(r.Mid), factor(r.Low), factor(r.High))
}

// factor writes a predicted factor: one decimal place is more than its accuracy.
func factor(v float64) string {
	if v >= 9.95 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// sentence describes a remedy: its name, its gain, and how.
func (r Remedy) sentence() string {
	if !r.Gain.known() {
		return fmt.Sprintf("%s, no figure: %s.", r.Name, r.How)
	}
	return fmt.Sprintf("%s, throughput %s: %s.", r.Name, r.Gain, r.How)
}

// short names a remedy and its gain.
func (r Remedy) short() string {
	if !r.Gain.known() {
		return string(r.Name) + ", no figure."
	}
	return fmt.Sprintf("%s, throughput %s.", r.Name, r.Gain)
}

// sentence describes what was seen, and where.
func (e Evidence) sentence() string { return fmt.Sprintf("%s [%s]", e.Text, e.Source()) }

// Source names the part of the capture that the evidence is from.
func (e Evidence) Source() string {
	switch e.From {
	case profile.KindCPU:
		return "CPU profile"
	case profile.KindMetrics, profile.KindTrace, profile.KindFlow:
		return string(e.From)
	case profile.KindGlimpse:
		return "short trace"
	case profile.KindGoroutineText:
		return "goroutine dump"
	case profile.KindLeak:
		return "goroutine leak profile"
	}
	return string(e.From) + " profile"
}
