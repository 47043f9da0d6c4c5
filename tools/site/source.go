package main

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
)

// The two forms of code: in a document, and as a page with line numbers whose anchors
// are L1, L2 and so on.
var (
	inDocument = html.New(html.WithClasses(true))
	asPage     = html.New(html.WithClasses(true), html.WithLineNumbers(true), html.WithLinkableLineNumbers(true, "L"))
)

// highlight writes code in colors. The language is the name of a file or a language;
// unknown ones have no colors.
func highlight(w io.Writer, language, code string, numbered bool) error {
	lexer := lexers.Match(language)
	if lexer == nil {
		lexer = lexers.Get(language)
	}
	if lexer == nil {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return err
	}
	format := inDocument
	if numbered {
		format = asPage
	}
	return format.Format(w, styles.Fallback, tokens)
}

// maxSource is the size of the largest source file that may be linked.
const maxSource = 1 << 20

// sourcePage turns a source file into a page.
func sourcePage(name string, text []byte) (*page, error) {
	if len(text) > maxSource || !utf8.Valid(text) {
		return nil, fmt.Errorf("%s is too large or not text: a document must not link to it", name)
	}
	var body bytes.Buffer
	fmt.Fprintf(&body, "<h1><code>%s</code></h1>\n", template.HTMLEscapeString(name))
	if err := highlight(&body, path.Base(name), string(text), true); err != nil {
		return nil, err
	}
	return &page{Name: name, Out: address(name), Title: name, Body: template.HTML(body.String())}, nil
}

// folderPage lists the files of a folder, and returns them.
func folderPage(from fs.FS, name string) (p *page, files []string, err error) {
	entries, err := fs.ReadDir(from, name)
	if err != nil {
		return nil, nil, err
	}
	p = &page{Name: name, Out: address(name + "/"), Title: name + "/"}
	var body bytes.Buffer
	fmt.Fprintf(&body, "<h1><code>%s/</code></h1>\n<ul>\n", template.HTMLEscapeString(name))
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		file := path.Join(name, e.Name())
		files = append(files, file)
		fmt.Fprintf(&body, "<li><a href=%q><code>%s</code></a></li>\n", relative(p.Out, address(file)), template.HTMLEscapeString(e.Name()))
	}
	body.WriteString("</ul>\n")
	p.Body = template.HTML(body.String())
	return p, files, nil
}
