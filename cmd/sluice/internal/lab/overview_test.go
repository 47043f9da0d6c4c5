package lab

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// flat is a made-up machine on which batches, buffers and the channels of this
// library have the given costs, in any study.
func flat(id ContenderID, p *Point) float64 {
	if strings.HasPrefix(p.Name, string(sectionBusy)) {
		return 1.5 // times the ideal
	}
	switch id {
	case batchSender, elasticBatches, ownSlices:
		return 10
	case nativeUnbuffered, withSlots(native, 0):
		return 300
	case bounded:
		return 40
	}
	return 60
}

// Every study has an answer, with a chart of a few bars, whatever the machine and the size.
// The overview has the costs of the study with the most ways.
func TestOverview(t *testing.T) {
	for _, s := range []Scale{{CPUs: 1}, {CPUs: 2}, {CPUs: 64}, {CPUs: 2, Size: Quick}, {CPUs: 4, Procs: []int{3}}} {
		var conclusions []Conclusion
		for _, e := range All() {
			conclusions = append(conclusions, e.Conclude(pretend(e, s, flat)))
		}
		o := NewOverview(conclusions)
		if want := "One value costs 300 ns through an unbuffered channel"; !strings.HasPrefix(o.Sentence, want) || len(o.Bars) < 4 {
			t.Errorf("%+v: %d costs, and %q, want %q", s, len(o.Bars), o.Sentence, want)
		}
		for i, c := range conclusions {
			if c.Answer == "" || c.Advice == "" || c.Unit == "" || c.Conditions == "" || len(c.Bars) < 2 || len(c.Bars) > mostBars {
				t.Errorf("%+v: %s: answer %q, advice %q, %d bars in %q (%s)", s, All()[i].Name, c.Answer, c.Advice, len(c.Bars), c.Unit, c.Conditions)
			}
			for _, bar := range c.Bars {
				if utf8.RuneCountInString(bar.Label) > mostLabel {
					t.Errorf("%s: the label %q has more than %d characters", All()[i].Name, bar.Label, mostLabel)
				}
			}
		}
	}
}

// mostBars is what a first screen has room for, and mostLabel a terminal.
const (
	mostBars  = 8
	mostLabel = 26
)

// The study with the most ways leads, unless it has no sentence and another one has.
func TestOverviewLeads(t *testing.T) {
	study := func(answer, words string, ways int) Conclusion {
		bars := make([]Bar, ways)
		for i := range bars {
			bars[i].Figure.N, bars[i].words = 1, words
		}
		return Conclusion{Answer: answer, Chart: Chart{Unit: PerValue.Axis, Bars: bars}}
	}
	for _, tt := range []struct {
		studies []Conclusion
		leads   string
		ways    int
	}{
		{[]Conclusion{study("a", "six", 6), study("b", "eight", 8), study("c", "three", 3)}, "eight", 8},
		{[]Conclusion{study("a", "six", 6), study("b", "", 8)}, "six", 6},
		{[]Conclusion{study("a", "", 6), study("b", "three", 3)}, "three", 3},
		{[]Conclusion{study("a", "", 6), study("b", "", 8)}, "", 6},
		{[]Conclusion{{}, study("b", "", 8)}, "", 8},
		{nil, "", 0},
	} {
		if o := NewOverview(tt.studies); !strings.Contains(o.Sentence, tt.leads) || tt.leads == "" && o.Sentence != "" || len(o.Bars) != tt.ways {
			t.Errorf("%d studies: %q leads with %d ways, want %q with %d", len(tt.studies), o.Sentence, len(o.Bars), tt.leads, tt.ways)
		}
	}
}
