package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// agreeing is the number of repeats with the same verdict and the same kind of
// first finding that counts as agreement.
const agreeing = 4

// agreed is the share of services on which repeats must agree.
const agreed = 0.95

// An agreement is how far captures of the same service lead to the same
// diagnosis.
type agreement struct {
	services, agree int
	differ          []string // one line per service whose repeats differ
}

// agree diagnoses the repeats of each fixture that has all of them.
func agree(ctx context.Context, program string, dirs []string) (*agreement, error) {
	a := new(agreement)
	for _, dir := range dirs {
		folders := repeated(dir)
		if len(folders) < repeats {
			continue
		}
		diagnoses, err := askAll(ctx, program, folders)
		if err != nil {
			return nil, err
		}
		a.add(filepath.Base(dir), diagnoses)
	}
	return a, nil
}

// repeated returns the captures of a fixture that repeat each other.
func repeated(dir string) (folders []string) {
	for n := range repeats {
		if folder := filepath.Join(dir, repeatFolder(n+1)); captured(folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// add counts a service.
func (a *agreement) add(name string, diagnoses []*diagnosis) {
	counts := map[string]int{}
	for _, o := range diagnoses {
		counts[strings.TrimSpace(o.Verdict+" "+o.kind())]++
	}
	most := 0
	var said []string
	for what, n := range counts {
		most = max(most, n)
		said = append(said, fmt.Sprintf("%d %s", n, what))
	}
	a.services++
	if most >= agreeing {
		a.agree++
	}
	if len(counts) > 1 {
		slices.Sort(said)
		slices.Reverse(said)
		a.differ = append(a.differ, fmt.Sprintf("%s: %s", name, strings.Join(said, ", ")))
	}
}

// reached reports whether repeats agree on enough services.
func (a *agreement) reached() bool { return float64(a.agree) >= agreed*float64(a.services) }

func (a *agreement) write(w io.Writer) {
	if a.services == 0 {
		return
	}
	fmt.Fprintf(w, "%d captures of the same service: at least %d agree on verdict and first finding for %d of %d services, bar %.0f%%: %s\n",
		repeats, agreeing, a.agree, a.services, 100*agreed, atTheBar(a.reached()))
	for _, line := range a.differ {
		fmt.Fprintf(w, "differ: %s\n", line)
	}
}

// scores are all scores of the doctor.
type scores struct {
	boards    []*board
	agreement *agreement
}

// board returns the scores of a form, or nil if no fixture has it.
func (s *scores) board(f form) *board {
	i := slices.IndexFunc(s.boards, func(b *board) bool { return b.form.name == f.name })
	if i < 0 {
		return nil
	}
	return s.boards[i]
}

// reached reports whether the doctor is at each bar.
func (s *scores) reached() bool {
	for _, b := range s.boards {
		if slices.ContainsFunc(b.sheets, func(s *sheet) bool { return !s.reached() }) {
			return false
		}
	}
	return s.agreement.reached()
}

func atTheBar(reached bool) string {
	if reached {
		return "at the bar"
	}
	return "BELOW THE BAR"
}

// summary writes a line per form and set.
func (s *scores) summary(w io.Writer) {
	for _, b := range s.boards {
		for _, sheet := range b.sheets {
			var cells []string
			for i, q := range questions {
				cells = append(cells, fmt.Sprintf("%s %d/%d", q, sheet.right[i], sheet.asked[i]))
			}
			fmt.Fprintf(w, "%-6s%-9s %s: %s\n", b.form.name, sheet.set.name, strings.Join(cells, ", "), atTheBar(sheet.reached()))
		}
	}
	s.agreement.write(w)
}
