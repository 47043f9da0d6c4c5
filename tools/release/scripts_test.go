package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLicenses: the licenses of all modules come with a binary, and a module without one
// is an error.
func TestLicenses(t *testing.T) {
	t.Parallel()
	r := plant(t, map[string]string{
		"other/go.mod":       "module example.com/other\n\ngo 1.25\n",
		"other/other.go":     "package other\n",
		"other/COPYING.txt":  "Take it.\n",
		"cmd/sluice/go.mod":  planted["cmd/sluice/go.mod"] + "require example.com/other v0.0.0\n\nreplace example.com/other => ../../other\n",
		"cmd/sluice/main.go": strings.Replace(planted["cmd/sluice/main.go"], "import (", "import (\n\t_ \"example.com/other\"\n", 1),
	})
	text, err := r.script(t, nil, "licenses.sh", "cmd/sluice")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sluice\n\nAnything is allowed.", "Go's standard library\n\n", "Go Authors", "example.com/other v0.0.0\n\nTake it."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	r.commit(t, map[string]string{"other/COPYING.txt": ""})
	if _, err := r.script(t, nil, "licenses.sh", "cmd/sluice"); err == nil || !strings.Contains(err.Error(), "example.com/other v0.0.0 has no license") {
		t.Errorf("without a license: %v", err)
	}
}

// builder takes the place of GoReleaser: it builds for this machine, with the build cache
// of this machine, and with a fault.
const builder = `#!/usr/bin/env bash
set -euo pipefail
[ "$*" = "release --clean --skip=publish" ] && [ -s LICENSES.txt ] && [ "$GORELEASER_CURRENT_TAG" = v0.1.0 ]
mkdir -p dist/host
eval "$BEFORE"
(cd cmd/sluice && GOCACHE=$CACHE go build -trimpath -buildvcs=true -o ../../dist/host/sluice .)
cd dist
touch sluice.tar.gz sluice.zip sluice.cdx.json
eval "$AFTER"
sha256sum sluice.* >SHA256SUMS
eval "$LAST"
`

// TestBinaries runs binaries.sh on a repository whose tool requires nothing.
func TestBinaries(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "goreleaser"), []byte(builder), 0o777); err != nil {
		t.Fatal(err)
	}
	cache, err := run(".", nil, "go", "env", "GOCACHE")
	if err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{}
	for _, name := range []string{"binaries.sh", "licenses.sh"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		scripts["tools/release/"+name] = string(text)
	}
	r := plant(t, scripts)
	r.commit(t, map[string]string{"cmd/sluice/go.mod": "module github.com/sluice-planted/mini/cmd/sluice\n\ngo 1.25\n", "cmd/sluice/main.go": "package main\n\nfunc main() {}\n"})
	tag := func() { r.git(t, "tag", "--force", "v0.1.0"); r.git(t, "tag", "--force", "cmd/sluice/v0.1.0") }
	tag()
	build := func(faults ...string) (string, error) {
		env := append([]string{"PATH=" + path + ":" + os.Getenv("PATH"), "CACHE=" + cache, "BEFORE=", "AFTER=", "LAST="}, faults...)
		return r.script(t, env, "binaries.sh", "v0.1.0")
	}
	refused := func(name, want string, faults ...string) {
		t.Helper()
		if _, err := build(faults...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", name, err, want)
		}
		if entries, err := os.ReadDir(filepath.Join(string(r), "bin")); err == nil {
			t.Errorf("%s: it left %v", name, entries)
		}
	}
	refused("two builds", "two builds of v0.1.0 differ", "AFTER=pwd >sluice.zip")
	refused("a wrong checksum", "sluice.zip: FAILED", "LAST=echo x >sluice.zip")
	refused("changed files", "was not built with", "BEFORE=echo '// x' >>cmd/sluice/main.go")
	refused("another commit", "was not built with", "BEFORE=git -c user.name=x -c user.email=x@example.com commit --quiet --allow-empty --message x")
	if out, err := build(); err != nil || !strings.Contains(out, "4 files in ") {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := build(); err == nil || !strings.Contains(err.Error(), "exists: remove it first") {
		t.Errorf("a second time: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(string(r), "bin")); err != nil {
		t.Fatal(err)
	}
	r.commit(t, map[string]string{"cmd/sluice/go.mod": planted["cmd/sluice/go.mod"], "cmd/sluice/main.go": planted["cmd/sluice/main.go"]})
	tag()
	refused("a module of the repository by replace", "has a replaced module")
}
