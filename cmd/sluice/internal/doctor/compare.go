package doctor

import (
	"fmt"
	"io"
	"math"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
	"github.com/sluice-go/sluice/livepage"
)

// A Comparison is two observations of one service, before and after a change, and its own
// JSON form. A null is an unknown value.
//
// A named channel counts its values. Without one that both have, the unit of work is a
// second of the program's own code: it is the same for each value before and after, as
// long as the code is.
type Comparison struct {
	Schema  int      `json:"schema"`
	Outcome Outcome  `json:"outcome"`
	Answer  string   `json:"answer"`
	Before  Side     `json:"before"`
	After   Side     `json:"after"`
	Channel string   `json:"channel"` // whose values are the unit of work; "" if it is a second of own code
	Rate    *float64 `json:"rate"`    // units of work per second, after divided by before
	CPU     *float64 `json:"cpu"`     // CPU time per unit of work, after divided by before
}

// An Outcome is what a change did.
type Outcome string

// The outcomes.
const (
	Better  Outcome = "better" // more work, or less CPU time for the same work
	Worse   Outcome = "worse"
	Same    Outcome = "same"
	Unclear Outcome = "undecided" // the two cannot be compared
)

// A Side is one of the two observations.
type Side struct {
	Diagnosis *Diagnosis `json:"diagnosis"`
	Work      *float64   `json:"work"`  // units per second
	Cores     *float64   `json:"cores"` // in use
}

// usual is how far apart two observations of an unchanged service were at most, from run
// to run. It is also two standard errors of a comparison of two times 200 samples.
const (
	usual  = 1.2
	enough = 200
)

// Compare compares two observations of one service.
func Compare(a, b *observe.Observation) *Comparison {
	c := &Comparison{Schema: Schema, Outcome: Unclear, Before: side(a), After: side(b)}
	if name, before, after := common(a.Flow, b.Flow, c.Before.Diagnosis); name != "" {
		c.Channel, c.Before.Work, c.After.Work = name, &before, &after
	}
	if c.Before.Work == nil || c.After.Work == nil {
		c.Answer = "Undecided: the two have no named channel in common, and too few CPU samples of the program's own code to compare its costs. Observe both under load."
		return c
	}
	c.decide()
	return c
}

// side returns one of the two, with the CPU time of the program's own code as its work, if
// there are enough samples of it.
func side(o *observe.Observation) Side {
	s, work, samples := Side{Diagnosis: Diagnose(o)}, 0.0, int64(0)
	for _, spent := range o.Spent {
		if spent.What == observe.OwnCode {
			work, samples = work+spent.Cores, samples+spent.Samples
		}
	}
	if samples >= enough && work > 0 {
		s.Work = &work
	}
	if o.Cores.Used > 0 {
		s.Cores = &o.Cores.Used
	}
	return s
}

// common returns the rates of a named channel that both have once: the one at the
// bottleneck before, or else the busiest.
func common(a, b *livepage.Flow, before *Diagnosis) (name string, rateA, rateB float64) {
	rates := map[string][2][]float64{}
	for side, f := range []*livepage.Flow{a, b} {
		for i := 0; f != nil && i < len(f.Channels); i++ {
			if c := &f.Channels[i]; c.ReceivedRate != nil && *c.ReceivedRate > 0 {
				both := rates[c.Name]
				both[side] = append(both[side], *c.ReceivedRate)
				rates[c.Name] = both
			}
		}
	}
	for n, r := range rates {
		if len(r[0]) != 1 || len(r[1]) != 1 {
			continue
		}
		if before.Bottleneck != nil && before.Bottleneck.Node == n {
			return n, r[0][0], r[1][0]
		}
		if r[0][0] > rateA || r[0][0] == rateA && n < name {
			name, rateA, rateB = n, r[0][0], r[1][0]
		}
	}
	return name, rateA, rateB
}

// limited reports whether something inside the service limits it, and not its load.
func (s *Side) limited() bool {
	switch s.Diagnosis.Verdict {
	case Load, Idle, Undecided:
		return false
	}
	return true
}

// decide sets what a change did. The load is not an effect of the change.
func (c *Comparison) decide() {
	rate, cpu := *c.After.Work / *c.Before.Work, 1.0
	c.Rate = new(rate)
	if c.Before.Cores != nil && c.After.Cores != nil {
		cpu = *c.After.Cores / *c.Before.Cores / rate
		c.CPU = &cpu
	}
	before, after := c.Before.limited(), c.After.limited()
	free := !before && !after
	if rate < 0.5 && !after || rate > 2 && !before || free && math.Abs(math.Log(rate)) > math.Log(usual) {
		c.Answer = fmt.Sprintf("Undecided: the loads differ too much: %s. Observe both under the same load.", c.work())
		return
	}
	if free {
		rate = 1
	}
	switch {
	case rate > usual, rate > 1/usual && cpu < 1/usual:
		c.Outcome = Better
	case rate < 1/usual, cpu > usual:
		c.Outcome = Worse
	default:
		c.Outcome = Same
	}
	c.Answer = format.Capital(string(c.Outcome)) + ": " + c.moved() + "; " + c.work()
	if c.CPU != nil {
		c.Answer += fmt.Sprintf(", and CPU time for the same work ×%.2f", cpu)
	}
	c.Answer += "." + c.announced(rate)
}

// moved names the bottleneck before and after.
func (c *Comparison) moved() string {
	before, after := c.Before.place(), c.After.place()
	if before == after {
		return "the bottleneck is still " + before
	}
	return "the bottleneck was " + before + " and is now " + after
}

// place names the bottleneck.
func (s *Side) place() string {
	switch b := s.Diagnosis.Bottleneck; {
	case s.Diagnosis.Verdict == Undecided:
		return "unknown"
	case !s.limited():
		return "the load"
	case b != nil:
		return b.Role + b.Node
	}
	return "the " + string(s.Diagnosis.Verdict)
}

// work states how much work each did.
func (c *Comparison) work() string {
	a, b := *c.Before.Work, *c.After.Work
	if c.Channel != "" {
		return fmt.Sprintf("%s passed %s values per second before and %s after (×%.2f)", c.Channel, format.Compact(a), format.Compact(b), b/a)
	}
	return fmt.Sprintf("its own code used %s cores before and %s after (×%.2f)", format.Compact(a), format.Compact(b), b/a)
}

// announced sets the rate beside what the first remedy promised.
func (c *Comparison) announced(rate float64) string {
	if len(c.Before.Diagnosis.Remedies) == 0 || c.Before.Diagnosis.Remedies[0].Gain == nil {
		return ""
	}
	r, gave := &c.Before.Diagnosis.Remedies[0], "it holds"
	if rate < r.Gain.Low {
		gave = "it gave less"
	} else if rate > r.Gain.High {
		gave = "it gave more"
	}
	return fmt.Sprintf(" Announced for %s: %s; %s.", r.Name, r.Gain, gave)
}

// sideBySide is the width from which both maps are beside each other, each with room for boxes.
const sideBySide = 110

// WriteText writes the comparison: the answer, and both maps.
func (c *Comparison) WriteText(w io.Writer, o Screen) error {
	s := sheetOn(o, c)
	s.put(s.cut(s.paragraph(flowmap.Stage, c.Answer, ""), 8), nil)
	const gap = "   "
	part, room := sheet{Screen: s.Screen}, (screenful-len(s.lines)-1)/2
	if s.Width >= sideBySide {
		part.Width, room = (s.Width-len(gap))/2, screenful-len(s.lines)
	}
	draw := func(when string, d *Diagnosis) []flowmap.Line {
		lines := part.cut(part.paragraph(flowmap.Stage, when+" ("+d.target()+"): "+d.Answer, "  "), 4)
		return append(lines, flowmap.New(d.Map).Draw(part.Width, max(3, room-len(lines)))...)
	}
	before, after := draw("Before", c.Before.Diagnosis), draw("After", c.After.Diagnosis)
	if s.Width >= sideBySide {
		s.put(flowmap.Beside(before, after, gap, 0))
	} else {
		s.put(before, nil, after)
	}
	return s.write(w)
}

// WriteJSON writes the comparison as JSON.
func (c *Comparison) WriteJSON(w io.Writer) error { return writeJSON(w, c) }
