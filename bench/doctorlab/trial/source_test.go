package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// corpusDir has the fixtures of real programs.
var corpusDir = filepath.Join("..", "corpus")

// Each fixture of the corpus has a source and figures that support its right
// answers, and is scored.
func TestCorpus(t *testing.T) {
	dirs, err := fixtures(corpusDir)
	if err != nil {
		t.Fatal(err)
	}
	var truths []*Truth
	for _, dir := range dirs {
		truth, err := readTruth(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := truth.Source.check(); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if err := truth.check(); err != nil {
			t.Error(err)
		}
		for _, f := range []form{fullForm, bareForm} { // captured, not derived
			if !captured(filepath.Join(dir, f.name)) {
				t.Errorf("%s: no %s capture", dir, f.name)
			}
		}
		if err := tooLarge(dir); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if truth.Scenario.Name != filepath.Base(dir) || len(truth.Gains) == 0 || truth.Date == "" || truth.Machine.Go == "" {
			t.Errorf("%s: incomplete truth: %+v", dir, truth)
		}
		truths = append(truths, truth)
	}
	if err := split(truths); err != nil {
		t.Error(err)
	}
	program, err := builtOnce(t.Context(), doctor)
	if err != nil {
		t.Fatal(err)
	}
	all, err := score(t.Context(), io.Discard, program, corpusDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []form{fullForm, bareForm} {
		scored := 0
		for _, s := range all.board(f).sheets {
			scored += len(s.lines)
		}
		if scored != len(truths) {
			t.Errorf("%s: %d of %d fixtures are scored", f.name, scored, len(truths))
		}
	}
}

// found is a complete source.
func found() *source {
	return &source{
		Repository: "someone/relay", Before: strings.Repeat("0a", 20), After: strings.Repeat("1b", 20),
		Change: "batches instead of single records", URL: "https://example.com/pull/1", Measured: byThroughput,
	}
}

func TestSource(t *testing.T) {
	if err := found().check(); err != nil {
		t.Error(err)
	}
	if err := (*source)(nil).check(); err == nil || !strings.Contains(err.Error(), "no source") {
		t.Error(err)
	}
	for says, spoil := range map[string]func(*source){
		`invalid repository "relay"`:         func(s *source) { s.Repository = "relay" },
		`invalid repository "a/b/c"`:         func(s *source) { s.Repository = "a/b/c" },
		`invalid commit "0a0a"`:              func(s *source) { s.Before = "0a0a" },
		`invalid commit "main"`:              func(s *source) { s.After = "main" },
		"both commits are 0a0a":              func(s *source) { s.After = s.Before },
		`invalid change ""`:                  func(s *source) { s.Change = "" },
		`invalid URL "http://example.com/1"`: func(s *source) { s.URL = "http://example.com/1" },
		`invalid measure "speed"`:            func(s *source) { s.Measured = "speed" },
	} {
		s := found()
		spoil(s)
		if err := s.check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestSplit(t *testing.T) {
	of := func(repository string, heldOut bool) *Truth {
		s := found()
		s.Repository = repository
		return &Truth{Scenario: scenario{HeldOut: heldOut}, Source: s}
	}
	if err := split([]*Truth{of("a/a", true), of("a/a", true), of("b/b", false)}); err != nil {
		t.Error(err)
	}
	if err := split([]*Truth{of("a/a", true), of("A/a", false)}); err == nil || !strings.Contains(err.Error(), "is in both sets") {
		t.Error(err)
	}
}
