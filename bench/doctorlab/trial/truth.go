package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// truthFile is the file of the truth in each fixture.
const truthFile = "truth.json"

// A Truth is the right answers for a fixture, the measured gain of each remedy,
// and the machine and date of the measurement.
type Truth struct {
	Scenario scenario `json:"scenario"`
	Rate     float64  `json:"itemsPerSecond"` // as found, median
	Gains    []Gain   `json:"gains"`          // in descending order
	Machine  Machine  `json:"machine"`
	Date     string   `json:"date"`
	// Quota is what was measured on the quota of the form with that name.
	Quota *Measured `json:"quota,omitempty"`
	// Source is set for a real program.
	Source *source `json:"source,omitempty"`

	// limited reports that the service had more work than its quota allowed.
	// Then that limit is a right answer to "what", beside the cause without it.
	limited bool
	// open reports that both answers to "channels?" are right: they are at fault
	// without the quota, and no remedy pays on it.
	open bool
}

// A Measured is a rate, and the gains of remedies.
type Measured struct {
	Cores float64 `json:"cores"`
	Rate  float64 `json:"itemsPerSecond"`
	Gains []Gain  `json:"gains"`
	Date  string  `json:"date"`
}

// gain returns the measured gain of a remedy.
func (t *Truth) gain(remedy string) (Gain, bool) {
	i := slices.IndexFunc(t.Gains, func(g Gain) bool { return g.Remedy == remedy })
	if i < 0 {
		return Gain{}, false
	}
	return t.Gains[i], true
}

// The gains that the right answers require.
const (
	pays   = 1.2  // the least gain of a right remedy
	little = 1.35 // the largest gain of any remedy if none is right
)

// check reports a contradiction between the right answers and the measured
// gains.
func (t *Truth) check() error {
	p := &t.Scenario
	if slices.Contains(p.Right, noChange) {
		for _, g := range t.Gains {
			if g.Median > little && !slices.Contains(p.Right, g.Remedy) {
				return fmt.Errorf("%s: no change is marked right, but %s gives x%.2f", p.Name, g.Remedy, g.Median)
			}
		}
		return nil
	}
	for _, right := range p.Right {
		g, ok := t.gain(right)
		switch {
		case !ok:
			return fmt.Errorf("%s: %s is marked right, but was not measured", p.Name, right)
		case g.Median < pays && !p.Leak: // a leak costs throughput only later
			return fmt.Errorf("%s: %s is marked right, but gives x%.2f", p.Name, right, g.Median)
		}
	}
	return nil
}

// noChange is the remedy if the channels should remain as they are.
const noChange = "no change"

// newTruth returns a truth measured here and now.
func newTruth(p scenario, rate float64, gains []Gain) *Truth {
	return &Truth{Scenario: p, Rate: rate, Gains: gains, Machine: thisMachine(), Date: time.Now().UTC().Format(time.DateOnly)}
}

func (t *Truth) write(dir string) error {
	text, err := json.MarshalIndent(t, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, truthFile), append(text, '\n'), 0o644)
}

func readTruth(dir string) (*Truth, error) {
	text, err := os.ReadFile(filepath.Join(dir, truthFile))
	if err != nil {
		return nil, err
	}
	t := new(Truth)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, truthFile), err)
	}
	return t, nil
}

// fixtures returns the folders below root with a truth, in order.
func fixtures(root string) ([]string, error) {
	truths, err := filepath.Glob(filepath.Join(root, "*", truthFile))
	if err != nil {
		return nil, err
	}
	if len(truths) == 0 {
		return nil, fmt.Errorf("%s: no folder with a %s", root, truthFile)
	}
	for i, t := range truths {
		truths[i] = filepath.Dir(t)
	}
	return truths, nil
}
