// Site makes a web site of the repository's documents, for reading offline or on any
// file server:
//
//	go run ./site -from .. -o ../bin/site
//
// It starts with README.md and docs/README.md and follows their links: documents become
// pages, linked source files become pages with colors and line numbers, pictures are
// copied. Every link must lead to something, or the site is not written. Each page has
// a search over all documents, which needs no server.
//
// The files: build.go follows the links, markdown.go turns a document into a page,
// source.go a source file, search.go makes the index of the search, check.go checks the
// links of the result. Why it is not one of the known generators: docs/adr/0019-docs-site.md.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	from := flag.String("from", "..", "the repository")
	to := flag.String("o", "../bin/site", "the folder to write; an earlier site there is replaced")
	flag.Parse()
	if err := run(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	files, err := Build(os.DirFS(from))
	if err != nil {
		return err
	}
	if err := clear(to); err != nil {
		return err
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o666); err != nil {
			return err
		}
		size += len(files[name])
	}
	fmt.Printf("%d files, %d kB: open %s\n", len(files), size/1000, filepath.Join(to, "index.html"))
	return nil
}

// clear removes an earlier site. It refuses a folder that has other contents.
func clear(folder string) error {
	entries, err := os.ReadDir(folder)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, indexFile)); err != nil {
		return fmt.Errorf("%s is neither empty nor an earlier site: choose another folder with -o", folder)
	}
	return os.RemoveAll(folder)
}
