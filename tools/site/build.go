package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The documents from which all others are reached. The second one is also the menu of
// each page.
const (
	first = "README.md"
	index = "docs/README.md"
)

//go:embed page.html
var layout string

//go:embed site.css
var style []byte

//go:embed site.js
var script []byte

var pageTemplate = template.Must(template.New("page").Parse(layout))

// A site is the state of one build.
type site struct {
	from  fs.FS
	pages map[string]*page  // by name of the document or source file
	files map[string][]byte // what is written
	menu  []group
	index []section
}

// A page is a document or source file on its way into the site.
type page struct {
	Name  string // in the repository
	Out   string // in the site
	Title string
	Body  template.HTML
	TOC   []heading

	sections []section
}

// A heading is an entry in the table of contents of a page.
type heading struct {
	ID, Text string
	Sub      bool // of a part of a section
}

// A group is a part of the menu.
type group struct {
	Title   string
	Entries []entry
}

// An entry of the menu is a link to a document.
type entry struct{ Text, Name string }

// Build returns the files of the site for a repository.
func Build(from fs.FS) (map[string][]byte, error) {
	s := &site{from: from, pages: map[string]*page{}, files: map[string][]byte{}}
	queue := []string{first, index}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if s.pages[name] != nil || s.files[address(name)] != nil {
			continue
		}
		links, err := s.add(name)
		if err != nil {
			return nil, err
		}
		queue = append(queue, links...)
	}
	for _, p := range s.pages {
		text, err := s.render(p)
		if err != nil {
			return nil, err
		}
		s.files[p.Out] = text
	}
	s.files["site.css"], s.files["site.js"] = style, script
	list, err := searchIndex(s.pages)
	if err != nil {
		return nil, err
	}
	s.files[indexFile] = list
	return s.files, checkLinks(s.files)
}

// add adds one file of the repository to the site, and returns the files it links to.
func (s *site) add(name string) (links []string, err error) {
	info, err := fs.Stat(s.from, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		s.pages[name], links, err = folderPage(s.from, name)
		return links, err
	}
	text, err := fs.ReadFile(s.from, name)
	if err != nil {
		return nil, err
	}
	switch {
	case path.Ext(name) == ".md":
		p, links, menu, err := document(s.from, name, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.pages[name] = p
		if name == index {
			s.menu = menu
		}
		return links, nil
	case isPicture(name):
		s.files[address(name)] = text
		return nil, nil
	}
	s.pages[name], err = sourcePage(name, text)
	return nil, err
}

// address returns where a file of the repository is in the site. Folders are told
// from files by a slash at the end.
func address(name string) string {
	switch {
	case path.Ext(name) == ".md":
		if path.Base(name) == "README.md" {
			return path.Join(path.Dir(name), "index.html")
		}
		return strings.TrimSuffix(name, ".md") + ".html"
	case isPicture(name):
		return name
	}
	if folder, is := strings.CutSuffix(name, "/"); is {
		return path.Join("source", folder, "index.html")
	}
	return path.Join("source", name+".html")
}

// isPicture reports whether a file is shown as it is.
func isPicture(name string) bool {
	return slices.Contains([]string{".svg", ".png", ".jpg", ".webp"}, path.Ext(name))
}

// relative returns the relative link from one file of the site to another.
func relative(from, to string) string {
	up := strings.Count(from, "/")
	a, b := strings.Split(from, "/"), strings.Split(to, "/")
	for len(a) > 1 && len(b) > 1 && a[0] == b[0] {
		a, b, up = a[1:], b[1:], up-1
	}
	return strings.Repeat("../", up) + strings.Join(b, "/")
}

// render returns the HTML of a page.
func (s *site) render(p *page) ([]byte, error) {
	type item struct {
		Text, Link string
		Here       bool
	}
	type part struct {
		Title string
		Items []item
	}
	var menu []part
	for _, g := range s.menu {
		shown := part{Title: g.Title}
		for _, e := range g.Entries {
			here := e.Name == p.Name || path.Base(e.Name) == "README.md" && e.Name != first && path.Dir(e.Name) == path.Dir(p.Name)
			shown.Items = append(shown.Items, item{e.Text, relative(p.Out, address(e.Name)), here})
		}
		menu = append(menu, shown)
	}
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, struct {
		*page
		Root string
		Home bool
		Menu []part
	}{p, strings.Repeat("../", strings.Count(p.Out, "/")), p.Name == first, menu})
	return out.Bytes(), err
}
