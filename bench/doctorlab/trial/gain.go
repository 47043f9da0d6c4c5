package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/results"
)

// Each round runs the service as found and with every remedy, one after the other, so
// that other load on the machine affects all of them.
const (
	warmUp     = 500 * time.Millisecond
	rateWindow = time.Second
)

// A Gain is the factor in finished items per second: the median and the extremes, over
// rounds, of the rate with a remedy over the rate as found in the same round.
type Gain struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Rounds int     `json:"rounds"`
}

// A Measured is the rate of a service and the gains of its remedies.
type Measured struct {
	Rate  float64         `json:"items_per_second"` // as found
	Gains map[string]Gain `json:"gains"`
	Date  string          `json:"date"`
	Go    string          `json:"go"`
	CPUs  int             `json:"cpus"`
	Load  string          `json:"load,omitempty"` // of the machine, over one minute, before
}

// Gains is what was measured, by the name of the service: the file of gains.
type Gains struct {
	Services map[string]Measured `json:"services"`
}

func readGains(name string) (*Gains, error) {
	g := &Gains{map[string]Measured{}}
	return g, results.Read(name, g)
}

func (g *Gains) write(name string) error {
	text, err := json.MarshalIndent(g, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// pays is the least gain of a right remedy, and of a service that must not be called fine.
const pays = 1.3

// near is the part of the best gain from which another remedy is as right.
const near = 0.85

// measure measures remedies of a service, keeps the gains, and prints them with what in
// the table is at odds with them.
func (l *lab) measure(ctx context.Context, s *description, remedies []string, rounds int) error {
	if len(remedies) == 0 {
		return nil
	}
	m := Measured{Gains: map[string]Gain{}, Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(), CPUs: runtime.NumCPU()}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	var found []float64
	factors := map[string][]float64{}
	for n := range rounds {
		for _, remedy := range append([]string{""}, remedies...) {
			rate, err := l.rate(ctx, s.Name, remedy)
			if err != nil {
				return fmt.Errorf("with %q: %w", remedy, err)
			}
			if remedy == "" {
				found = append(found, rate)
			}
			factors[remedy] = append(factors[remedy], rate/found[n])
		}
	}
	m.Rate = hundredths(results.Median(found))
	var line strings.Builder
	best := 0.0
	for _, remedy := range remedies {
		f := factors[remedy]
		g := Gain{hundredths(results.Median(f)), hundredths(slices.Min(f)), hundredths(slices.Max(f)), rounds}
		m.Gains[remedy] = g
		best = max(best, g.Median)
		fmt.Fprintf(&line, ", %s x%.2f (%.2f to %.2f)", remedy, g.Median, g.Low, g.High)
	}
	l.gains.Services[s.Name] = m
	fmt.Fprintf(l.stdout, "%s: %.0f/s%s\n", s.Name, m.Rate, line.String())
	for _, remedy := range remedies {
		median, right := m.Gains[remedy].Median, slices.Contains(s.Right, remedy)
		switch {
		case right && median < pays:
			fmt.Fprintf(l.stdout, "  check: %s is called right\n", remedy)
		case !right && median >= max(pays, near*best) && remedy != moreLoad && !slices.Contains(s.Accept, remedy):
			fmt.Fprintf(l.stdout, "  check: %s is not called right\n", remedy)
		}
	}
	return nil
}

// gain returns the measured gain of a remedy of a service.
func (g *Gains) gain(name, remedy string) (Gain, bool) {
	gain, ok := g.Services[name].Gains[remedy]
	return gain, ok
}

// hundredths rounds a figure for the file.
func hundredths(x float64) float64 { return math.Round(100*x) / 100 }
