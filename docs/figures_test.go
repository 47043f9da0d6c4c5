package docs

import (
	"fmt"
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

// TestReadmeFigures: the figures of the README are those of the speed board.
func TestReadmeFigures(t *testing.T) {
	top := os.DirFS(checkout)
	readme := strings.Join(strings.Fields(text(t, top, "README.md")), " ")
	_, board, _ := strings.Cut(text(t, top, "bench/RESULTS.md"), "## Queues with 128 slots, GOMAXPROCS=2")
	for name, sentence := range map[string]string{
		"sluice.Bounded":        "takes %s ns through a `Bounded`",
		"chan, select ctx.Done": "and %s ns through a `chan` with a `select`",
		"chan":                  "a `chan` without a context, %s ns",
	} {
		_, row, _ := strings.Cut(board, "\n| "+name+" | parks |")
		cells := strings.SplitN(row, "|", 3) // 1→1, 8→1, and the others
		if want := fmt.Sprintf(sentence, strings.Trim(cells[min(1, len(cells)-1)], " *")); !strings.Contains(readme, want) {
			t.Errorf("the board says, and the README does not: %s", want)
		}
	}
}

func TestPlantedFigures(t *testing.T) {
	for planted, want := range map[string]int{
		"It is 3.5 times as fast.\n": 1, "It costs 30 ns,\nor 30%.\n": 2,
		"It costs nothing.\n": 0, "| of a table | 30 ns |\n": 0, "```\n30 ns\n```\n": 0,
		"![30 ns](x.svg)\n": 0,
	} {
		if found := looseFigures(planted); len(found) != want {
			t.Errorf("%q: %q, want %d", planted, found, want)
		}
	}
}

// looseFigures returns the figures in the prose of a guide: beside its tables, its code, and what
// is in the place of a picture.
func looseFigures(guide string) (found []string) {
	fenced := false
	for line := range strings.Lines(guide) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !fenced && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "![") {
			found = append(found, loose.FindAllString(line, -1)...)
		}
	}
	return found
}
