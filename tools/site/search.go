package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// indexFile has the index of the search, as a script: a browser loads that from a file,
// too.
const indexFile = "search-index.js"

// A section is what the search finds: a heading and the text below it.
type section struct {
	Link    string `json:"l"`
	Page    string `json:"p"`
	Heading string `json:"h"`
	Text    string `json:"t"`
}

// A reader collects the title, the headings and the texts of a document.
type reader struct {
	source []byte
	page   *page
	menu   []group
	all    []section
	text   strings.Builder // of the last section
	inside ast.Node        // a heading, whose text belongs to the heading
}

// heading begins a section.
func (r *reader) heading(n *ast.Heading) {
	r.flush()
	words := strings.TrimSpace(plain(n, r.source))
	id := ""
	if value, ok := n.AttributeString("id"); ok {
		id = string(value.([]byte))
	}
	switch {
	case n.Level == 1 && r.page.Title == "":
		r.page.Title = words
	case n.Level == 2:
		r.page.TOC = append(r.page.TOC, heading{id, words, false})
		r.menu = append(r.menu, group{Title: words})
	case n.Level == 3:
		r.page.TOC = append(r.page.TOC, heading{id, words, true})
	}
	s := section{Link: r.page.Out, Heading: words}
	if len(r.all) > 0 {
		s.Link += "#" + id
	}
	r.all, r.inside = append(r.all, s), n
}

// entry adds a link that begins an item of a list to the menu.
func (r *reader) entry(n *ast.Link, to string) {
	item := n.Parent()
	for item != nil && item.Kind() != ast.KindListItem {
		item = item.Parent()
	}
	if item == nil || n.PreviousSibling() != nil || len(r.menu) == 0 {
		return
	}
	last := &r.menu[len(r.menu)-1]
	last.Entries = append(last.Entries, entry{plain(n, r.source), to})
}

// collect adds the text of a node to the section.
func (r *reader) collect(node ast.Node) {
	for up := node; up != nil; up = up.Parent() {
		if up == r.inside {
			return
		}
	}
	switch n := node.(type) {
	case *ast.Text:
		r.text.Write(n.Value(r.source))
		if n.SoftLineBreak() || n.HardLineBreak() || n.NextSibling() == nil {
			r.text.WriteByte(' ')
		}
	case *ast.FencedCodeBlock:
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			r.text.Write(line.Value(r.source))
		}
	default:
		if node.Type() == ast.TypeBlock {
			r.text.WriteByte(' ')
		}
	}
}

// flush ends a section.
func (r *reader) flush() {
	if len(r.all) > 0 {
		r.all[len(r.all)-1].Text = strings.Join(strings.Fields(r.text.String()), " ")
	}
	r.text.Reset()
}

// done returns the sections of the document.
func (r *reader) done() []section {
	r.flush()
	for i := range r.all {
		r.all[i].Page = r.page.Title
	}
	return r.all
}

// plain returns the text inside a node.
func plain(node ast.Node, source []byte) string {
	var words strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			words.Write(t.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

// searchIndex returns the script with the sections of all documents.
func searchIndex(pages map[string]*page) ([]byte, error) {
	all := []section{}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		all = append(all, pages[name].sections...)
	}
	list, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte("window.searchIndex = "), list, []byte(";\n")), nil
}
