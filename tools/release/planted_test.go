// Package release tests the scripts of its folder on small repositories.
package release

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted are the files of a small repository of three modules, with one file for each
// thing that a release needs. Its path has to be of a host whose repositories the go
// command knows without asking.
var planted = map[string]string{
	"go.work":           "go 1.25.0\n\nuse (\n\t.\n\t./cmd/sluice\n\t./spill\n)\n",
	"go.mod":            "module github.com/sluice-planted/mini\n\ngo 1.25\n",
	"mini.go":           "// Package mini is planted.\npackage mini\n\n// Double returns 2n.\nfunc Double(n int) int { return 2 * n }\n",
	"LICENSE":           "Anything is allowed.\n",
	"docs/docs_test.go": "package docs\n\nimport \"testing\"\n\nfunc TestDocuments(*testing.T) {}\n",
	"CHANGELOG.md":      "# Changelog\n\n## Unreleased\n\n### Added\n\n* Double.\n",
	"README.md": "# mini\n\n**Installation.** Not published yet: it needs a checkout in `../sluice`. In a module:\n\n```sh\n" +
		"go mod edit -replace=github.com/sluice-planted/mini=../sluice\ngo get github.com/sluice-planted/mini@v0.0.0\n" +
		"go -C ../sluice/cmd/sluice install .\n```\n",
	"docs/releases.md":  "# Installing\n\nNot published yet: use\na checkout.\n\n## From a checkout\n",
	"spill/go.mod":      nested("spill", "github.com/sluice-planted/mini"),
	"spill/spill.go":    "// Package spill is planted.\npackage spill\n\nimport \"github.com/sluice-planted/mini\"\n\n// Four is 4.\nvar Four = mini.Double(2)\n",
	"cmd/sluice/go.mod": nested("cmd/sluice", "github.com/sluice-planted/mini", "github.com/sluice-planted/mini/spill"),
	"cmd/sluice/main.go": `package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	_ "github.com/sluice-planted/mini"
	"github.com/sluice-planted/mini/spill"
)

func main() {
	info, _ := debug.ReadBuildInfo()
	if os.Args[1] == "version" {
		version := info.Main.Version
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				version += " (commit " + setting.Value[:12] + ")"
			}
		}
		fmt.Printf("sluice %s, %d\n", version, spill.Four)
		return
	}
	to := os.Args[len(os.Args)-1]
	_ = os.Mkdir(to, 0o777)
	for _, name := range []string{"results.txt", "results.json", "report.html"} {
		_ = os.WriteFile(filepath.Join(to, name), []byte("measured"), 0o666)
	}
}
`,
}

// nested is the go.mod of a module in a folder, which requires others by replace.
func nested(dir string, required ...string) string {
	const root = "github.com/sluice-planted/mini"
	text := "module " + root + "/" + dir + "\n\ngo 1.25.0\n\n"
	up := strings.Repeat("../", strings.Count(dir, "/")+1)
	for _, path := range required {
		text += "require " + path + " v0.0.0\n\nreplace " + path + " => " + up + strings.TrimPrefix(strings.TrimPrefix(path, root), "/") + "\n\n"
	}
	return text
}

// A repository is the folder of a repository.
type repository string

// run runs a program with more of an environment and returns what it prints. The error has all
// output.
func run(dir string, env []string, name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %q: %w\n%s%s", name, args, err, messages.Bytes(), out.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}

// plant makes a repository of the planted files, with changes: a change to "" removes a
// file.
func plant(t *testing.T, changes map[string]string) repository {
	t.Helper()
	r := repository(t.TempDir())
	r.git(t, "init", "--quiet", "--initial-branch=main")
	r.git(t, "config", "user.name", "Planted")
	r.git(t, "config", "user.email", "planted@example.com")
	for name, text := range planted {
		r.write(t, name, text)
	}
	r.commit(t, changes)
	return r
}

// commit commits changes of files.
func (r repository) commit(t *testing.T, changes map[string]string) {
	t.Helper()
	for name, text := range changes {
		if text != "" {
			r.write(t, name, text)
		} else if err := os.Remove(filepath.Join(string(r), name)); err != nil {
			t.Fatal(err)
		}
	}
	r.git(t, "add", "--all")
	r.git(t, "commit", "--quiet", "--message", "planted")
}

func (r repository) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(string(r), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (r repository) git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(string(r), nil, "git", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// script runs a script of this folder in a repository.
func (r repository) script(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return run(string(r), append(env, "GOWORK=off"), "bash", append([]string{path}, args...)...)
}
