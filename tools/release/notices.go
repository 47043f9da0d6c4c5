package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	versions "golang.org/x/mod/module"
)

// notices are the licenses of the modules in the binaries, by module and version. Most
// of them demand that their text comes with a binary.
type notices map[string][]byte

// add reads the licenses of modules in a module cache. A module without one is an error.
func (n *notices) add(cache string, modules []*debug.Module) error {
	if *n == nil {
		*n = notices{}
	}
	for _, m := range modules {
		path, err := versions.EscapePath(m.Path)
		if err != nil {
			return err
		}
		version, err := versions.EscapeVersion(m.Version)
		if err != nil {
			return err
		}
		text, err := licenses(filepath.Join(cache, filepath.FromSlash(path)+"@"+version))
		if err != nil {
			return fmt.Errorf("%s %s: %w", m.Path, m.Version, err)
		}
		(*n)[m.Path+" "+m.Version] = text
	}
	return nil
}

// licenses returns the files of a folder that state its license.
func licenses(folder string) ([]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, entry := range entries {
		name, _, _ := strings.Cut(strings.ToUpper(entry.Name()), ".")
		if entry.IsDir() || !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		all = fmt.Appendf(all, "%s\n\n", bytes.TrimSpace(text))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no license in %s", folder)
	}
	return all, nil
}

// text returns all licenses: the repository's, Go's and each module's.
func (n notices) text(repository, goroot string) ([]byte, error) {
	own, err := licenses(repository)
	if err != nil {
		return nil, err
	}
	standard, err := licenses(goroot)
	if err != nil {
		return nil, err
	}
	text := fmt.Appendf(nil, "sluice\n\n%s\nGo's standard library\n\n%s", own, standard)
	for _, name := range slices.Sorted(maps.Keys(n)) {
		text = fmt.Appendf(text, "%s\n\n%s", name, n[name])
	}
	return text, nil
}
