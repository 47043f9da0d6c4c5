package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// pages has the page, and channel.html, pictures of the inside of a channel for the study
// of buffers.
//
//go:embed page.html channel.html
var pages embed.FS

// style is the style of the page, light and dark, on a screen and on a phone. Charts of
// package plot need it.
//
//go:embed page.css
var style string

var pageTemplate = template.Must(template.New("page.html").
	Funcs(template.FuncMap{
		"unbroken": unbroken,
		"vague":    func(cell string) bool { return strings.HasPrefix(cell, format.NotKnown) },
		"derived":  derivedTable,
		"source":   sourceLine,
	}).
	ParseFS(pages, "*.html"))

// page is the template's data. The first screen has the overview with its chart; of each
// study the page shows the answer, a chart and the advice, and folds the rest.
type page struct {
	*Report
	Policy   string
	Style    template.CSS
	When     string
	Where    string // the machine, in short
	Flag     string // what to know before any figure, or ""
	Chart    template.HTML
	Legend   []sign // of Chart
	Length   string
	Topology string // the layout of the CPUs
	Noise    []string
	Notes    []string
	Warnings []warning
	Studies  []pageStudy
}

// pageStudy is one study on the page.
type pageStudy struct {
	*Experiment
	Place       string // such as "2 of 5"
	Topic       string // in the table of contents
	Chart       template.HTML
	Legend      []sign // of Chart
	BesideChart template.HTML
	BesideKey   []sign
	Sweeps      []pageSweep
	Command     string
}

type pageSweep struct {
	*Section
	Content string // such as "4 charts, 2 tables"
	Charts  []template.HTML
	Key     []sign
	LeftOut []string
}

// WritePage writes the page. The page is self-contained: it includes the style
// and the charts, has no script, and its policy forbids browsers to load or to
// run anything else.
func (r *Report) WritePage(w io.Writer) error {
	p := page{
		Report:   r,
		Policy:   policy(),
		Style:    template.CSS(style),
		When:     r.Started.Format("2 January 2006"),
		Where:    fmt.Sprintf("%s, %s", r.Machine.CPU, format.Plural(r.Machine.CPUs, "CPU")),
		Length:   time.Duration(r.Took).Round(time.Second).String(),
		Topology: topology(r.Machine),
		Noise:    r.noiseLines(),
		Notes:    r.footnotes(),
		Warnings: r.warnings(),
	}
	p.Chart, p.Legend = fewChart("What one value costs", r.Overview.Chart, true)
	var flags []string
	for _, w := range p.Warnings {
		if w.flag != "" {
			flags = append(flags, w.flag)
		}
	}
	p.Flag = strings.Join(flags, ", ")
	for i := range r.Experiments {
		s := study(&r.Experiments[i])
		s.Place = fmt.Sprintf("%d of %d", i+1, len(r.Experiments))
		s.Command = r.command(s.Name)
		p.Studies = append(p.Studies, s)
	}
	return pageTemplate.Execute(w, p)
}

func study(e *Experiment) pageStudy {
	colors := newPalette(e)
	s := pageStudy{Experiment: e, Topic: lab.Topic(e.Name), BesideChart: e.besideChart()}
	s.Chart, s.Legend = fewChart("", e.Conclusion.Chart, false)
	s.BesideKey = append([]sign{{"published elsewhere", "then", "◇"}}, key(s.BesideChart)...)
	for i := range e.Sections {
		sweep := pageSweep{Section: &e.Sections[i], Content: "not measured"}
		if sweep.measured() {
			sweep.Charts, sweep.LeftOut = sweep.charts(colors), sweep.leftOut()
			sweep.Key = key(sweep.Charts...)
			sweep.Content = format.Plural(len(sweep.Charts), "chart") + ", " + format.Plural(len(sweep.Tables()), "table")
		}
		s.Sweeps = append(s.Sweeps, sweep)
	}
	return s
}

// policy returns the Content-Security-Policy of the page: it allows the style, and nothing
// else.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

// command returns the command that measures an experiment again, at the same size.
func (r *Report) command(name string) string {
	command := "sluice lab " + name
	if r.Size != lab.Standard.String() {
		command += " -" + r.Size
	}
	if len(r.Procs) > 0 {
		command += " -procs " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.Procs)), ","), "[]")
	}
	if r.Count > 0 {
		command += fmt.Sprintf(" -count %d", r.Count)
	}
	return command
}
