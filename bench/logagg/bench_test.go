package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestBench: the whole command, with senders in child processes, puts both
// sections into a document and keeps the rest of it.
func TestBench(t *testing.T) {
	t.Setenv(asCommand, "1") // for the child processes
	path := filepath.Join(t.TempDir(), "README.md")
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
	if !strings.HasPrefix(string(written), "# Body\n") || sectionOf(string(written), figuresSection) != shown.String() {
		t.Errorf("shown:\n%s\nwritten:\n%s", shown.String(), written)
	}
	for _, wrong := range checkSections(string(written)) {
		t.Error(wrong)
	}
	for _, planted := range []struct{ from, to string }{
		{"<!-- begin logagg -->", ""},
		{"<!-- end logagg shares -->", ""},
		{"| native |", "| Native |"},
		{"<!-- end logagg outside -->", ""},
		{"| bounded, batches | ", "| bounded, batches | about "},
		{"- medians of ", "- averages of "},
		{" (", " ["},
	} {
		if len(checkSections(strings.Replace(string(written), planted.from, planted.to, 1))) == 0 {
			t.Errorf("%q instead of %q passes", planted.to, planted.from)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errors strings.Builder
	if status := run(ctx, quick, streams{strings.NewReader(""), &out, &errors}); status != 1 || out.Len() > 0 {
		t.Errorf("interrupted: status %d, %s", status, out.String())
	}
}

var (
	figureRow = regexp.MustCompile(`^\| [a-z]+(, batches)? \|( \d+\.\d\d \| \d+ \| \d+ \| \d+\.\d \|)+$`)
	shareRow  = regexp.MustCompile(`^\| [a-z]+(, batches)? \| \d+ \| \d+ \| \d+\.\d\d \|( \d+ \(\d+%\) \|){8}$`)
	facts     = regexp.MustCompile(`(?m)^- machine: .+\n- Go: go.+\n- commit: [0-9a-z ]+\n- date: \d{4}-\d\d-\d\d \d\d:\d\d UTC\n- (medians of|CPU profiles of) \d+ r`)
)

// sectionOf returns the text of a section, or "".
func sectionOf(document, name string) string {
	_, rest, _ := strings.Cut(document, "<!-- begin "+name+" -->\n")
	text, _, ended := strings.Cut(rest, "<!-- end "+name+" -->\n")
	if !ended {
		return ""
	}
	return strings.TrimSpace(text) + "\n"
}

// checkSections returns what is wrong with this command's sections of
// bench/logagg/README.md.
func checkSections(document string) (wrong []string) {
	for _, section := range []struct {
		name string
		row  *regexp.Regexp
	}{{figuresSection, figureRow}, {outsideSection, figureRow}, {sharesSection, shareRow}} {
		text := sectionOf(document, section.name)
		if !facts.MatchString(text) {
			wrong = append(wrong, section.name+": machine, version or date is missing: "+text)
		}
		native := false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| | ") || strings.HasPrefix(line, "| variant ") {
				continue
			}
			if !section.row.MatchString(line) {
				wrong = append(wrong, section.name+": no row: "+line)
			}
			native = native || strings.Contains(line, "native")
		}
		if !native {
			wrong = append(wrong, section.name+": rows are missing")
		}
	}
	return wrong
}
