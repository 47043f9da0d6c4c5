package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// repository is this repository.
const repository = "../.."

// TestRepository: the site of this repository has every document, and each is in the
// menu or reached from a page in the menu.
func TestRepository(t *testing.T) {
	top := os.DirFS(repository)
	files, err := Build(top)
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(top, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && name != "." || entry.Name() == "testdata" || entry.Name() == "bin") {
			return fs.SkipDir
		}
		if filepath.Ext(name) == ".md" && files[address(name)] == nil {
			t.Errorf("%s is not in the site: link to it, for example in %s", name, index)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	home := string(files["index.html"])
	for _, want := range []string{`href="docs/choosing.html"`, `aria-current="page"`, `href="source/sluice.go.html"`} {
		if !strings.Contains(home, want) {
			t.Errorf("index.html has no %s", want)
		}
	}
}

// small returns a small repository whose site has no errors.
func small() fstest.MapFS {
	return fstest.MapFS{
		"README.md":      {Data: []byte("# Home\n\n![a boat](docs/boat.svg)\n\n[documents](docs/README.md), [code](lib/a.go), [folder](lib), [out](https://example.com)\n")},
		"docs/README.md": {Data: []byte("# Documents\n\n## Start\n\n* [Home](../README.md): and [not this](more.md#part-two).\n* [More](more.md): of it.\n")},
		"docs/more.md":   {Data: []byte("# More\n\nOn <boats>.\n\n## Part `two`\n\n```go\nvar x = \"<b>\"\n```\n\n| a | b |\n|---|---|\n| oars | sails |\n")},
		"docs/boat.svg":  {Data: []byte("<svg/>")},
		"lib/a.go":       {Data: []byte("package lib // <a href=nowhere>\n")},
		"lib/sub/b.go":   {Data: []byte("package sub\n")},
	}
}

func TestSmall(t *testing.T) {
	files, err := Build(small())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"docs/boat.svg", "docs/index.html", "docs/more.html", "index.html", "search-index.js", "site.css", "site.js",
		"source/lib/a.go.html", "source/lib/index.html"}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Fatalf("files %q, want %q", got, want)
	}
	for name, parts := range map[string][]string{
		"index.html":            {`<title>sluice</title>`, `<a class=picture href="docs/boat.svg"><img src="docs/boat.svg" alt="a boat"></a>`, `href="source/lib/index.html"`, `href="https://example.com"`},
		"docs/more.html":        {`<title>More · sluice</title>`, `href="../index.html"`, `href="more.html" aria-current="page"`, `<h2 id="part-two">`, `&#34;&lt;b&gt;&#34;`, `<div class=table tabindex=0>`},
		"source/lib/index.html": {`href="a.go.html"`},
		"source/lib/a.go.html":  {`id="L1"`, `&lt;a href=nowhere&gt;`},
		"search-index.js":       {`{"l":"docs/more.html#part-two","p":"More","h":"Part two","t":"var x = \"\u003cb\u003e\" a b oars sails"}`},
	} {
		for _, part := range parts {
			if !strings.Contains(string(files[name]), part) {
				t.Errorf("%s has no %s:\n%s", name, part, files[name])
			}
		}
	}
	if home := string(files["index.html"]); strings.Count(home, "<h2>") != 1 || strings.Contains(home, "not this") {
		t.Errorf("the menu has more than the first link of each item:\n%s", home)
	}
}

func TestPlanted(t *testing.T) {
	for _, planted := range []struct{ name, text, want string }{
		{"README.md", "# Home\n[gone](gone.md)\n", "README.md: the link to gone.md does not resolve"},
		{"docs/more.md", "# More\n[part](#gone)\n", "docs/more.html: the link to #gone leads to no heading"},
		{"docs/more.md", "# More\n## Part two\n[l](../lib/a.go#L9)\n", "docs/more.html: the link to ../source/lib/a.go.html#L9 leads to no heading"},
		{"docs/more.md", "no title\n", "docs/more.md: the document has no title"},
		{"docs/more.md", "# More\n## Part two\n<a href=gone.html>raw</a>\n<img src=\"gone.png\">\n", ""},
		{"lib/a.go", "\xff", "lib/a.go is too large or not text"},
	} {
		tree := small()
		tree[planted.name] = &fstest.MapFile{Data: []byte(planted.text)}
		_, err := Build(tree)
		if planted.want == "" && err == nil { // raw HTML is left out, so its links are, too
			continue
		}
		if err == nil || !strings.Contains(err.Error(), planted.want) {
			t.Errorf("%q in %s: got %v, want an error with %q", planted.text, planted.name, err, planted.want)
		}
	}
	for _, tag := range []string{`<a href="gone.html">`, `<img src=gone.png>`, `<source srcset="index.html, gone.png 2x">`} {
		if err := checkLinks(map[string][]byte{"index.html": []byte(tag)}); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
			t.Errorf("%s: got %v", tag, err)
		}
	}
}

func TestRelative(t *testing.T) {
	for _, c := range [][3]string{
		{"index.html", "docs/a.html", "docs/a.html"},
		{"docs/a.html", "index.html", "../index.html"},
		{"docs/a.html", "docs/b.html", "b.html"},
		{"docs/adr/a.html", "docs/b.html", "../b.html"},
		{"docs/a.html", "source/docs/a.html", "../source/docs/a.html"},
	} {
		if got := relative(c[0], c[1]); got != c[2] {
			t.Errorf("from %s to %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// TestRun: a site replaces an earlier one, and nothing else.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	for range 2 {
		if err := run(repository, folder); err != nil {
			t.Fatal(err)
		}
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(repository, other); err == nil || !strings.Contains(err.Error(), "choose another folder") {
		t.Errorf("over other files: %v", err)
	}
}
