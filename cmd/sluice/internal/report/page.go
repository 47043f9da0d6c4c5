package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

//go:embed page.html
var pageText string

// Style is the style of this tool's pages, light and dark, on a screen and on a
// phone. Charts of package plot need it.
//
//go:embed page.css
var Style string

var pageTemplate = template.Must(template.New("page").
	Funcs(template.FuncMap{
		"unbroken": unbroken,
		"vague":    func(cell string) bool { return strings.HasPrefix(cell, format.NotKnown) },
	}).
	Parse(pageText))

// page is the template's data. The first screen has Sentence, Chart and Answers;
// of each study the page shows the answer, a chart and the advice, and folds the
// rest.
type page struct {
	*Report
	Policy   string
	Style    template.CSS
	When     string
	Where    string // the machine, in short
	Flag     string // what to know before any figure, or ""
	Sentence string
	Chart    template.HTML
	Legend   []family // of Chart
	Answers  []string
	Length   string
	Topology string // the layout of the CPUs
	Warnings []warning
	Studies  []pageStudy
}

// WritePage writes the page. The page is self-contained: it includes the style
// and the charts, has no script, and its policy forbids browsers to load or to
// run anything else.
func (r *Report) WritePage(w io.Writer) error {
	p := page{
		Report:   r,
		Policy:   Policy(Style),
		Style:    template.CSS(Style),
		When:     r.Started.Format("2 January 2006"),
		Where:    fmt.Sprintf("%s, %s", r.Machine.CPU, format.Plural(r.Machine.CPUs, "CPU")),
		Sentence: r.Overview.Sentence,
		Chart:    fewChart("What one value costs", r.Overview.Chart, true),
		Answers:  r.Overview.Answers,
		Length:   time.Duration(r.Took).Round(time.Second).String(),
		Topology: topology(r.Machine),
		Warnings: r.warnings(),
	}
	p.Flag, p.Legend = r.flags(p.Warnings), fewKey(r.Overview.Chart, p.Chart)
	for i := range r.Experiments {
		e := &r.Experiments[i]
		s := study(e)
		s.Place = fmt.Sprintf("%d of %d", i+1, len(r.Experiments))
		s.Command = r.command(e)
		p.Studies = append(p.Studies, s)
	}
	return pageTemplate.Execute(w, p)
}

// flags names what a reader must know before any figure: the warnings about
// missing figures and the quick size, and a machine that was busy with other work.
func (r *Report) flags(warnings []warning) string {
	var names []string
	for _, w := range warnings {
		if w.Grave || w.Title == quickSize {
			names = append(names, strings.ToLower(cmp.Or(w.Flag, w.Title)))
		}
	}
	if spread, _ := r.noise(); spread > LoudNoise {
		names = append(names, fmt.Sprintf("noisy machine: a fixed loop varied by %.0f%%", 100*spread))
	}
	if points, _, _ := r.count(); r.oftenDisturbed() {
		names = append(names, fmt.Sprintf("%d of %s disturbed: run again when idle", len(r.disturbed()), format.Plural(points, "measurement")))
	}
	return strings.Join(names, ", ")
}

// Policy returns the Content-Security-Policy of a page with this style: it
// allows the style, and nothing else.
func Policy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

// command returns the command that measures an experiment again, at the same size.
func (r *Report) command(e *Experiment) string {
	command := "sluice lab " + e.Name
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
