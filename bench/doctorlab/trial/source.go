package main

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// A source is the pair of commits behind the fixture of a real program: the
// capture is from the program before the change, and a gain compares the
// program before and after it.
type source struct {
	Repository string `json:"repository"` // owner/name
	Before     string `json:"before"`     // commit
	After      string `json:"after"`      // commit
	Change     string `json:"change"`     // one line
	URL        string `json:"url"`        // the pull request, issue or commit
	Measured   string `json:"measured"`   // what the gain is a factor in
}

// What a gain of a real change is a factor in.
const (
	byThroughput = "items per second"
	byCPU        = "items per CPU second at the same rate"
)

// check reports what is missing in a source.
func (s *source) check() error {
	if s == nil {
		return fmt.Errorf("no source (want the repository and its two commits)")
	}
	owner, name, ok := strings.Cut(s.Repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("invalid repository %q (want owner/name)", s.Repository)
	}
	for _, commit := range []string{s.Before, s.After} {
		if raw, err := hex.DecodeString(commit); err != nil || len(raw) != 20 {
			return fmt.Errorf("invalid commit %q (want 40 hexadecimal digits)", commit)
		}
	}
	if s.Before == s.After {
		return fmt.Errorf("both commits are %s", s.Before)
	}
	if s.Change == "" || strings.Contains(s.Change, "\n") {
		return fmt.Errorf("invalid change %q (want one line)", s.Change)
	}
	if link, err := url.Parse(s.URL); err != nil || link.Scheme != "https" || link.Host == "" {
		return fmt.Errorf("invalid URL %q (want https)", s.URL)
	}
	if s.Measured != byThroughput && s.Measured != byCPU {
		return fmt.Errorf("invalid measure %q (want %q or %q)", s.Measured, byThroughput, byCPU)
	}
	return nil
}

// split reports a repository that has fixtures in both sets: what a rule is
// tuned on must not be scored as unseen.
func split(truths []*Truth) error {
	heldOut := map[string]bool{}
	for _, t := range truths {
		repository := strings.ToLower(t.Source.Repository)
		if before, seen := heldOut[repository]; seen && before != t.Scenario.HeldOut {
			return fmt.Errorf("%s is in both sets (want one)", t.Source.Repository)
		}
		heldOut[repository] = t.Scenario.HeldOut
	}
	return nil
}
