package main

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed page.tmpl
var pageTemplate string

// text returns the page, whose words are in page.tmpl.
func (p page) text(paths []string) string {
	table := func(words bool) func(string, ...[]heading) string {
		return func(section string, groups ...[]heading) string {
			return p.table(section, words, slices.Concat(groups...))
		}
	}
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"host": func() string { return p.Host.String() }, "cores": func() int { return p.Host.Cores },
		"date": func() string { return p.Date }, "files": func() string { return files(paths) },
		"words": table(true), "plain": table(false), "losses": p.lossTable, "notes": p.notes,
		"col":     func(text, column string, procs int) []heading { return []heading{{text, column, procs, ""}} },
		"byProcs": func(columns ...string) []heading { return headings("", "", pageProcs, columns) },
		"waits":   waits, "sizes": sizes,
		"of": func(section, row, column string, procs int) string {
			return p.figure(cell{section, row, column, procs})
		},
	}).Parse(pageTemplate))
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		panic(err) // of a template that the tests execute
	}
	return b.String()
}

// headings returns headings of columns of a section, or of the table's if it is "", at each GOMAXPROCS.
func headings(prefix, section string, procs []int, columns []string) (all []heading) {
	for _, c := range columns {
		for _, p := range procs {
			all = append(all, heading{fmt.Sprintf("%s%s, P=%d", prefix, strings.Replace(c, "->", "→", 1), p), c, p, section})
		}
	}
	return all
}

// sizes returns the headings of the speed of queues beside the first table.
func sizes() (all []heading) {
	speeds := []string{"1->1", "8->1", "1->8"}
	for _, procs := range []int{1, 8} {
		all = append(all, headings("128: ", "", []int{procs}, speeds)...)
	}
	return append(all, headings("1024: ", "queues 1024", []int{2}, speeds)...)
}

// waits returns the headings of the columns of an idle contender.
func waits() []heading {
	return []heading{{"CPU µs", "CPU", 2, ""}, {"idle", "idle", 2, ""}, {"p99 µs, P=1", "p99", 1, ""}, {"lost", "lost", 2, ""}}
}

// files returns links to the files of figures.
func files(paths []string) string {
	var links []string
	for _, p := range paths {
		name := filepath.Base(p)
		links = append(links, fmt.Sprintf("[%s](results/%s)", name, name))
	}
	return strings.Join(links, ", ")
}

// bars returns the panel of a column in each of some sections, "section/column": a row has that of
// its section.
func (p page) bars(title string, procs int, columns ...string) panel {
	scale := 0.0
	if strings.HasSuffix(columns[0], "/idle") {
		scale = 100
	}
	return panel{title, scale, func(r row) (float64, string) {
		for _, of := range columns {
			section, column, _ := strings.Cut(of, "/")
			if slices.ContainsFunc(p.section(section).rows, func(s row) bool { return s.name == r.name }) {
				c := cell{section, r.name, column, procs}
				return p.median(c), p.figure(c)
			}
		}
		panic("no section of " + r.name)
	}}
}

// queueChart is the chart of queues.
func (p page) queueChart() string {
	rows := slices.DeleteFunc(p.rows(p.section("queues")), func(r row) bool { return r.rust })
	return chart("Queues, 128 slots, GOMAXPROCS=2: less is better", rows, []panel{
		p.bars("1→1, ns per value", 2, "queues/1->1"), p.bars("8→1, ns per value", 2, "queues/8->1"),
		p.bars("CPU µs per value at 10 k/s", 2, "queues/CPU"), p.bars("CPU of an idle queue", 2, "queues/idle"),
	})
}

// broadcastChart is the chart of broadcasts and pools.
func (p page) broadcastChart() string {
	rows := append(p.rows(p.section("broadcast")), p.rows(p.section("pools"))...)
	return chart("Broadcasts to ten, and pools: less is better", rows, []panel{
		p.bars("ns per delivery, or job", 2, "broadcast/to 10", "pools/jobs of 0s"), p.bars("CPU µs at a low rate", 2, "broadcast/CPU", "pools/CPU"),
		p.bars("p99 µs, P=1", 1, "broadcast/p99", "pools/p99"), p.bars("idle CPU", 2, "broadcast/idle", "pools/idle"),
	})
}
