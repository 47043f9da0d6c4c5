package lab

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
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
	case timeAfter:
		return 900
	case bounded:
		return 40
	}
	return 60
}

// overviewOf draws the overview of all studies.
func overviewOf(s Scale, cost func(ContenderID, *Point) float64) (Overview, []Conclusion) {
	var all []Conclusion
	for _, e := range All() {
		all = append(all, e.Conclude(pretend(e, s, cost)))
	}
	return NewOverview(all), all
}

func TestOverview(t *testing.T) {
	for _, s := range []Scale{{CPUs: 1}, {CPUs: 2}, {CPUs: 64}, {CPUs: 2, Size: Quick}, {CPUs: 4, Procs: []int{3}}} {
		o, conclusions := overviewOf(s, flat)
		if len(o.Bars) < 4 || len(o.Bars) > mostCosts || len(o.Answers) == 0 || len(o.Answers) > mostAnswers {
			t.Errorf("%+v: %d costs, %d answers", s, len(o.Bars), len(o.Answers))
		}
		if want := "300 ns through an unbuffered channel"; !strings.Contains(o.Sentence, want) {
			t.Errorf("%+v: the sentence lacks %q: %s", s, want, o.Sentence)
		}
		if !strings.Contains(o.Answers[0], "time.After") || !strings.Contains(strings.Join(o.Answers, "\n"), "Batches are 6.0 times as fast") {
			t.Errorf("%+v: the largest results do not lead:\n%s", s, strings.Join(o.Answers, "\n"))
		}
		for _, answer := range o.Answers {
			if n := utf8.RuneCountInString(answer); n > mostAnswer {
				t.Errorf("%+v: an answer has %d characters, want at most %d: %s", s, n, mostAnswer, answer)
			}
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

// mostLabel is the width of a label that a terminal has room for, and mostAnswer
// what fits on two of its lines.
const (
	mostLabel  = 26
	mostAnswer = 2 * 76
)

// A claim leads by what is certain of it, and there is one on each topic.
func TestOverviewRanks(t *testing.T) {
	at := func(topic string, times float64) claim { return claim{topic, times, fmt.Sprint(topic, times)} }
	o := NewOverview([]Conclusion{
		{claims: []claim{at("a", 1.5), at("b", 3), at("c", 2)}},
		{claims: []claim{at("a", 5), at("b", 1.1), at("d", 1.2), at("e", 1.3)}, sentence: "few"},
		{},
	})
	if got, want := fmt.Sprint(o.Answers), "[a5 b3 c2 e1.3]"; got != want {
		t.Errorf("answers %s, want %s", got, want)
	}
}

// The study with the most ways leads, unless it has no sentence and another one has.
func TestOverviewLeads(t *testing.T) {
	study := func(sentence string, ways int) Conclusion {
		return Conclusion{sentence: sentence, costs: Chart{Bars: make([]Bar, ways)}}
	}
	for _, tt := range []struct {
		studies []Conclusion
		leads   string
		ways    int
	}{
		{[]Conclusion{study("six", 6), study("eight", 8), study("three", 3)}, "eight", 8},
		{[]Conclusion{study("six", 6), study("", 8), study("three", 3)}, "six", 6},
		{[]Conclusion{study("", 6), study("", 8), study("three", 3)}, "three", 3},
		{[]Conclusion{study("", 6), study("", 8)}, "", 8},
		{nil, "", 0},
	} {
		if o := NewOverview(tt.studies); o.Sentence != tt.leads || len(o.Bars) != tt.ways {
			t.Errorf("%d studies: %q leads with %d ways, want %q with %d", len(tt.studies), o.Sentence, len(o.Bars), tt.leads, tt.ways)
		}
	}
}

// An answer has no figure that the chart calls unknown, and its ratios are those
// of the shown figures.
func TestAnswersAgreeWithCharts(t *testing.T) {
	vague := Bar{Label: lockSlices}
	home, ok := pretend(lockCostStudy, Scale{CPUs: 2}, flat).in(sectionBusy).in(timesIdeal).at("1").home(native1024)
	if !ok {
		t.Fatal("no jobs of 1 µs")
	}
	known := []Bar{{Label: lockBuffered, Figure: stat.Summary{N: 9, Median: 50}, Known: true}}
	claims := jobsClaim(home, Chart{Bars: append(known, vague)}, threshold{})
	if len(claims) != 1 || strings.Contains(claims[0].text, "slices") {
		t.Errorf("the answer has an unknown figure: %v", claims)
	}
	if claims := jobsClaim(home, Chart{Bars: []Bar{{Label: lockBuffered}, vague}}, threshold{}); claims != nil {
		t.Errorf("an answer without any known figure: %v", claims)
	}
	c := Chart{Conditions: "1 sender, GOMAXPROCS=2", Bars: []Bar{
		{Label: "slow", Figure: stat.Summary{N: 9, Median: 64.214}, Known: true}, {Label: "fast", Figure: stat.Summary{N: 9, Median: 8.766}, Known: true}, {Label: "vague"}}}
	slower := stat.Change{Summary: stat.Summary{N: 9, Median: 6.5, Lo: 6.2, Hi: 6.9, Confidence: 0.96}}
	if got, want := c.bufferClaim(slower, "slow", "fast", "8")[0].text, "7.3 times as fast (8.8 ns instead of 64 ns; 1 sender)"; !strings.Contains(got, want) {
		t.Errorf("the answer lacks %q: %s", want, got)
	}
	if got, want := c.speed(slower, "vague", "slow", "it"), "may be faster or slower than it"; !strings.HasPrefix(got, want) {
		t.Errorf("an unknown figure is compared: %s", got)
	}
}
