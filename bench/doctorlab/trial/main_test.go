package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trial runs the program.
func trial(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(ctx, builtOnce, args, &out, &err)
	return status, out.String(), err.String()
}

func TestWrongCommandLines(t *testing.T) {
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const one = "want exactly one of -score, -live, -measure and -capture"
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, one},
		{[]string{"-score", "a", "-live", "b"}, one},
		{[]string{"-score", "a", "b"}, `unexpected argument "b"`},
		{[]string{"-capture", "ledger"}, "-capture requires -o"},
		{[]string{"-live", "ledger", "-rounds", "0"}, "invalid -rounds 0 (want 1 to 100)"},
		{[]string{"-score", empty}, "no folder with a truth.json"},
		{[]string{"-capture", "ledger", "-o", file}, "file"},
		{[]string{"-measure", "nonesuch"}, `unknown scenario "nonesuch"`},
		{[]string{"-capture", "ledger", "-o", "out", "-forms", "bare,other"}, `unknown form "other" (want some of full,bare,quota,repeats)`},
		{[]string{"-score", "a", "-forms", "bare"}, "-forms requires -capture"},
		{[]string{"-cure", "ledger"}, "flag provided but not defined"},
	} {
		status, stdout, stderr := trial(t.Context(), c.args...)
		if status != statusUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d, stdout %q, stderr %q, want 2 and %q", c.args, status, stdout, stderr, c.want)
		}
	}
}

// A scenario is built without paths if it is captured, and only then: that takes long.
func TestBuilds(t *testing.T) {
	for _, c := range []struct {
		command options
		want    string
	}{
		{options{capture: "ledger", out: t.TempDir(), forms: allForms}, doctor + " " + scenarioProgram + withoutPaths},
		{options{live: "ledger"}, doctor + " " + scenarioProgram},
		{options{measure: "ledger"}, scenarioProgram},
		{options{score: "testdata"}, doctor},
	} {
		var builds []string
		stop := errors.New("the last one")
		err := c.command.run(t.Context(), func(_ context.Context, pkg string, flags ...string) (string, error) {
			builds = append(builds, pkg+strings.Join(flags, " "))
			if strings.Join(builds, " ") == c.want {
				return "", stop
			}
			return "program", nil
		}, io.Discard)
		if got := strings.Join(builds, " "); !errors.Is(err, stop) || got != c.want {
			t.Errorf("%+v builds %q, %v, want %q", c.command, got, err, c.want)
		}
	}
}

func TestChoose(t *testing.T) {
	all := []scenario{{Name: "a"}, {Name: "b"}, {Name: "c", HeldOut: true}}
	for list, want := range map[string]string{
		"b": "b", "b,a": "b a", "all": "a b c", "tuning": "a b", "held-out": "c", "held-out,a": "c a",
	} {
		chosen, err := choose(all, list)
		var names []string
		for _, p := range chosen {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", list, got, err, want)
		}
	}
	if _, err := choose(all, "a,d"); err == nil || !strings.Contains(err.Error(), `unknown scenario "d"`) {
		t.Error(err)
	}
}
