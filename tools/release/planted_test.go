package main

import (
	"context"
	"os"
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
	"docs/releases.md": "# Installing\n\nNot published yet: use\na checkout.\n\n## From a checkout\n",
	"spill/go.mod":       nested("spill", "github.com/sluice-planted/mini"),
	"spill/spill.go":     "// Package spill is planted.\npackage spill\n\nimport \"github.com/sluice-planted/mini\"\n\n// Four is 4.\nvar Four = mini.Double(2)\n",
	"cmd/sluice/go.mod":  nested("cmd/sluice", "github.com/sluice-planted/mini", "github.com/sluice-planted/mini/spill"),
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

// plant makes a repository of the planted files, with changes: a change to "" removes a
// file.
func plant(t *testing.T, changes map[string]string) repository {
	t.Helper()
	r := repository{dir: t.TempDir()}
	git(t, r, "init", "--quiet", "--initial-branch=main")
	git(t, r, "config", "user.name", "Planted")
	git(t, r, "config", "user.email", "planted@example.com")
	for name, text := range planted {
		writeFile(t, r, name, text)
	}
	commitChanges(t, r, changes)
	return r
}

// commitChanges commits changes of files.
func commitChanges(t *testing.T, r repository, changes map[string]string) {
	t.Helper()
	for name, text := range changes {
		if text == "" {
			if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		writeFile(t, r, name, text)
	}
	git(t, r, "add", "--all")
	git(t, r, "commit", "--quiet", "--message", "planted")
}

func writeFile(t *testing.T, r repository, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := r.write(name, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, r repository, args ...string) string {
	t.Helper()
	out, err := r.git(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
