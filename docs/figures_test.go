package docs

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "update the figures of the guides from bench/RESULTS.md")

// TestFigures: the figures of the guides, which are the documents of this folder, match
// bench/RESULTS.md.
func TestFigures(t *testing.T) {
	top := os.DirFS(checkout)
	measured, err := readResults(text(t, top, "bench/RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	guides, err := fs.Glob(top, "docs/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	tables := 0
	for _, name := range guides {
		written := text(t, top, name)
		want, n, wrong := measured.quote(written)
		tables += n
		for _, w := range wrong {
			t.Errorf("%s: %s", name, w)
		}
		switch {
		case want == written || len(wrong) > 0:
		case *update:
			if err := os.WriteFile(path.Join(checkout, name), []byte(want), 0o666); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s: figures differ from bench/RESULTS.md; update them with go test ./docs -update\n%s", name, firstDifference(written, want))
		}
	}
	if tables == 0 {
		t.Error("no guide contains a table of figures")
	}
}

// TestPlantedFigures breaks each rule for figures once.
func TestPlantedFigures(t *testing.T) {
	measured, err := readResults("- machine: M1\n- Go: go9\n- commit: c0ffee\n- date: today\n" +
		"\n## GOMAXPROCS=2\n\n| row | reference | ratio | range | ours ns |\n|---|---|--:|---|--:|\n" +
		"| A 1->1 | native | 2.00 | 1.10-2.20 | 7.5 |\n| B 1->1 | native | 1.10 | 1.00-1.20 | 7.5 |\n" +
		"\n## Peers\n\n| P | row | reference | peer |\n|--:|---|--:|--:|\n| 2 | A 1->1 | 15.0 | 9.1 (1.65) |\n| 2 | B 1->1 | 15.0 | 9.1 (1.65) |\n")
	if err != nil {
		t.Fatal(err)
	}
	good := "# T\n\nText.\n\nM1; go9; commit c0ffee; today; from [all figures](../bench/RESULTS.md):\n\n" +
		"| take | row | P | reference | ratio | ours ns | peer |\n|---|---|--:|---|--:|--:|--:|\n" +
		"| that | A 1->1 | 2 | native | 2.00 | 7.5 | 9.1 (1.65) |\n| more | - | - | - | - | - | - |\n\n| a | b |\n|---|---|\n| c | 4 |\n"
	if want, n, wrong := measured.quote(good); want != good || n != 1 || len(wrong) > 0 {
		t.Fatalf("the correct guide: %d tables, %q\n%s", n, wrong, want)
	}
	for _, stale := range []struct{ from, to string }{
		{"| 2.00 |", "| 2.01 |"},
		{"| 7.5 |", "| |"},
		{"9.1 (1.65)", "9.1"},
		{"| native |", "| other |"},
		{"commit c0ffee", "commit decaf"},
		{"; go9;", "; go8;"},
	} {
		if got, _, wrong := measured.quote(strings.Replace(good, stale.from, stale.to, 1)); got != good || len(wrong) > 0 {
			t.Errorf("%q instead of %q: got %q, and the update\n%s", stale.to, stale.from, wrong, got)
		}
	}
	for _, planted := range []struct{ from, to, want string }{
		{"A 1->1", "C 1->1", "no row"},
		{"A 1->1", "B 1->1", "does not support the advice \"that\""},
		{"| that |", "| built-in `chan` |", "does not support the advice \"built-in"},
		{"| 2 | native", "| 4 | native", "no row"},
		{"| ratio |", "| ratios |", "no column ratios"},
		{"from [all", "of [all", "does not name its source"},
		{"Text.", "It is 3.5 times as fast.", "3.5 times"},
		{"Text.", "It costs 30 ns.", "30 ns"},
		{"Text.", "It saves 30%.", "30%"},
		{"| that | A", "| A", "cells"},
	} {
		_, _, wrong := measured.quote(strings.Replace(good, planted.from, planted.to, 1))
		if len(wrong) != 1 || !strings.Contains(wrong[0], planted.want) {
			t.Errorf("%q instead of %q: got %q, want one problem with %q", planted.to, planted.from, wrong, planted.want)
		}
	}
	sections := "- machine: M1\n- Go: go9\n- commit: c0ffee\n- date: today\n\n| row | P | CPU |\n|---|--:|--:|\n| A | 2 | 7 |\n\n" +
		"- machine: M2\n- Go: go9\n- commit: decaf\n- date: today\n\n| row | P | CPU |\n|---|--:|--:|\n| B | 2 | 8 |\n"
	if measured, err = readResults(sections); err != nil {
		t.Fatal(err)
	}
	guide := "M2; go9; commit decaf; today; from [all figures](../bench/RESULTS.md):\n\n| row | P | CPU |\n|---|--:|--:|\n| B | 2 | 8 |\n"
	if got, _, wrong := measured.quote(strings.Replace(guide, "decaf", "c0ffee", 1)); got != guide || len(wrong) > 0 {
		t.Errorf("a table of the second section: %q\n%s", wrong, got)
	}
	if _, _, wrong := measured.quote(guide + "| A | 2 | 7 |\n"); len(wrong) != 1 || !strings.Contains(wrong[0], "two sections") {
		t.Errorf("a table of two sections: %q", wrong)
	}
	if _, err := readResults("- machine: M1\n\n| row | P |\n|---|---|\n| A | 2 |\n"); err == nil {
		t.Error("results without Go, commit and date were accepted")
	}
}

// results are the figures of bench/RESULTS.md.
type results struct {
	cells map[[3]string]string // by GOMAXPROCS, name of the row, and column
	from  map[[2]string]string // by GOMAXPROCS and row: machine, Go version, commit and date
	first string               // the facts of the document's first rows
}

var (
	section = regexp.MustCompile(`^## GOMAXPROCS=(\d+)$`)
	fact    = regexp.MustCompile(`(?m)^- (machine|Go|commit|date): (.+)$`)
	loose   = regexp.MustCompile(`\d(?:[0-9.,]*) ?(?:ns|µs|ms|times|%|×)`)
)

// source ends the line that names the source of a table of figures.
const source = "; from [all figures](../bench/RESULTS.md):"

// readResults parses bench/RESULTS.md. The GOMAXPROCS of a row is in its column P, or
// else in the heading of its section.
func readResults(text string) (results, error) {
	r := results{cells: map[[3]string]string{}, from: map[[2]string]string{}}
	facts := map[string]string{}
	procs, columns := "", []string(nil)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			procs = ""
			if match := section.FindStringSubmatch(line); match != nil {
				procs = match[1]
			}
		}
		if match := fact.FindStringSubmatch(line); match != nil {
			facts[match[1]] = match[2] // each section has its own
			continue
		}
		cells := cellsOf(line)
		if cells == nil {
			columns = nil
			continue
		}
		if columns == nil {
			columns = cells
			continue
		}
		if strings.HasPrefix(line, "|--") {
			continue
		}
		at, p := slices.Index(columns, "row"), procs
		if i := slices.Index(columns, "P"); i >= 0 {
			p = cells[i]
		}
		if at < 0 || p == "" || len(cells) != len(columns) {
			continue
		}
		if len(facts) < 4 {
			return r, fmt.Errorf("bench/RESULTS.md lacks machine, Go, commit or date (has %v)", facts)
		}
		from := fmt.Sprintf("%s; %s; commit %s; %s", facts["machine"], facts["Go"], facts["commit"], facts["date"])
		r.first = cmp.Or(r.first, from)
		if place := [2]string{p, cells[at]}; r.from[place] == "" {
			r.from[place] = from
		}
		for i, column := range columns {
			key := [3]string{p, cells[at], column}
			if _, known := r.cells[key]; !known {
				r.cells[key] = cells[i]
			}
		}
	}
	if r.first == "" {
		return r, errors.New("bench/RESULTS.md has no rows")
	}
	return r, nil
}

// quote returns the guide with the measured figures, the number of tables that have
// figures, and the problems that it found.
//
// A table with the columns row and P has figures: all columns after the first of these
// two are quoted from the results, or are dashes in the row "-". The columns before it
// belong to the author. Prose must not contain figures, because their source would be
// unknown. The figures must support the advice in a column take: a kind of sluice is
// advised only where it was faster in every round, and the built-in channel only
// elsewhere.
func (r results) quote(guide string) (quoted string, tables int, wrong []string) {
	lines := strings.SplitAfter(guide, "\n")
	var columns []string
	fenced := false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
		}
		cells := cellsOf(trimmed)
		switch {
		case fenced:
		case cells == nil:
			columns = nil
			if found := loose.FindString(line); found != "" {
				wrong = append(wrong, fmt.Sprintf("figure %q in prose (quote a row of bench/RESULTS.md in a table)", found))
			}
		case columns == nil:
			columns = cells
			if !isFigures(columns) {
				continue
			}
			tables++
			if i < 2 || !strings.HasSuffix(strings.TrimSpace(lines[i-2]), source) {
				wrong = append(wrong, "a table does not name its source: "+trimmed)
				continue
			}
			from, err := r.sourceOf(columns, lines[i+1:])
			if err != nil {
				wrong = append(wrong, err.Error())
				continue
			}
			lines[i-2] = from + source + "\n"
		case isFigures(columns) && !strings.HasPrefix(trimmed, "|--") && !strings.HasPrefix(trimmed, "|:"):
			var err error
			if lines[i], err = r.row(columns, cells); err != nil {
				wrong = append(wrong, err.Error())
			}
		}
	}
	return strings.Join(lines, ""), tables, wrong
}

// sourceOf returns the facts of the figures in the table whose header is above lines. All
// of its rows must be of one section, since one line names their source.
func (r results) sourceOf(columns, lines []string) (from string, err error) {
	name, procs := slices.Index(columns, "row"), slices.Index(columns, "P")
	for _, line := range lines {
		cells := cellsOf(strings.TrimSpace(line))
		if cells == nil {
			break
		}
		if len(cells) != len(columns) {
			continue
		}
		mine := r.from[[2]string{cells[procs], cells[name]}]
		if mine != "" && from != "" && mine != from {
			return "", fmt.Errorf("a table has rows of two sections: %s at P=%s is not of %s", cells[name], cells[procs], from)
		}
		from = cmp.Or(from, mine)
	}
	return cmp.Or(from, r.first), nil
}

// row returns a row of a guide with the measured figures.
func (r results) row(columns, cells []string) (string, error) {
	if len(cells) != len(columns) {
		return "", fmt.Errorf("%d cells under %d columns: %s", len(cells), len(columns), cells)
	}
	name, procs := slices.Index(columns, "row"), slices.Index(columns, "P")
	if cells[name] == "-" { // nothing was measured
		for i := min(name, procs); i < len(columns); i++ {
			cells[i] = "-"
		}
		return "| " + strings.Join(cells, " | ") + " |\n", nil
	}
	if _, known := r.cells[[3]string{cells[procs], cells[name], "row"}]; !known {
		return "", fmt.Errorf("bench/RESULTS.md has no row %s at P=%s", cells[name], cells[procs])
	}
	for i := min(name, procs); i < len(columns); i++ {
		if i == name || i == procs {
			continue
		}
		cell, known := r.cells[[3]string{cells[procs], cells[name], columns[i]}]
		if !known {
			return "", fmt.Errorf("bench/RESULTS.md has no column %s for %s at P=%s", columns[i], cells[name], cells[procs])
		}
		cells[i] = cell
	}
	if advice := slices.Index(columns, "take"); advice >= 0 {
		worst, _, _ := strings.Cut(r.cells[[3]string{cells[procs], cells[name], "range"}], "-")
		ratio, err := strconv.ParseFloat(worst, 64)
		if builtIn := strings.HasPrefix(cells[advice], "built-in "); err != nil || builtIn != (ratio <= 1) {
			return "", fmt.Errorf("%s at P=%s: the worst ratio, %s, does not support the advice %q", cells[name], cells[procs], worst, cells[advice])
		}
	}
	return "| " + strings.Join(cells, " | ") + " |\n", nil
}

func isFigures(columns []string) bool {
	return slices.Contains(columns, "row") && slices.Contains(columns, "P")
}

// cellsOf returns the cells of a row of a table, or nil if the line is not a row.
func cellsOf(line string) (cells []string) {
	inner, ok := strings.CutPrefix(line, "|")
	if !ok {
		return nil
	}
	for cell := range strings.SplitSeq(strings.TrimSuffix(inner, "|"), "|") {
		cells = append(cells, strings.TrimSpace(cell))
	}
	return cells
}

// firstDifference describes the first line that differs.
func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, gotLines[i], wantLines[i])
		}
	}
	return ""
}
