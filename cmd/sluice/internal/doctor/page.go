package doctor

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

//go:embed page.html
var pageText string

// pageStyle extends the common style.
//
//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is the input of the template.
type page struct {
	*Diagnosis
	Policy     string
	Style      template.CSS
	Head       string
	Path       string // the map, line by line; "" without one
	Findings   []pageFinding
	Rows       []pageRow
	Pairs      []string
	PricesLine string
}

type pageFinding struct {
	*Finding
	Title string
	Chart template.HTML
}

type pageRow struct {
	Where string
	Cells []string
}

// WritePage writes a self-contained HTML page.
func (d *Diagnosis) WritePage(w io.Writer) error {
	style := report.Style + pageStyle
	p := page{Diagnosis: d, Policy: report.Policy(style), Style: template.CSS(style), Head: d.head(), Path: d.path(true), PricesLine: d.Prices.sentence()}
	for i := range d.Findings {
		p.Findings = append(p.Findings, pageFinding{&d.Findings[i], format.Capital(string(d.Findings[i].Kind)), d.Findings[i].chart()})
	}
	for i := range d.Operations {
		if !d.Operations[i].quiet() {
			p.Rows = append(p.Rows, d.Operations[i].row())
		}
	}
	for i := range d.Partners {
		p.Pairs = append(p.Pairs, d.Partners[i].sentence())
	}
	return pageTemplate.Execute(w, p)
}

// chart draws predicted gains with their ranges, or "" if there is no gain.
func (f *Finding) chart() template.HTML {
	chart := plot.Rows{
		Title: "Predicted throughput, as a factor", Axis: "× of now",
		Cover: []plot.Value{{Mid: 1, Lo: 1, Hi: 1}},
	}
	any := false
	for _, r := range f.Remedies {
		g := r.Gain
		if !g.known() {
			continue
		}
		any = any || g.High > 1
		chart.Rows = append(chart.Rows, plot.Row{
			Label: string(r.Name), Value: g.String(),
			Marks: []plot.Mark{{Class: "s0", Value: plot.Value{Mid: g.Mid, Lo: g.Low, Hi: g.High, Tip: fmt.Sprintf("%s: %s", r.Name, g)}}},
		})
	}
	if !any {
		return ""
	}
	return template.HTML(chart.SVG())
}

func (o *Operation) row() pageRow {
	cell := func(p *float64, write func(float64) string) string {
		if p == nil {
			return "–"
		}
		return write(*p)
	}
	return pageRow{Where: o.label(), Cells: []string{
		format.Percent(o.Weight), cell(o.CPU, format.Seconds), cell(o.Lock, format.Seconds), cell(o.AfterPark, format.Seconds),
		cell(o.Asleep, format.Seconds), o.waitedCell(), o.goroutinesCell(), cell(o.Items, format.Count),
	}}
}

// waitedCell formats the time waited with its window.
func (o *Operation) waitedCell() string {
	if o.Waited == nil {
		return "–"
	}
	if value(o.WaitWindow) == 0 {
		return format.Seconds(*o.Waited) + " since the start"
	}
	return format.Seconds(*o.Waited) + " in " + format.Seconds(*o.WaitWindow)
}

// goroutinesCell formats the goroutines in the operation and those waiting in
// it.
func (o *Operation) goroutinesCell() string {
	switch {
	case o.both():
		return fmt.Sprintf("%d, %d waiting", *o.In, *o.Waiting)
	case o.Waiting != nil:
		return fmt.Sprintf("%d waiting", *o.Waiting)
	case o.In != nil:
		return fmt.Sprint(*o.In)
	}
	return "–"
}

// WritePageFile writes the page to a file, replacing it atomically.
func (d *Diagnosis) WritePageFile(path string) error {
	return report.Replace(path, d.WritePage)
}
