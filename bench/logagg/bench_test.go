package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bench/results"
)

// TestBench: the whole command, with senders in child processes, puts both
// sections into a document and keeps the rest of it.
func TestBench(t *testing.T) {
	t.Setenv(asCommand, "1") // for the child processes
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := os.WriteFile(path, []byte("# Body\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	quick := []string{"bench", "-lines", "500", "-connections", "4", "-rounds", "1", "-procs", "2", "-o", path}
	var shown strings.Builder
	for _, args := range [][]string{quick, append(slices.Clone(quick), "-shares"), append(slices.Clone(quick), "-outside"), quick} {
		var out, errors strings.Builder
		if status := run(t.Context(), args, streams{strings.NewReader(""), &out, &errors}); status != 0 {
			t.Fatalf("status %d: %s", status, errors.String())
		}
		shown.Reset()
		shown.WriteString(out.String())
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(written), "# Body\n") || results.Get(string(written), figuresSection) != shown.String() {
		t.Errorf("shown:\n%s\nwritten:\n%s", shown.String(), written)
	}
	for _, wrong := range checkSections(string(written)) {
		t.Error(wrong)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errors strings.Builder
	if status := run(ctx, quick, streams{strings.NewReader(""), &out, &errors}); status != 1 || out.Len() > 0 {
		t.Errorf("interrupted: status %d, %s", status, out.String())
	}
}

// TestResults checks that the published figures have the command's format.
func TestResults(t *testing.T) {
	document, err := os.ReadFile("../../bench/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	good := string(document)
	for _, wrong := range checkSections(good) {
		t.Error(wrong)
	}
	for _, planted := range []struct{ from, to string }{
		{"<!-- begin logagg -->", ""},
		{"<!-- end logagg shares -->", ""},
		{"| logagg native |", "| logagg |"},
		{"| logagg durable, batches |", "| logagg durable, a batch |"},
		{"<!-- end logagg outside -->", ""},
		{"| logagg bounded, batches | 2 |", "| logagg bounded, batches | two |"},
		{"- medians of 6 rounds", "- medians of some rounds"},
		{"the best kind of sluice", "a kind of sluice"},
		{" (", " ["},
	} {
		at := strings.Index(good, "<!-- begin logagg -->")
		if spoiled := good[:at] + strings.Replace(good[at:], planted.from, planted.to, 1); len(checkSections(spoiled)) == 0 {
			t.Errorf("%q instead of %q passes", planted.to, planted.from)
		}
	}
}

var (
	figureRow = regexp.MustCompile(`^\| logagg [a-z]+(, batches)? \| \d+ \| native(, batches)? \| \d+\.\d\d \| \d+\.\d\d-\d+\.\d\d \| \d+ \| \d+ \| \d+\.\d \|$`)
	shareRow  = regexp.MustCompile(`^\| [a-z]+(, batches)? \| \d+ \| \d+ \| \d+\.\d\d \|( \d+ \(\d+%\) \|){8}$`)
	facts     = regexp.MustCompile(`(?m)^- machine: .+\n- Go: go.+\n- commit: [0-9a-z ]+\n- date: \d{4}-\d\d-\d\d \d\d:\d\d UTC\n- (medians of|CPU profiles of) \d+ r`)
	verdicts  = regexp.MustCompile(`(?m)^- GOMAXPROCS=\d+: compared with native used the same way, the best kind of sluice .* (reaches|falls short of) the floor of 1\.3; .* which (reaches|falls short of) it\.$`)
)

// checkSections returns what is wrong with this command's sections of
// bench/RESULTS.md.
func checkSections(document string) (wrong []string) {
	for _, section := range []struct {
		name  string
		row   *regexp.Regexp
		least int // rows
	}{{figuresSection, figureRow, 8}, {outsideSection, figureRow, 4}, {sharesSection, shareRow, 4}} {
		text := results.Get(document, section.name)
		if !facts.MatchString(text) {
			wrong = append(wrong, section.name+": machine, version or date is missing: "+text)
		}
		rows, native := 0, false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| row ") || strings.HasPrefix(line, "| variant ") {
				continue
			}
			if !section.row.MatchString(line) {
				wrong = append(wrong, section.name+": no row: "+line)
			}
			rows++
			native = native || strings.Contains(line, "native")
		}
		if rows < section.least || !native {
			wrong = append(wrong, section.name+": rows are missing")
		}
	}
	figures := results.Get(document, figuresSection)
	if procs := slices.Compact(gomaxprocs(figures)); len(verdicts.FindAllString(figures, -1)) != len(procs) || len(procs) == 0 {
		wrong = append(wrong, "a value of GOMAXPROCS has no verdict")
	}
	return wrong
}

// gomaxprocs returns the values of GOMAXPROCS in the rows, in order.
func gomaxprocs(figures string) (all []string) {
	for line := range strings.Lines(figures) {
		if cells := strings.Split(line, " | "); len(cells) > 2 && strings.HasPrefix(line, "| logagg ") {
			all = append(all, cells[1])
		}
	}
	return all
}
