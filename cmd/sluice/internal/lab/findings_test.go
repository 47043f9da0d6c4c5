package lab

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

const stallOfTest = 20 * time.Second

// quiet observes nothing.
type quiet struct{}

func (quiet) Start(*measure.Point, measure.ContenderID) {}
func (quiet) Done()                                     {}
func (quiet) More(int)                                  {}

// pretend returns an experiment with made-up times: cost returns the time of
// each entry, and no contender runs. The i-th repetition of each entry takes
// 0.1% times i more.
func pretend(e Experiment, s Scale, cost func(contender ContenderID, p *Point) float64) *Measured {
	sections := e.Sections(s)
	var outcomes []measure.Outcome
	for _, section := range sections {
		for _, p := range section.Points {
			outcome := measure.Outcome{Point: &p.Point}
			for _, entry := range p.Entries {
				result := measure.Result{Contender: entry.Contender}
				for i := range p.Count {
					var figures []measure.Figure
					for _, m := range section.Measures {
						value := cost(entry.Contender, p) * (1 + float64(i)/1000)
						figures = append(figures, measure.Figure{Unit: m.Unit, Value: value})
					}
					result.Repetitions = append(result.Repetitions, measure.Repetition{Ops: 1, Figures: figures})
				}
				outcome.Results = append(outcome.Results, result)
			}
			outcomes = append(outcomes, outcome)
		}
	}
	return NewMeasured(sections, outcomes)
}

func contains(t *testing.T, findings []string, want string) {
	t.Helper()
	for _, f := range findings {
		if strings.Contains(f, want) {
			return
		}
	}
	t.Errorf("no finding says %q:\n%s", want, strings.Join(findings, "\n"))
}

func TestDirectSendFindings(t *testing.T) {
	m := pretend(directSendStudy, Scale{CPUs: 8}, func(contender ContenderID, p *Point) float64 {
		if contender == withHandOff && p.X == "0" && p.Procs == 2 {
			return 88
		}
		return 100
	})
	findings := directFindings(m)
	contains(t, findings, "One way, capacity 0: a hand-off saves 12.0% ± 0.0% at GOMAXPROCS 2; it makes no difference beyond noise at 1 and at 8.")
	contains(t, findings, "One way, capacity 1 and 10: a hand-off makes no difference beyond noise.")
	contains(t, findings, "Request and response, capacity 0: sluice instead of the built-in channel saves 12.0%")
}

func TestElasticFindings(t *testing.T) {
	m := pretend(elasticStudy, Scale{CPUs: 4}, func(contender ContenderID, p *Point) float64 {
		switch contender {
		case flushingPump:
			if p.X == "1024" {
				return 150
			}
			return 200
		case shrinkQuarter:
			if p.Panel.Load == swinging {
				return 50
			}
		case ownHalf:
			return 9
		}
		return 100
	})
	findings := elasticFindings(m)
	contains(t, findings, "the published flushing pump takes 2.00 (2.00 to 2.00) times as long at GOMAXPROCS 1, 2.00 (2.00 to 2.00) at 2 and")
	contains(t, findings, "sluice.Elastic takes as long, within noise, at GOMAXPROCS 1, at 2 and")
	contains(t, findings, "saves 50.0% ± 0.0% with the load “swinging around a power of two”; it makes no difference beyond noise with “fill first, then drain” and with “both at once”.")
	contains(t, findings, "fastest with two buffers of 1024 slots (151 ns per value)")
	contains(t, findings, "sluice.Elastic holds 9.0 bytes at the worst moment of filling")
}

// Without figures there are no findings.
func TestFindingsOfNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range All() {
		sections := e.Sections(Scale{})
		var points []*measure.Point
		for _, section := range sections {
			for _, p := range section.Points {
				points = append(points, &p.Point)
			}
		}
		runner := measure.Runner{Observer: quiet{}, Stall: stallOfTest, Grace: stallOfTest}
		conclusion := e.Conclude(NewMeasured(sections, runner.Run(ctx, points)))
		if len(conclusion.Answer)+len(conclusion.Findings)+len(conclusion.Tables) != 0 {
			t.Errorf("%s: conclusions from nothing: %+v", e.Name, conclusion)
		}
	}
}

func TestFindingsOfTooFewRepetitions(t *testing.T) {
	m := pretend(directSendStudy, Scale{CPUs: 8, Count: 2}, func(contender ContenderID, _ *Point) float64 {
		if contender == withHandOff {
			return 90
		}
		return 100
	})
	contains(t, directFindings(m), "changes the time by -10% at GOMAXPROCS 1, -10% at 2 and -10% at 8, with too few repetitions to distinguish from noise.")
}

func TestMultiple(t *testing.T) {
	gain := func(median, lo, hi, confidence float64) stat.Change {
		return stat.Change{Summary: stat.Summary{N: 9, Median: median, Lo: lo, Hi: hi, Confidence: confidence}}
	}
	more, same, few := gain(1, 0.9, 1.2, 0.96), gain(0.1, -0.1, 0.2, 0.96), gain(-0.5, -0.6, -0.4, 0)
	for _, tt := range []struct {
		places []place
		want   string
	}{
		{nil, ""},
		{[]place{{"1", same}, {"2", more}, {"4", few}, {"8", same}},
			"It carries 2.0 (1.90 to 2.2) times as much at GOMAXPROCS 2 and 0.50 (no interval) at 4; as much, within noise, at 1 and at 8."},
		{[]place{{"1", same}, {"2", same}}, "It carries as much, within noise, at GOMAXPROCS 1 and at 2."},
		{[]place{{"1", gain(5, 0.2, 20, 0.96)}, {"2", gain(-0.9, -0.99, -0.2, 0.96)}},
			"It carries at least 1.20 times as much at GOMAXPROCS 1 and at most 0.80 at 2."},
	} {
		if got := carries("It", byProcs, tt.places); got != tt.want {
			t.Errorf("carries says\n%s, want\n%s", got, tt.want)
		}
	}
}

func TestEffect(t *testing.T) {
	change := func(median, lo, hi float64) stat.Change {
		return stat.Change{Summary: stat.Summary{N: 9, Median: median, Lo: lo, Hi: hi, Confidence: 0.96}}
	}
	got := effect("Spinning", byProcs, []place{
		{"1", change(0.30, 0.28, 0.33)},
		{"2", change(-0.12, -0.15, -0.10)},
		{"4", change(-0.20, -0.21, -0.19)},
		{"8", change(0.01, -0.02, 0.03)},
	})
	const want = "Spinning saves 12% ± 3% at GOMAXPROCS 2 and 20% ± 1% at 4; it costs 30% ± 3% more at 1; it makes no difference beyond noise at 8."
	if got != want {
		t.Errorf("effect says\n%s, want\n%s", got, want)
	}
	if got := effect("Nothing", byProcs, nil); got != "" {
		t.Errorf("effect of nothing: %q", got)
	}
}

// In every experiment, a finding marks the places with more Ps than CPUs, and a
// summary prefers a place without.
func TestFindingsMarkWhatIsOversubscribed(t *testing.T) {
	atPlace := regexp.MustCompile(`(?:GOMAXPROCS[ =]|\bat )(\d+)( \(oversubscribed\)|, oversubscribed)?(?:[ ,;:.)]|$)`)
	for _, e := range All() {
		for cpus := range 8 {
			c := e.Conclude(pretend(e, Scale{CPUs: cpus + 1}, func(id ContenderID, p *Point) float64 {
				return 100 + float64((len(NameOf(id))*len(p.X))%7)
			}))
			for _, text := range c.Findings {
				if e.Name == cpuScalingStudy.Name {
					continue // uses no such place; see TestCPUScalingFindings
				}
				for _, place := range atPlace.FindAllStringSubmatch(text, -1) {
					procs, err := strconv.Atoi(place[1])
					if over := place[2] != ""; err != nil || over != (procs > cpus+1) {
						t.Errorf("%s on %d CPUs: %q in: %s", e.Name, cpus+1, place[0], text)
					}
				}
			}
		}
	}
	for cpus, want := range map[int]string{1: "GOMAXPROCS=1", 2: "GOMAXPROCS=2"} {
		c := directConclusion(pretend(directSendStudy, Scale{CPUs: cpus}, func(ContenderID, *Point) float64 { return 100 }))
		if !strings.HasSuffix(c.Conditions, want) {
			t.Errorf("on %d CPUs the answer is from %s", cpus, c.Conditions)
		}
	}
}

// If no buffer size makes a difference, none is called the fastest.
func TestNoFastestBufferOfEquals(t *testing.T) {
	m := pretend(elasticStudy, Scale{CPUs: 4}, func(ContenderID, *Point) float64 { return 100 })
	contains(t, elasticFindings(m), "The size of its two buffers makes no difference beyond noise to the published flushing pump")
}

// Too few repetitions have no interval.
func TestFactorsOfTooFewRepetitions(t *testing.T) {
	cost := func(id ContenderID, _ *Point) float64 { return float64(100 * len(NameOf(id))) }
	contains(t, elasticFindings(pretend(elasticStudy, Scale{CPUs: 4, Count: 2}, cost)), "takes 1.06 (no interval) times as long at GOMAXPROCS 1")
}
