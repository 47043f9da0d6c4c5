package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// pains is the truth of a scenario whose channel is the bottleneck.
func pains() *Truth {
	return &Truth{
		Scenario: scenario{
			Name: "pains", Channels: true, Sites: []place{{"send", "main.f"}, {"receive", "main.g"}},
			Right: []string{"batch", "shard"},
		},
		Rate:  1000,
		Gains: []Gain{{"batch", 3, 2.5, 3.5, 5}, {"shard", 2, 1.9, 2.1, 5}, {"buffer", 1, 0.9, 1.1, 5}},
	}
}

// healthy is the truth of a healthy scenario.
func healthy() *Truth {
	return &Truth{
		Scenario: scenario{Name: "healthy", Instead: "CPU bound", Right: []string{noChange}},
		Gains:    []Gain{{"buffer", 1.02, 1, 1.1, 5}, {"lower GOMAXPROCS", 0.5, 0.5, 0.5, 5}},
	}
}

// A right answer needs a measured gain.
func TestCheck(t *testing.T) {
	for _, truth := range []*Truth{pains(), healthy()} {
		if err := truth.check(); err != nil {
			t.Error(err)
		}
	}
	for says, spoil := range map[string]func(*Truth){
		"batch is marked right, but gives x1.10":        func(t *Truth) { t.Gains[0].Median = 1.1 },
		"batch is marked right, but was not measured":   func(t *Truth) { t.Gains = t.Gains[1:] },
		"no change is marked right, but batch gives x3": func(t *Truth) { t.Scenario.Right = []string{noChange} },
	} {
		truth := pains()
		spoil(truth)
		if err := truth.check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	leak := pains()
	leak.Scenario.Leak, leak.Gains[0].Median = true, 1
	if err := leak.check(); err != nil {
		t.Errorf("the remedy of a leak need not increase throughput: %v", err)
	}
	both := healthy()
	both.Scenario.Right, both.Gains[1].Median = []string{noChange, "lower GOMAXPROCS"}, 2
	if err := both.check(); err != nil {
		t.Errorf("another right remedy may have a gain: %v", err)
	}
}

func TestTruthIsReadAsWritten(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"b", "a"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := newTruth(pains().Scenario, 7, pains().Gains).write(dir); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := fixtures(root)
	if err != nil || len(dirs) != 2 || filepath.Base(dirs[0]) != "a" {
		t.Fatalf("fixtures %v, %v", dirs, err)
	}
	got, err := readTruth(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Scenario, pains().Scenario) || !reflect.DeepEqual(got.Gains, pains().Gains) || got.Rate != 7 {
		t.Errorf("%+v", got)
	}
	if got.Date == "" || got.Machine.Go == "" || got.Machine.CPUs == 0 {
		t.Errorf("no machine or date: %+v, %q", got.Machine, got.Date)
	}
}

func TestNoTruth(t *testing.T) {
	dir := t.TempDir()
	if _, err := fixtures(dir); err == nil || !strings.Contains(err.Error(), "no folder with a truth.json") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, truthFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readTruth(dir); err == nil || !strings.Contains(err.Error(), "truth.json: unexpected end") {
		t.Error(err)
	}
}
