package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/livepage"
)

// The map of a service shows its named channels and the functions at both ends.
// It is measured by the channels themselves, independently of all profiles, but
// knows only channels that have a name: it confirms findings and adds one, and
// never removes any.

// Mapped is a finding from the map alone.
const Mapped Kind = "bottleneck on the map"

// slow is the kind of bottleneck of the map that is a slow stage.
const slow = "slow-stage"

// bottleneck returns the bottleneck of the map, or nil.
func (f *facts) bottleneck() *livepage.Bottleneck {
	if f.capture.Flow == nil {
		return nil
	}
	return f.capture.Flow.Bottleneck
}

// mapped adds what the map shows to findings.
func (f *facts) mapped(findings []Finding) []Finding {
	b := f.bottleneck()
	if b == nil {
		return findings
	}
	text := format.Clean(b.Text)
	explained := false
	for i := range findings {
		found := &findings[i]
		if found.Minor {
			continue
		}
		explained = explained || found.channel == b.Channel
		stage := found.Kind == SlowStage || found.Kind == Downstream
		if stage && b.Kind == slow {
			explained = true
			found.addEvidence(profile.KindFlow, text)
			if found.Confidence == Medium { // two independent measurements agree
				found.Confidence = High
			}
		}
	}
	f.nameChannels(findings)
	if explained || b.Kind != slow { // of others, the answer has the sentence
		return findings
	}
	if f.fillsCores(b) {
		return findings
	}
	return append(findings, f.slowOnMap(b, text))
}

// fillsCores reports whether the slowest stage has a goroutine for each core and
// does most of the service's work: it is where the work is, and healthy.
func (f *facts) fillsCores(b *livepage.Bottleneck) bool {
	for _, stage := range f.capture.Flow.Stages {
		if stage.ID == b.Stage {
			c := f.crewOf(stage)
			return f.avail > 0 && float64(c.n) >= f.avail && c.waits == nil && c.spent && c.cores >= mostly*f.cores
		}
	}
	return false
}

// slowOnMap is the finding of the map alone.
func (f *facts) slowOnMap(b *livepage.Bottleneck, text string) Finding {
	found := Finding{Kind: Mapped, Confidence: Medium, Remedies: []Remedy{}, RuledOut: []RuledOut{}, channel: b.Channel}
	found.Text = "Slow stage on the map: " + strings.TrimSuffix(text, ".") + ". More goroutines in it or less work there would help; a longer queue would not."
	for _, stage := range f.capture.Flow.Stages {
		if stage.ID == b.Stage && stage.ID != "" {
			found.At = f.placeOf(stage, profile.Receive)
			found.addEvidence(profile.KindFlow, "the stage is "+profile.Frame{Function: format.Clean(stage.Function), File: found.At.File, Line: found.At.Line}.String())
		}
	}
	found.addEvidence(profile.KindFlow, f.neighbors(b.Stage))
	for i := range f.queues {
		if q := &f.queues[i]; q.ID == b.Channel && q.moves() && len(q.to) > 0 {
			found.Text = fmt.Sprintf("Slow stage: %s: %s.", strings.TrimSuffix(text, "."), f.receiversAre(q))
			c := f.crewOf(q.to[0])
			n := max(1, c.n)
			switch {
			case c.waits != nil && c.waits.Op != profile.Lock:
				found.Kind = Downstream
			case c.spent && c.waits == nil && c.cores >= mostly*float64(n):
				found.Kind = SlowStage
			}
			f.moreFor(&found, q, float64(n+1)/float64(n))
		}
	}
	found.keepSafe(f)
	return found
}

// nameChannels adds the names of the channels at the place of a finding.
func (f *facts) nameChannels(findings []Finding) {
	flow := f.capture.Flow
	for i := range findings {
		at := findings[i].At
		if at == nil {
			continue
		}
		for _, stage := range flow.Stages {
			if stage.Function == at.Function || stage.File == at.File && stage.Line == at.Line {
				text := f.neighbors(stage.ID)
				if !slices.ContainsFunc(findings[i].Evidence, func(e Evidence) bool { return e.Text == text }) {
					findings[i].addEvidence(profile.KindFlow, text)
				}
				break
			}
		}
	}
}

// neighbors describes the channels of a stage: "parse receives from lines (full,
// 3 senders wait) and sends into events (empty)".
func (f *facts) neighbors(id string) string {
	flow := f.capture.Flow
	at := slices.IndexFunc(flow.Stages, func(s livepage.Stage) bool { return s.ID == id })
	if at < 0 {
		return "the service's named channels and their rates"
	}
	sides := map[string][]string{}
	for _, edge := range flow.Edges {
		if edge.Stage != id {
			continue
		}
		for i := range flow.Channels {
			if c := &flow.Channels[i]; c.ID == edge.Channel {
				sides[edge.Side] = append(sides[edge.Side], channelState(c))
			}
		}
	}
	var parts []string
	if from := sides["receive"]; len(from) > 0 {
		parts = append(parts, "receives from "+format.And(from))
	}
	if to := sides["send"]; len(to) > 0 {
		parts = append(parts, "sends into "+format.And(to))
	}
	return format.Clean(flow.Stages[at].Name) + " " + format.And(parts)
}

// channelState returns the name of a channel and how full it is.
func channelState(c *livepage.FlowChannel) string {
	var state []string
	if c.Fill != nil {
		state = append(state, fmt.Sprintf("%.0f%% full", 100**c.Fill))
	}
	if c.Senders > 0 {
		state = append(state, format.Plural(c.Senders, "sender")+" waiting")
	}
	if c.Receivers > 0 {
		state = append(state, format.Plural(c.Receivers, "receiver")+" waiting")
	}
	if c.DroppedRate != nil && *c.DroppedRate > 0 {
		state = append(state, "drops "+format.Compact(*c.DroppedRate)+"/s")
	}
	name := format.Clean(c.Name)
	if len(state) == 0 {
		return name
	}
	return name + " (" + strings.Join(state, ", ") + ")"
}

// mappedAnswer returns the sentence of the map that the answer ends with, or "".
func (f *facts) mappedAnswer(answer string, findings []Finding) string {
	if f.capture.Flow == nil {
		return ""
	}
	if b := f.bottleneck(); b != nil && slices.ContainsFunc(findings, func(found Finding) bool {
		return found.channel == b.Channel && strings.Contains(answer, found.Text)
	}) {
		return "" // the answer has more
	}
	sentence := flowmap.New(f.capture.Flow).Sentence()
	if sentence == "" || strings.Contains(answer, strings.TrimSuffix(sentence, ".")) {
		return ""
	}
	return " The map: " + sentence
}

// pathLines limits the lines of the path on the first screen.
const pathLines = 3

// path returns the path through the bottleneck as text, or "" without a map.
func (d *Diagnosis) path(all bool) string {
	if d.Flow == nil {
		return ""
	}
	m := flowmap.New(d.Flow)
	lines := m.Main(textWidth-2, pathLines)
	if all {
		lines = m.Lines(textWidth - 2)
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("  " + printable(line.String()) + "\n")
	}
	return b.String()
}
