package rounds

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/bench/results"
)

// A Table has a line for each cell, at each value of GOMAXPROCS.
type Table[C, L any] struct {
	Cells   []C
	Name    func(C) string
	Measure func(C) (L, error)

	// Heading is the first line on the terminal. The lines print themselves.
	Heading string

	// Section is the name of the section of the Markdown file, without GOMAXPROCS. Markdown
	// returns its text; facts is the list of what was measured where.
	Section  string
	Markdown func(facts string, procs int, lines []L) string
}

// Report measures the cells, prints the table of each GOMAXPROCS as it grows, and writes it as
// a section of f.Out. At the end of ctx it prints how far it got, and writes no section that
// is incomplete.
func (t Table[C, L]) Report(ctx context.Context, f Flags) error {
	if len(t.Cells) == 0 {
		return fmt.Errorf("-%s: no cell matches %q", f.matchFlag, f.match)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	host := results.Here()
	fmt.Println(host)
	for _, procs := range f.Procs {
		runtime.GOMAXPROCS(procs)
		began := time.Now()
		fmt.Printf("\nGOMAXPROCS=%d\n%s\n", procs, t.Heading)
		lines, err := t.lines(ctx)
		switch {
		case err != nil:
			return err
		case len(lines) < len(t.Cells):
			fmt.Printf("interrupted: measured %d of %d cells\n", len(lines), len(t.Cells))
			return nil
		case f.Out == "":
			continue
		}
		section := fmt.Sprintf("%s %d", t.Section, procs)
		if err := results.PutFile(f.Out, section, t.Markdown(host.Markdown(began), procs, lines)); err != nil {
			return err
		}
	}
	return nil
}

// lines measures the cells until ctx ends.
func (t Table[C, L]) lines(ctx context.Context) (lines []L, err error) {
	for _, c := range t.Cells {
		if ctx.Err() != nil {
			break
		}
		l, err := t.Measure(c)
		if err != nil {
			return lines, fmt.Errorf("%s: %w", t.Name(c), err)
		}
		fmt.Println(l)
		lines = append(lines, l)
	}
	return lines, nil
}
