package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	pagePath      = "bench/RESULTS.md"
	figuresFolder = "bench/results"
)

// pageProcs are the values of GOMAXPROCS on the page.
var pageProcs = []int{1, 2, 8}

// stored returns the files of figures, by name.
func stored() (paths []string, all []*figures, err error) {
	paths, err = filepath.Glob(filepath.Join(figuresFolder, "*.json"))
	if err != nil || len(paths) == 0 {
		return nil, nil, errors.Join(err, fmt.Errorf("no figures in %s: measure with -json first, at the top of the repository", figuresFolder))
	}
	for _, path := range paths {
		f, err := load(path)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, f)
	}
	return paths, all, nil
}

// writePage writes the page and its charts from the files of figures. The first file fills
// the tables.
func writePage() error {
	paths, all, err := stored()
	if err != nil {
		return err
	}
	p := page{all[0], all, sections(pageProcs)}
	for name, text := range map[string]string{
		pagePath: p.text(paths),
		filepath.Join(figuresFolder, "queues.svg"): p.queueChart(),
		filepath.Join(figuresFolder, "beyond.svg"): p.broadcastChart(),
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// A page is what is written of figures.
type page struct {
	*figures            // of the tables
	all      []*figures // of all Go versions
	sections []section
}

func (p page) section(name string) section {
	return p.sections[slices.IndexFunc(p.sections, func(s section) bool { return s.name == name })]
}

// rows returns the rows of a section that have figures.
func (p page) rows(s section) (rows []row) {
	for _, r := range s.rows {
		prefix := s.name + "/" + r.name + "/"
		has := false
		for key := range p.Cells {
			has = has || strings.HasPrefix(key, prefix)
		}
		if has && r.name != nothing {
			rows = append(rows, r)
		}
	}
	return rows
}

// figure returns a figure as in the tables.
func (p page) figure(c cell) string {
	if why, failed := p.Failure[c.String()]; failed {
		switch {
		case strings.Contains(why, "received"):
			return "loses values"
		case strings.Contains(why, "does not end"):
			return "over 8 s"
		}
		return "fails"
	}
	v := p.median(c)
	switch {
	case math.IsNaN(v):
		return "-"
	case c.column == "idle":
		return fmt.Sprintf("%.0f%%", v)
	case c.column == "lost":
		return fmt.Sprintf("%.0f", slices.Max(p.Cells[c.String()]))
	}
	return number(v)
}

// number returns v with about three digits.
func number(v float64) string {
	switch {
	case v < 0:
		return "0" // less than the load without it, by chance
	case v < 9.95:
		return fmt.Sprintf("%.1f", v)
	case v < 9999.5:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.0fk", v/1000)
}

// A heading is a column of a table on the page.
type heading struct {
	text, column string
	procs        int
	section      string // of the figure, if it is not the table's
}

// table returns a table of a section. The fastest of those that park is bold. Without words
// about how each row waits and ends, it has no other rows. A column idle or lost that has only
// zeros is left out.
func (p page) table(name string, words bool, headings []heading) string {
	s := p.section(name)
	rows := p.rows(s)
	var b strings.Builder
	b.WriteString("| |")
	if words {
		b.WriteString(" waits |")
	} else {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.waits != parks && r.waits != "" })
	}
	headings = slices.DeleteFunc(headings, func(h heading) bool {
		return !isTime(h.column) && !slices.ContainsFunc(rows, func(r row) bool {
			text := p.figure(cell{cmp.Or(h.section, name), r.name, h.column, h.procs})
			return strings.Trim(text, "0%-") != ""
		})
	})
	for _, h := range headings {
		fmt.Fprintf(&b, " %s |", h.text)
	}
	if words {
		b.WriteString(" context | Close |\n|---|---|" + strings.Repeat("--:|", len(headings)) + "---|---|")
	} else {
		b.WriteString("\n|---|" + strings.Repeat("--:|", len(headings)))
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "\n| %s |", r.name)
		if words {
			fmt.Fprintf(&b, " %s |", r.waits)
		}
		for _, h := range headings {
			c := cell{cmp.Or(h.section, name), r.name, h.column, h.procs}
			text := p.figure(c)
			if best, ok := p.best(p.section(c.section), c, func(r row) bool { return r.waits == parks && !r.rust }); ok && best.row == r.name && isTime(c.column) {
				text = "**" + text + "**"
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		if words {
			fmt.Fprintf(&b, " %s | %s |", r.ctx, r.close)
		}
	}
	return b.String() + "\n"
}

// isTime reports whether a column is a time, of which less is better.
func isTime(column string) bool { return column != "idle" && column != "lost" }

// best returns the cell of the row with the smallest figure in the column of c, among those
// that match.
func (f *figures) best(s section, c cell, match func(row) bool) (best cell, ok bool) {
	least := math.Inf(1)
	for _, r := range s.rows {
		c.row = r.name
		if v := f.median(c); r.name != nothing && match(r) && v < least {
			best, least, ok = c, v, true
		}
	}
	return best, ok
}

// A loss is a column in which a contender that parks is ahead of the best of ours.
type loss struct {
	ours, other cell
	times       []float64 // of ours to the other, by Go version
	worst       float64   // the largest of them
}

// losses returns the losses by more than 5% with any Go version, the largest first, and the
// number of columns that were compared.
func (p page) losses() (losses []loss, compared int) {
	for _, s := range p.sections {
		for _, col := range s.columns {
			if !isTime(col.name) {
				continue
			}
			c := cell{section: s.name, column: col.name, procs: col.procs}
			ours, ok := p.best(s, c, func(r row) bool { return r.ours })
			other, also := p.best(s, c, func(r row) bool { return !r.ours && r.waits == parks && !r.rust })
			if !ok || !also {
				continue
			}
			compared++
			l := loss{ours: ours, other: other}
			for _, f := range p.all {
				times := f.median(ours) / max(1, f.median(other)) // CPU time below 1 µs is chance
				l.times = append(l.times, times)
				if times > l.worst { // not if there is no figure
					l.worst = times
				}
			}
			if l.worst > 1.05 {
				losses = append(losses, l)
			}
		}
	}
	slices.SortFunc(losses, func(a, b loss) int { return cmp.Compare(b.worst, a.worst) })
	return losses, compared
}

// lossTable returns the table of losses.
func (p page) lossTable() string {
	const most = 10
	losses, compared := p.losses()
	var b strings.Builder
	fmt.Fprintf(&b, "In %d of %d comparisons, a contender that parks beats the best of ours by more than 5%%", len(losses), compared)
	if len(losses) > most {
		fmt.Fprintf(&b, "; these are the %d largest", most)
		losses = losses[:most]
	}
	b.WriteString(":\n\n| task | P | first | | best of ours | |")
	for _, f := range p.all {
		fmt.Fprintf(&b, " %s |", f.Host.Go)
	}
	b.WriteString("\n|---|--:|---|--:|---|--:|" + strings.Repeat("--:|", len(p.all)) + "\n")
	for _, l := range losses {
		fmt.Fprintf(&b, "| %s, %s | %d | %s | %s | %s | %s |", l.ours.section, l.ours.column, l.ours.procs, l.other.row, p.figure(l.other), l.ours.row, p.figure(l.ours))
		for _, t := range l.times {
			fmt.Fprintf(&b, " %s |", strings.Replace(fmt.Sprintf("%.2f", t), "NaN", "-", 1))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// notes returns the notes of the rows, each once, with the names that it applies to.
func (p page) notes() string {
	var notes []string
	names := map[string][]string{} // by note
	for _, s := range p.sections {
		for _, r := range p.rows(s) {
			if r.note == "" || slices.Contains(names[r.note], r.name) {
				continue
			}
			if names[r.note] == nil {
				notes = append(notes, r.note)
			}
			names[r.note] = append(names[r.note], r.name)
		}
	}
	var b strings.Builder
	for _, note := range notes {
		fmt.Fprintf(&b, "* %s: %s.\n", strings.Join(names[note], "; "), note)
	}
	return b.String()
}
