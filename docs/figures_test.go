package docs

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// loose is a figure whose source is unknown.
var loose = regexp.MustCompile(`\d(?:[0-9.,]*) ?(?:ns|µs|ms|times|%|×)`)

// TestFigures: the prose of the guides, which are the documents of this folder, has no
// figures. They are in bench/RESULTS.md, which its command writes, and in decisions.
func TestFigures(t *testing.T) {
	top := os.DirFS(checkout)
	guides, err := fs.Glob(top, "docs/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, name := range guides {
		for _, found := range looseFigures(text(t, top, name)) {
			t.Errorf("%s: figure %q in prose: link to bench/RESULTS.md instead", name, found)
		}
	}
}

func TestPlantedFigures(t *testing.T) {
	for planted, want := range map[string]int{
		"It is 3.5 times as fast.\n": 1, "It costs 30 ns,\nor 30%.\n": 2,
		"It costs nothing.\n": 0, "| of a table | 30 ns |\n": 0, "```\n30 ns\n```\n": 0,
	} {
		if found := looseFigures(planted); len(found) != want {
			t.Errorf("%q: %q, want %d", planted, found, want)
		}
	}
}

// looseFigures returns the figures in the prose of a guide: beside its tables and code.
func looseFigures(guide string) (found []string) {
	fenced := false
	for line := range strings.Lines(guide) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !fenced && !strings.HasPrefix(line, "|") {
			found = append(found, loose.FindAllString(line, -1)...)
		}
	}
	return found
}
