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
func pretend(e Experiment, s Scale, cost func(contender ContenderID, p *Point) float64) Measured {
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
	findings := directFindings(pretend(directSendStudy, Scale{CPUs: 8}, func(contender ContenderID, p *Point) float64 {
		if contender == withHandOff && p.X == "0" && p.Procs == 2 {
			return 50
		}
		return 100
	}))
	contains(t, findings, "One way, capacity 0: a hand-off is as fast, within noise, at GOMAXPROCS 1 and 8; 2.00 (2.00 to 2.00) times as fast at GOMAXPROCS 2.")
	contains(t, findings, "One way, capacity 10: a hand-off is as fast, within noise, at GOMAXPROCS 1, 2 and 8.")
	contains(t, findings, "Request and response, capacity 0: sluice instead of the built-in channel is as fast, within noise, at")
}

func TestElasticFindings(t *testing.T) {
	findings := elasticFindings(pretend(elasticStudy, Scale{CPUs: 4}, func(contender ContenderID, p *Point) float64 {
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
			return 25
		}
		return 100
	}))
	contains(t, findings, "The published flushing pump instead of a built-in channel of 1024 slots (both at once) is 2.00 (2.00 to 2.00) times as slow at GOMAXPROCS 1, 2 and 4.")
	contains(t, findings, "shrinking below a quarter instead of a half (both at once) is as fast, within noise, at GOMAXPROCS 2.")
	contains(t, findings, "shrinking below a quarter instead of a half (swinging around a power of two) is 2.00 (2.00 to 2.00) times as fast at GOMAXPROCS 2.")
	contains(t, findings, "Instead of two buffers of 128 slots, the published flushing pump is (both at once) as fast, within noise, with 0 slots and 16 slots; 1.33 (1.33 to 1.34) times as fast with 1024 slots.")
	contains(t, findings, "sluice.Elastic instead of the published channel, both shrinking below a half, holds 0.250 (0.250 to 0.250) times as much worst while filling, when full and after the drain.")
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
		if len(conclusion.Answer)+len(conclusion.Findings)+len(conclusion.Bars) != 0 {
			t.Errorf("%s: conclusions from nothing: %+v", e.Name, conclusion)
		}
	}
}

func TestFindingsOfTooFewRepetitions(t *testing.T) {
	m := pretend(directSendStudy, Scale{CPUs: 8, Count: 2}, func(contender ContenderID, _ *Point) float64 {
		if contender == withHandOff {
			return 80
		}
		return 100
	})
	contains(t, directFindings(m), "a hand-off is between 1.25 and 1.25 times as fast (too few repetitions) at GOMAXPROCS 1, 2 and 8.")
}

// A change is a ratio with its interval, in the direction in which it is at least 1 if it is
// clear. If it is not, a narrow interval is no change, and a wide one is undecided.
func TestSpeed(t *testing.T) {
	for _, tt := range []struct {
		median, lo, hi, confidence float64
		want                       string
	}{
		{-0.5, -0.52, -0.48, 0.96, "2.00 (1.92 to 2.08) times as fast"},
		{1, 0.9, 1.2, 0.96, "2.0 (1.90 to 2.2) times as slow"},
		{0.02, -0.1, 0.1, 0.96, "as fast, within noise,"},
		{0.1, -0.5, 1, 0.96, "between 0.50 and 2.00 times as fast (undecided)"},
		{5, 0.2, 20, 0.96, "at least 1.20 times as slow"},
		{-0.9, -0.99, -0.2, 0.96, "at least 1.25 times as fast"},
		{-0.5, -0.6, -0.4, 0, "between 1.67 and 2.50 times as fast (too few repetitions)"},
	} {
		c := stat.Change{Summary: stat.Summary{N: 9, Median: tt.median, Lo: tt.lo, Hi: tt.hi, Confidence: tt.confidence}}
		if got := speed(c); got != tt.want {
			t.Errorf("%+v is %q, want %q", tt, got, tt.want)
		}
	}
	less := stat.Change{Summary: stat.Summary{N: 9, Median: -0.9, Lo: -0.99, Hi: -0.2, Confidence: 0.96}}
	if got, want := multiple(less, "as much"), "at most 0.80 times as much"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFinding(t *testing.T) {
	places := []place{{"1", "as fast"}, {"2", "slower"}, {"4", "as fast"}}
	if got, want := finding("It is", " at", places), "It is as fast at 1 and 4; slower at 2."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := finding("Nothing is", " at", nil); got != "" {
		t.Errorf("a finding of nothing: %q", got)
	}
}

// In every experiment, a finding marks the places with more Ps than CPUs, and a
// summary prefers a place without.
func TestFindingsMarkWhatIsOversubscribed(t *testing.T) {
	atPlace := regexp.MustCompile(`GOMAXPROCS (\d+)( \(oversubscribed\))?`)
	for _, e := range All() {
		for cpus := range 8 {
			c := e.Conclude(pretend(e, Scale{CPUs: cpus + 1}, func(id ContenderID, p *Point) float64 {
				return 100 + float64((len(id)*len(p.X))%7)
			}))
			for _, text := range append(c.Findings, c.Conditions) {
				for _, place := range atPlace.FindAllStringSubmatch(text, -1) {
					procs, err := strconv.Atoi(place[1])
					if over := place[2] != ""; err != nil || over != (procs > cpus+1) {
						t.Errorf("%s on %d CPUs: %q in: %s", e.Name, cpus+1, place[0], text)
					}
				}
			}
		}
	}
	for cpus, want := range map[int]string{1: "GOMAXPROCS 1", 2: "GOMAXPROCS 2"} {
		c := directConclusion(pretend(directSendStudy, Scale{CPUs: cpus}, func(ContenderID, *Point) float64 { return 100 }))
		if !strings.HasSuffix(c.Conditions, want) {
			t.Errorf("on %d CPUs the answer is from %s", cpus, c.Conditions)
		}
	}
}
