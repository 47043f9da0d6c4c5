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

// pageTemplate has the overview with its chart on the first screen; of each study it shows
// the answer, a chart and the advice, and folds the rest.
var pageTemplate = template.Must(template.New("page.html").
	Funcs(template.FuncMap{
		"policy":    policy,
		"style":     func() template.CSS { return template.CSS(style) },
		"flags":     flags,
		"warnings":  (*Report).warnings,
		"command":   (*Report).command,
		"bars":      bars,
		"views":     func(s Section) []view { return s.views() },
		"measured":  func(s Section) bool { return s.measured() },
		"leftOut":   func(s Section) []string { return s.leftOut() },
		"published": func(e Experiment) view { return e.publishedView() },
		"plural":    format.Plural,
		"seconds":   func(d Duration) time.Duration { return time.Duration(d).Round(time.Second) },
		"unbroken":  unbroken,
		"vague":     func(cell string) bool { return strings.HasPrefix(cell, format.NotKnown) },
		"source":    sourceLine,
	}).
	ParseFS(pages, "*.html"))

// WritePage writes the page. The page is self-contained: it includes the style
// and the charts, has no script, and its policy forbids browsers to load or to
// run anything else.
func (r *Report) WritePage(w io.Writer) error { return pageTemplate.Execute(w, r) }

// flags returns what to know before any figure, or "".
func flags(r *Report) string {
	var flags []string
	for _, w := range r.warnings() {
		if w.Loud {
			flags = append(flags, w.Title)
		}
	}
	return format.Capital(strings.ToLower(strings.Join(flags, ", ")))
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
