package doctor

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"reflect"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
	"github.com/sluice-go/sluice/livepage"
)

//go:embed page.html
var pageText string

// pageStyle extends the style of the live page.
//
//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").
	Funcs(template.FuncMap{"percent": format.Percent, "stop": stop, "capital": format.Capital, "condition": condition, "gives": func(r Remedy) string { return r.gives() }}).
	Parse(pageText))

// showSaved draws the map with the script of the live page, which calls its place in the
// list of channels a link.
const showSaved = `
const saved = JSON.parse(at("data").textContent);
if (saved) showMap(saved, false);
`

// WritePage writes a page that needs no server and loads nothing.
func (d *Diagnosis) WritePage(w io.Writer) error {
	script, style, err := livepage.Drawing()
	if err != nil {
		return err
	}
	script, style = script+showSaved, style+pageStyle
	clean(reflect.ValueOf(d))
	return pageTemplate.Execute(w, struct {
		*Diagnosis
		Policy, Foot string
		Style        template.CSS
		Script       template.JS
		Rows         []RoleRow
		Timed        bool
	}{d, "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) + "; base-uri 'none'; form-action 'none'",
		d.foot(2 * format.WidestWidth), template.CSS(style), template.JS(script), d.unmapped(true), slices.ContainsFunc(d.Roles, func(r RoleRow) bool { return r.timed() })})
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// WritePageFile writes the page to a file, replacing it atomically.
func (d *Diagnosis) WritePageFile(path string) error { return report.Replace(path, d.WritePage) }
