package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
)

// stacked is an experiment with a picture and one section, whose two measures are
// parts of a whole.
func stacked() *Report {
	section := lab.Section{Sweep: lab.Sweep{
		Name: "blocked", Title: "Blocked", Text: "Where.", Axis: "capacity", Stacked: true,
		Measures: []lab.Measure{
			{Unit: "a-ns/op", Title: "in send", Axis: "ns per value"},
			{Unit: "b-ns/op", Title: "in receive", Axis: "ns per value"},
		},
	}}
	run := Run{Experiment: lab.Experiment{
		Study: lab.Study{
			Name: "stacked", Title: "What is it made of?", PublishedIn: lab.PerOperation,
			Pictures: []lab.Picture{{
				State:   plot.ChannelState{Title: "Full", Capacity: 4, Queued: 4, Senders: []string{"p1"}},
				Caption: "The sender waits <here>.",
			}},
		},
		Conclude: func(*lab.Measured) lab.Conclusion { return lab.Conclusion{} },
	}}
	for i, x := range []string{"0", "25"} {
		p := &lab.Point{Panel: lab.Panel{Workers: 10}, X: x, Point: measure.Point{
			Setting: measure.Setting{Name: "blocked " + x, Labels: []measure.Label{{Key: "capacity", Value: x}}, Procs: 2, Count: 6},
			Entries: []measure.Entry{{Contender: "native"}, {Contender: "sluice"}},
		}}
		section.Points = append(section.Points, p)
		run.Outcomes = append(run.Outcomes, pretendOutcome(p, section.Measures, 100*(i+1), false))
	}
	run.Sections = []lab.Section{section}
	return New(Machine{CPUs: 2}, time.Time{}, lab.Standard, false, []Run{run})
}

// A stacked section has one chart of bars per contender, all on one scale; its
// tables name the parts.
func TestStackedSection(t *testing.T) {
	r := stacked()
	section := &r.Experiments[0].Sections[0]
	charts := section.stacked(newPalette(&r.Experiments[0]))
	if len(charts) != 2 {
		t.Fatalf("%d charts, want one for each of two contenders", len(charts))
	}
	ticks := func(svg string) []string {
		var all []string
		for part := range strings.SplitSeq(svg, `class="tick">`) {
			all = append(all, part[:min(len(part), 5)])
		}
		return all[1:]
	}
	for i, want := range []string{"native, 10 workers", "sluice, 10 workers"} {
		svg := string(charts[i])
		if !strings.Contains(svg, want) || strings.Count(svg, `class="part0"`) != 3 || strings.Count(svg, `class="part1"`) != 3 {
			t.Errorf("no chart of two bars in two parts, with its key, for %s:\n%s", want, svg)
		}
		if !slices.Equal(ticks(svg), ticks(string(charts[0]))) {
			t.Errorf("the charts have different scales: %v, %v", ticks(string(charts[0])), ticks(svg))
		}
	}
	page := render(t, r.WritePage)
	if n := strings.Count(page, `class="line"`); n != 0 {
		t.Errorf("%d lines are drawn besides", n)
	}
	for _, text := range []string{page, render(t, on80(r.WriteText))} {
		for _, want := range []string{"10 workers, in send; ns per value, by capacity", "10 workers, in receive; ns per value, by capacity"} {
			if !strings.Contains(text, want) {
				t.Errorf("no table is called %q in\n%s", want, text)
			}
		}
	}
}

func TestPictures(t *testing.T) {
	r := stacked()
	page := render(t, r.WritePage)
	for _, want := range []string{"<figcaption>The sender waits &lt;here&gt;.</figcaption>", "Full: 4 of 4 slots filled", `class="slot filled"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if json := render(t, r.WriteJSON); !strings.Contains(json, `"queued": 4`) || !strings.Contains(json, `"stacked": true`) {
		t.Errorf("results.json lacks the picture, or how to draw the section:\n%s", json)
	}
	r.Experiments[0].Pictures = nil
	if strings.Contains(render(t, r.WritePage), `class="pictures"`) {
		t.Error("a figure without a picture")
	}
}
