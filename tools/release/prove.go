package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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

// useEach adds each module to a new program of its own, and builds a program with all
// packages of each library.
func (w *workshop) useEach(ctx context.Context) error {
	for _, m := range w.modules {
		dir, err := w.program(strings.ReplaceAll(path.Join("use", m.dir), "/", "-"), m.goes, "")
		if err != nil {
			return err
		}
		if _, err := w.goCommand(ctx, dir, w.proxies(), "get", m.at(w.version)); err != nil {
			return err
		}
		if slices.Contains(apart, m.dir) {
			continue
		}
		packages, err := w.packages(ctx, dir, m)
		if err != nil {
			return err
		}
		imports := "package main\n\nimport (\n"
		for _, p := range packages {
			imports += fmt.Sprintf("\t_ %q\n", p)
		}
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(imports+")\n\nfunc main() {}\n"), 0o666); err != nil {
			return err
		}
		if _, err := w.goCommand(ctx, dir, w.proxies(), "build", "-o", os.DevNull, "."); err != nil {
			return err
		}
	}
	return nil
}

// program makes the folder of a module outside the repository, with a main.go if there
// is a text for it.
func (w *workshop) program(name, goes, text string) (dir string, err error) {
	dir = filepath.Join(w.dir, name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	mod := fmt.Sprintf("module example.com/%s\n\ngo %s\n", path.Base(name), goes)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o666); err != nil || text == "" {
		return dir, err
	}
	return dir, os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o666)
}

// packages returns the packages of a module that others can import.
func (w *workshop) packages(ctx context.Context, dir string, m module) (importable []string, err error) {
	list := `{{if and .Module (ne .Name "main")}}{{.Module.Path}} {{.ImportPath}} {{len .GoFiles}}{{end}}`
	out, err := w.goCommand(ctx, dir, w.proxies(), "list", "-f", list, m.path+"/...")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != m.path || words[2] == "0" || slices.Contains(strings.Split(words[1], "/"), "internal") {
			continue
		}
		importable = append(importable, words[1])
	}
	if len(importable) == 0 {
		return nil, fmt.Errorf("%s has no package that others can import", m.at(w.version))
	}
	return importable, nil
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
	if err := w.saysVersion(ctx, filepath.Join(w.dir, "bin", executable(path.Base(tool), runtime.GOOS)), w.version); err != nil {
		return err
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

// saysVersion returns an error unless the tool's own account begins with the version.
func (w *workshop) saysVersion(ctx context.Context, program, version string) error {
	out, err := run(ctx, w.dir, nil, program, "version")
	if want := fmt.Sprintf("sluice %s, ", version); err == nil && !bytes.HasPrefix(out, []byte(want)) {
		err = fmt.Errorf("sluice version prints %q (want %q first)", out, want)
	}
	return err
}

// executable is the file name of a program.
func executable(name, system string) string {
	if system == "windows" {
		return name + ".exe"
	}
	return name
}
