package main

import (
	"fmt"
	"path"

	"golang.org/x/mod/modfile"
)

// requireVersion changes each requirement of a module in paths to version. It keeps
// replace lines for them only if keep is set. Other replace lines are an error: go
// install refuses a command whose module has one, and all consumers ignore them.
func requireVersion(name string, text []byte, paths map[string]bool, version string, keep bool) ([]byte, error) {
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	for _, required := range file.Require {
		if paths[required.Mod.Path] {
			if err := file.AddRequire(required.Mod.Path, version); err != nil {
				return nil, err
			}
		}
	}
	for _, replaced := range file.Replace {
		switch {
		case !paths[replaced.Old.Path]:
			return nil, fmt.Errorf("%s replaces %s: not in a release: programs that require this module would not", name, replaced.Old.Path)
		case !keep:
			if err := file.DropReplace(replaced.Old.Path, replaced.Old.Version); err != nil {
				return nil, err
			}
		}
	}
	file.Cleanup()
	return file.Format()
}

// edit applies requireVersion to a module's go.mod in the clone.
func (w *workshop) edit(m module, keep bool) error {
	paths := map[string]bool{}
	for _, other := range w.modules {
		paths[other.path] = true
	}
	name := m.file("go.mod")
	return w.clone.change(name, func(text []byte) ([]byte, error) { return requireVersion(name, text, paths, w.version, keep) })
}

// folder is the path of a module's folder in the clone.
func (w *workshop) folder(m module) string { return path.Join(w.clone.dir, m.dir) }

// replaceInWork makes the workspace of a release use the folders of its modules in place
// of their versions. Otherwise the go command would look for these elsewhere, and not
// find them until they are published.
func (w *workshop) replaceInWork() error {
	return w.clone.change("go.work", func(text []byte) ([]byte, error) {
		work, err := modfile.ParseWork("go.work", text, nil)
		if err != nil {
			return nil, err
		}
		for _, m := range w.modules {
			if err := work.AddReplace(m.path, w.version, "./"+m.dir, ""); err != nil {
				return nil, err
			}
		}
		work.Cleanup()
		return modfile.Format(work.Syntax), nil
	})
}
