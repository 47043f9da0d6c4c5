package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
)

// document turns a document in Markdown into a page. It returns the files that it
// links to, and its lists of links by heading.
func document(from fs.FS, name string, source []byte) (p *page, links []string, menu []group, err error) {
	tree := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(slugs{}))))
	p = &page{Name: name, Out: address(name)}
	r := reader{source: source, page: p}
	err = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Heading:
			r.heading(n)
		case *ast.Link:
			to, err := relink(from, p, &n.Destination)
			if to != "" {
				links = append(links, to)
				r.entry(n, to)
			}
			return ast.WalkContinue, err
		case *ast.Image:
			to, err := relink(from, p, &n.Destination)
			if to != "" {
				links = append(links, to)
			}
			return ast.WalkContinue, err
		}
		r.collect(node)
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if p.Title == "" {
		return nil, nil, nil, errors.New("the document has no title: begin it with a line such as # Title")
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, tree); err != nil {
		return nil, nil, nil, err
	}
	p.Body, p.sections = template.HTML(body.String()), r.done()
	return p, links, r.menu, nil
}

// relink replaces a link to a file of the repository by one to its page, and returns
// the file's name; a folder's name ends in a slash. Links to other sites stay as they are.
func relink(from fs.FS, p *page, destination *[]byte) (name string, err error) {
	to, part, _ := strings.Cut(string(*destination), "#")
	if to == "" || isExternal(to) {
		return "", nil
	}
	name = path.Join(path.Dir(p.Name), to)
	info, err := fs.Stat(from, name)
	if err != nil {
		return "", fmt.Errorf("the link to %s does not resolve: %w", to, err)
	}
	at := name
	if info.IsDir() {
		at += "/"
	}
	link := relative(p.Out, address(at))
	if part != "" {
		link += "#" + part
	}
	*destination = []byte(link)
	return name, nil
}

// slugs gives headings the anchors that GitHub gives them, so that links work in both.
type slugs map[string]int

func (s slugs) Generate(value []byte, _ ast.NodeKind) []byte {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(value)))
	n := s[slug]
	s[slug]++
	if n > 0 {
		slug = fmt.Sprintf("%s-%d", slug, n)
	}
	return []byte(slug)
}

func (s slugs) Put(value []byte) { s[string(value)]++ }

// blocks renders code in colors, puts tables into boxes that scroll, and makes pictures
// links to themselves.
type blocks struct{}

func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		code := node.(*ast.FencedCodeBlock)
		var lines strings.Builder
		for i := range code.Lines().Len() {
			line := code.Lines().At(i)
			lines.Write(line.Value(source))
		}
		return ast.WalkSkipChildren, highlight(w, string(code.Language(source)), lines.String(), false)
	})
	r.Register(ast.KindImage, func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		at := html.EscapeString(string(node.(*ast.Image).Destination))
		_, err := fmt.Fprintf(w, `<a class=picture href="%[1]s"><img src="%[1]s" alt="%[2]s"></a>`, at, html.EscapeString(plain(node, source)))
		return ast.WalkSkipChildren, err
	})
	r.Register(extast.KindTable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		tag := "<div class=table tabindex=0><table>\n"
		if !entering {
			tag = "</table></div>\n"
		}
		_, err := w.WriteString(tag)
		return ast.WalkContinue, err
	})
}
