package main

import (
	"bytes"
	"context"
	"fmt"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// download reads all modules from the final tags, after it has removed all that came from
// earlier ones.
func (w *workshop) download(ctx context.Context) error {
	for _, folder := range []string{"published", "modules/" + w.root, "modules/cache/download/" + w.root} {
		if err := os.RemoveAll(filepath.Join(w.dir, filepath.FromSlash(folder))); err != nil {
			return err
		}
	}
	return w.downloadFromTags(ctx, w.modules, w.version)
}

// downloadFromTags downloads modules as the go command of a user will.
func (w *workshop) downloadFromTags(ctx context.Context, modules []module, version string) error {
	args := []string{"mod", "download"}
	for _, m := range modules {
		args = append(args, m.at(version))
	}
	_, err := w.goCommand(ctx, w.dir, w.origin(), args...)
	return err
}

// apart are the modules without a promised API: comparisons, examples, tests and the tool. They can
// be downloaded, but are not for programs by others, as all other modules are.
var apart = []string{"bench", "bench/doctorlab", "bench/logagg", "cmd/sluice", "examples/services", "stress"}

// useEach adds each module to a new program of its own, and builds all packages of each
// library there.
func (w *workshop) useEach(ctx context.Context) error {
	for _, m := range w.modules {
		dir, err := w.user(ctx, m, w.version)
		if err != nil {
			return err
		}
		if slices.Contains(apart, m.dir) {
			continue
		}
		if w.api[m.path], err = w.load(ctx, dir, m); err != nil {
			return err
		}
	}
	return nil
}

// user makes the folder of a program that requires a version of a module. The module's go.sum
// is there, so all that the go command could ask a checksum database for are our versions,
// which none has before they are published.
func (w *workshop) user(ctx context.Context, m module, version string) (dir string, err error) {
	name := strings.ReplaceAll(path.Join("use", version, m.dir), "/", "-")
	sums, _ := w.clone.git(ctx, "show", m.tag(version)+":"+m.file("go.sum")) // none if it requires nothing
	dir = filepath.Join(w.dir, name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	for file, text := range map[string]string{"go.mod": fmt.Sprintf("module example.com/%s\n\ngo %s\n", name, m.goes), "go.sum": sums + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			return "", err
		}
	}
	_, err = w.goCommand(ctx, dir, append(w.proxies(), "GOSUMDB=sum.golang.org"), "get", m.at(version))
	return dir, err
}

// load builds and returns the packages of a module that others can import, for a program
// that requires the module.
func (w *workshop) load(ctx context.Context, dir string, m module) (map[string]*types.Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Env: append(os.Environ(), w.settings(w.proxies()...)...),
		Mode: packages.LoadTypes | packages.NeedExportFile | packages.NeedModule,
	}, m.path+"/...")
	if err != nil {
		return nil, err
	}
	exported := map[string]*types.Package{}
	for _, p := range loaded {
		if p.Module == nil || p.Module.Path != m.path || p.Name == "main" || len(p.GoFiles) == 0 || slices.Contains(strings.Split(p.PkgPath, "/"), "internal") {
			continue
		}
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		exported[p.PkgPath] = p.Types
	}
	if len(exported) == 0 {
		return nil, fmt.Errorf("%s has no package that others can import", m.path)
	}
	return exported, nil
}

// tool is the folder of the command that can be installed.
const tool = "cmd/sluice"

// install installs the tool, and runs it: what is installed says its version, and go run
// measures one experiment of the lab.
func (w *workshop) install(ctx context.Context) error {
	at := path.Join(w.root, tool) + "@" + w.version
	if _, err := w.goCommand(ctx, w.dir, w.proxies(), "install", at); err != nil {
		return err
	}
	out, err := run(ctx, w.dir, nil, filepath.Join(w.dir, "bin", path.Base(tool)), "version")
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("sluice %s, ", w.version); !bytes.HasPrefix(out, []byte(want)) {
		return fmt.Errorf("sluice version prints %q (want %q first)", out, want)
	}
	results := filepath.Join(w.dir, "lab")
	if _, err := w.goCommand(ctx, w.dir, w.proxies(), "run", at, "lab", "direct-send", "-quick", "-o", results); err != nil {
		return err
	}
	for _, name := range []string{"results.txt", "results.json", "report.html"} {
		if info, err := os.Stat(filepath.Join(results, name)); err != nil || info.Size() == 0 {
			return fmt.Errorf("the lab wrote no %s (%w)", name, err)
		}
	}
	return nil
}

// documents runs the tests of the documents, some of which the release has changed.
func (w *workshop) documents(ctx context.Context) error {
	_, err := w.goCommand(ctx, w.clone.dir, w.checkedOut(), "test", "./docs")
	return err
}
