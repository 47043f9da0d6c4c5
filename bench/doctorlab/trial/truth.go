package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// truthFile is in the folder of each fixture, beside what the doctor saved.
const truthFile = "truth.json"

// A Truth is the right answers about a fixture, what each remedy really gave, and
// where that was so.
type Truth struct {
	Scenario scenario `json:"scenario"`
	Rate     float64  `json:"itemsPerSecond"` // as found, median
	Gains    []Gain   `json:"gains"`          // the largest first
	Machine  Machine  `json:"machine"`
	Date     string   `json:"date"`
}

// gain is what was measured for a remedy.
func (t *Truth) gain(remedy string) (Gain, bool) {
	i := slices.IndexFunc(t.Gains, func(g Gain) bool { return g.Remedy == remedy })
	if i < 0 {
		return Gain{}, false
	}
	return t.Gains[i], true
}

// What the measured gains must say for the right answers to be right.
const (
	pays   = 1.2  // a right remedy gives at least that much
	little = 1.35 // where nothing is right, no remedy gives more than that
)

// check compares the right answers with what was measured. A truth that the
// figures contradict is none.
func (t *Truth) check() error {
	p := &t.Scenario
	if slices.Contains(p.Right, nothing) {
		for _, g := range t.Gains {
			if g.Median > little && !slices.Contains(p.Right, g.Remedy) {
				return fmt.Errorf("%s: nothing is said to be right, and %s gives x%.2f", p.Name, g.Remedy, g.Median)
			}
		}
		return nil
	}
	for _, right := range p.Right {
		g, ok := t.gain(right)
		switch {
		case !ok:
			return fmt.Errorf("%s: %s is said to be right, and was not measured", p.Name, right)
		case g.Median < pays && !p.Leak: // a leak is slow at killing
			return fmt.Errorf("%s: %s is said to be right, and gives x%.2f", p.Name, right, g.Median)
		}
	}
	return nil
}

// nothing is the remedy of who should leave the channels as they are.
const nothing = "no change"

// newTruth dates what was measured here and now.
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

// fixtures returns the folders below root that hold a truth, in order.
func fixtures(root string) ([]string, error) {
	truths, err := filepath.Glob(filepath.Join(root, "*", truthFile))
	if err != nil {
		return nil, err
	}
	if len(truths) == 0 {
		return nil, fmt.Errorf("%s: no folder in it has a %s", root, truthFile)
	}
	for i, t := range truths {
		truths[i] = filepath.Dir(t)
	}
	return truths, nil
}
