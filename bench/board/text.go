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
	tables := func(words bool) func(string, ...any) string {
		return func(section string, groups ...any) string {
			var headings []heading
			for _, g := range groups {
				if h, ok := g.(heading); ok {
					headings = append(headings, h)
				} else {
					headings = append(headings, g.([]heading)...)
				}
			}
			return p.table(section, words, headings...)
		}
	}
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"host": func() string { return p.Host.String() }, "cores": func() int { return p.Host.Cores },
		"date": func() string { return p.Date }, "files": func() string { return files(paths) },
		"words": tables(true), "plain": tables(false), "losses": p.lossTable, "notes": p.notes,
		"col":     func(text, column string, procs int) heading { return heading{text, column, procs, ""} },
		"byProcs": byProcs, "waits": waits, "sizes": sizes,
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

// sizes returns the headings of the speed of queues beside the first table.
func sizes() (more []heading) {
	for _, procs := range []int{1, 8} {
		for _, s := range shapes {
			name := fmt.Sprintf("%d->%d", s.senders, s.receivers)
			more = append(more, heading{fmt.Sprintf("128: %s, P=%d", strings.Replace(name, "->", "→", 1), procs), name, procs, ""})
		}
	}
	for _, s := range shapes {
		name := fmt.Sprintf("%d->%d", s.senders, s.receivers)
		more = append(more, heading{"1024: " + strings.Replace(name, "->", "→", 1) + ", P=2", name, 2, "queues 1024"})
	}
	return more
}

// byProcs returns headings of columns at each GOMAXPROCS of the page.
func byProcs(columns ...string) (headings []heading) {
	for _, c := range columns {
		for _, procs := range pageProcs {
			headings = append(headings, heading{fmt.Sprintf("%s, P=%d", strings.Replace(c, "->", "→", 1), procs), c, procs, ""})
		}
	}
	return headings
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

// bars returns the panel of a column.
func (p page) bars(title, section, column string, procs int) panel {
	return panel{title, scaleOf(column), func(r row) (float64, string) {
		c := cell{section, r.name, column, procs}
		return p.median(c), p.figure(c)
	}}
}

// scaleOf returns the scale of a column that has a natural one, or else 0.
func scaleOf(column string) float64 {
	if column == "idle" {
		return 100
	}
	return 0
}

// queueChart is the chart of queues.
func (p page) queueChart() string {
	rows := slices.DeleteFunc(p.rows(p.section("queues")), func(r row) bool { return r.rust })
	return chart("Queues, 128 slots, GOMAXPROCS=2: less is better", rows, []panel{
		p.bars("1→1, ns per value", "queues", "1->1", 2),
		p.bars("8→1, ns per value", "queues", "8->1", 2),
		p.bars("CPU µs per value at 10 k/s", "queues", "CPU", 2),
		p.bars("CPU of an idle queue", "queues", "idle", 2),
	})
}

// broadcastChart is the chart of broadcasts and pools.
func (p page) broadcastChart() string {
	rows := append(p.rows(p.section("broadcast")), p.rows(p.section("pools"))...)
	either := func(title, broadcast, pool string, procs int) panel {
		return panel{title, scaleOf(broadcast), func(r row) (float64, string) {
			of, column := "broadcast", broadcast
			if !slices.ContainsFunc(p.section("broadcast").rows, func(b row) bool { return b.name == r.name }) {
				of, column = "pools", pool
			}
			return p.bars("", of, column, procs).value(r)
		}}
	}
	return chart("Broadcasts to ten, and pools: less is better", rows, []panel{
		either("ns per delivery, or job", "to 10", "jobs of 0s", 2),
		either("CPU µs at a low rate", "CPU", "CPU", 2),
		either("p99 µs, P=1", "p99", "p99", 1),
		either("idle CPU", "idle", "idle", 2),
	})
}
