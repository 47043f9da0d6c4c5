package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// A module is one of the modules that are released.
type module struct {
	dir   string   // from the root of the repository, "." for the root
	path  string   // its import path
	goes  string   // the version of Go in its go.mod
	needs []string // the paths of the other modules that it requires
}

// tag is the name of the tag of a version of this module.
func (m module) tag(version string) string { return path.Join(m.dir, version) }

// file is the path of one of the module's files from the root of the repository.
func (m module) file(name string) string { return path.Join(m.dir, name) }

// at is the module with its version, as for go get.
func (m module) at(version string) string { return m.path + "@" + version }

// tags returns the names of all tags, the root's first.
func (w *workshop) tags() string {
	var names []string
	for _, m := range w.modules {
		names = append(names, m.tag(w.version))
	}
	return strings.Join(names, " ")
}

// outside are patterns of the folders of modules for users that go.work does not use: to test the
// others, nobody should have to download what these require.
var outside = []string{"contrib/*", "spill/otelstorage"}

// readModules returns the modules of go.work and those in outside, each after those that it requires,
// and the root first.
func readModules(top string) ([]module, error) {
	text, err := os.ReadFile(filepath.Join(top, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, use := range work.Use {
		dirs = append(dirs, path.Clean(use.Path))
	}
	for _, pattern := range outside {
		found, err := fs.Glob(os.DirFS(top), pattern+"/go.mod")
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			dirs = append(dirs, path.Dir(file))
		}
	}
	var modules []module
	for _, dir := range dirs {
		m, err := readModule(top, dir)
		if err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	if !slices.ContainsFunc(modules, func(m module) bool { return m.dir == "." }) {
		return nil, fmt.Errorf("go.work does not use the root")
	}
	return inOrder(modules)
}

// readModule reads a go.mod.
func readModule(top, dir string) (module, error) {
	text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(dir), "go.mod"))
	if err != nil {
		return module{}, err
	}
	file, err := modfile.Parse(path.Join(dir, "go.mod"), text, nil)
	if err != nil {
		return module{}, err
	}
	if file.Go == nil {
		return module{}, fmt.Errorf("%s/go.mod has no go line", dir)
	}
	m := module{dir: dir, path: file.Module.Mod.Path, goes: file.Go.Version}
	for _, required := range file.Require {
		m.needs = append(m.needs, required.Mod.Path)
	}
	return m, nil
}

// inOrder sorts modules such that each comes after those that it needs, and otherwise
// by path, and keeps in needs only the paths of these modules. A module's path
// must be the root's with its folder, because tags are named after folders.
func inOrder(modules []module) (ordered []module, err error) {
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	root := modules[slices.IndexFunc(modules, func(m module) bool { return m.dir == "." })].path
	ours := map[string]bool{}
	for _, m := range modules {
		if m.path != path.Join(root, m.dir) {
			return nil, fmt.Errorf("%s/go.mod: module %s (want %s)", m.dir, m.path, path.Join(root, m.dir))
		}
		ours[m.path] = true
	}
	placed := map[string]bool{}
	for len(ordered) < len(modules) {
		before := len(ordered)
		for _, m := range modules {
			m.needs = slices.DeleteFunc(slices.Clone(m.needs), func(path string) bool { return !ours[path] })
			if !placed[m.path] && !slices.ContainsFunc(m.needs, func(path string) bool { return !placed[path] }) {
				ordered, placed[m.path] = append(ordered, m), true
			}
		}
		if len(ordered) == before {
			return nil, fmt.Errorf("modules that require each other: they cannot be released together")
		}
	}
	if ordered[0].dir != "." {
		return nil, fmt.Errorf("the root module requires %s, or %s does not require it", ordered[0].path, ordered[0].path)
	}
	return ordered, nil
}
