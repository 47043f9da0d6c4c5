package report

import (
	"html/template"
	"regexp"
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

// A stacked section has one chart per contender, all on one scale, with a line for each
// part; its tables name the parts.
func TestStackedSection(t *testing.T) {
	r := stacked()
	charts := r.Experiments[0].Sections[0].charts(newPalette(&r.Experiments[0]))
	if len(charts) != 2 {
		t.Fatalf("%d charts, want one for each of two contenders", len(charts))
	}
	ticks := regexp.MustCompile(`text-anchor="end" class="tick">[^<]+`)
	for i, want := range []string{"native, 10 workers", "sluice, 10 workers"} {
		svg := string(charts[i])
		if !strings.Contains(svg, want) || strings.Count(svg, `class="line"`) != 1 || strings.Count(svg, `class="line dashed"`) != 1 {
			t.Errorf("no chart of two lines for %s:\n%s", want, svg)
		}
		if first := string(charts[0]); !slices.Equal(ticks.FindAllString(svg, -1), ticks.FindAllString(first, -1)) {
			t.Errorf("the charts have different scales:\n%s\n%s", first, svg)
		}
	}
	for _, text := range []string{render(t, r.WritePage), render(t, on80(r.WriteText))} {
		for _, want := range []string{"10 workers, in send; ns per value, by capacity", "10 workers, in receive; ns per value, by capacity"} {
			if !strings.Contains(text, want) {
				t.Errorf("no table is called %q in\n%s", want, text)
			}
		}
	}
}

// The legend of charts has what is drawn in them, and nothing else.
func TestKey(t *testing.T) {
	const lines, dots = `<g class="series s3">`, `<g class="n0">`
	for drawn, want := range map[string]string{
		"":    "",
		lines: "soft ● sluice",
		dots:  "n0 ■ built-in channels",
		lines + dots + `class="each" class="beyond"`:                                "soft ■ built-in channels, soft ● sluice, soft · one repetition, soft › one far off the scale",
		`<g class="o0"><line x1="1" class="whisker range"/><path class="whisker"/>`: "o0 ◇ no channel, soft ├┄┤ range of few repetitions",
		`<g class="p1"><line x1="1" class="whisker"/>`:                              "p0 ▲ published remedies, soft ├┤ 95% interval",
	} {
		var got []string
		for _, f := range key(template.HTML(drawn)) {
			got = append(got, f.Class+" "+f.Sign+" "+f.Name)
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("the key of %s is %q, want %q", drawn, text, want)
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
