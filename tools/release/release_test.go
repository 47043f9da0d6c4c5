package release

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// apidiff builds the program that compares APIs, once.
var apidiff = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "apidiff-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "apidiff")
	_, err = run(".", nil, "go", "build", "-o", program, "golang.org/x/exp/cmd/apidiff")
	return program, err
})

func TestMain(m *testing.M) {
	status := m.Run()
	if program, err := apidiff(); err == nil {
		os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(status)
}

// release runs release.sh.
func (r repository) release(t *testing.T, args ...string) error {
	t.Helper()
	program, err := apidiff()
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.script(t, []string{"APIDIFF=" + program}, "release.sh", args...)
	return err
}

// TestRelease releases a small repository: the tags, and what they have, are complete,
// and the working branch is as before. The modules can be used from the folder that keeps
// them. A later version must fit its changes.
func TestRelease(t *testing.T) {
	t.Parallel()
	r := plant(t, nil)
	before := r.git(t, "rev-parse", "HEAD")
	proxy := filepath.Join(t.TempDir(), "proxy")
	if err := r.release(t, "v0.1.0", proxy); err != nil {
		t.Fatal(err)
	}
	useFrom(t, proxy)
	for _, invalid := range []string{proxy, "proxy"} {
		if err := r.release(t, "v0.2.0", invalid); err == nil || !strings.Contains(err.Error(), "invalid proxy") {
			t.Errorf("%s: %v", invalid, err)
		}
	}
	if now := r.git(t, "rev-parse", "HEAD"); now != before || r.git(t, "status", "--porcelain") != "" {
		t.Error("the working branch has changed")
	}
	if tags := r.git(t, "tag"); tags != "cmd/sluice/v0.1.0\nspill/v0.1.0\nv0.1.0" {
		t.Errorf("tags: %q", tags)
	}
	if r.git(t, "rev-parse", "v0.1.0^{commit}") != r.git(t, "rev-parse", "release-v0.1.0~1") || r.git(t, "rev-parse", "release-v0.1.0~2") != before {
		t.Error("the branch is not two commits, the first of them tagged")
	}
	for _, want := range []struct {
		file         string
		has, has_not string
	}{
		{"v0.1.0:cmd/sluice/go.mod", "mini/spill v0.1.0", "replace"},
		{"v0.1.0:cmd/sluice/go.sum", "mini/spill v0.1.0 h1:", "replace"},
		{"v0.1.0:CHANGELOG.md", "## v0.1.0 - 2", "Unreleased"},
		{"v0.1.0:README.md", "**Installation.** In a module:\n\n```sh\ngo get github.com/sluice-planted/mini@latest\n", "../sluice"},
		{"v0.1.0:README.md", "\ngo install github.com/sluice-planted/mini/cmd/sluice@latest\n", "v0.0.0"},
		{"v0.1.0:docs/releases.md", "# Installing\n\n## From a checkout", "published"},
		{"release-v0.1.0:docs/releases.md", "# Installing\n\n## From a checkout", "published"},
		{"v0.1.0:go.work", "mini/spill v0.1.0 => ./spill", "\t\n"},
		{"release-v0.1.0:cmd/sluice/go.mod", "replace github.com/sluice-planted/mini/spill => ../../spill", "v0.0.0"},
		{"release-v0.1.0:go.work", "./spill", "v0.1.0"},
		{"release-v0.1.0:CHANGELOG.md", "## Unreleased\n\n## v0.1.0 - 2", "\n\n\n"},
	} {
		text := r.git(t, "show", want.file)
		if !strings.Contains(text, want.has) || strings.Contains(text, want.has_not) {
			t.Errorf("%s (want %q in it, and no %q):\n%s", want.file, want.has, want.has_not, text)
		}
	}

	r.git(t, "merge", "--quiet", "--ff-only", "release-v0.1.0")
	changelog := strings.Replace(r.git(t, "show", "HEAD:CHANGELOG.md"), "## Unreleased\n", "## Unreleased\n\n* Triple, and no Four.\n", 1)
	r.commit(t, map[string]string{
		"CHANGELOG.md":       changelog,
		"mini.go":            planted["mini.go"] + "\n// Triple returns 3n.\nfunc Triple(n int) int { return 3 * n }\n",
		"spill/spill.go":     "// Package spill is planted.\npackage spill\n\nimport \"github.com/sluice-planted/mini\"\n\n// Six is 6.\nvar Six = mini.Triple(2)\n",
		"cmd/sluice/main.go": strings.ReplaceAll(planted["cmd/sluice/main.go"], "spill.Four", "spill.Six"),
	})
	if err := r.release(t, "v0.1.1"); err == nil || !strings.Contains(err.Error(), "must raise the minor version of v0.1.0 (github.com/sluice-planted/mini/spill: - Four: removed") {
		t.Errorf("v0.1.1, without Four: %v", err)
	}
	if err := r.release(t, "check"); err != nil {
		t.Errorf("the version after v0.1.0: %v", err)
	}
	if tags := r.git(t, "tag"); strings.Contains(tags, "v0.1.1") || strings.Contains(tags, "v0.2.0") {
		t.Errorf("a failed release or a check has left tags: %q", tags)
	}
}

// useFrom uses the latest version of the planted modules from a folder, with the documented
// settings of the go command and no others. There is no way to the network.
func useFrom(t *testing.T, proxy string) {
	t.Helper()
	const root = "github.com/sluice-planted/mini"
	dir := t.TempDir()
	env := []string{"GOPROXY=file://" + proxy + ",off", "GONOSUMDB=" + root, "GOENV=off", "GOWORK=off", "GOFLAGS=-modcacherw", "GOSUMDB=sum.golang.org", "GOPATH=" + filepath.Join(dir, "go"), "GOMODCACHE="}
	const program = "package main\n\nimport _ \"" + root + "/spill\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"go mod init example.com/user", "go get " + root + "/spill@latest", "go build", "go mod tidy", "go build",
		"go install " + root + "/cmd/sluice@latest", "go/bin/sluice version",
	} {
		words := strings.Fields(command)
		out, err := run(dir, env, words[0], words[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		if words[0] != "go" && out != "sluice v0.1.0, 4" {
			t.Errorf("%s: %q", command, out)
		}
	}
}

// TestRefused: what is wrong before the work begins.
func TestRefused(t *testing.T) {
	t.Parallel()
	refused := func(r repository, version, want string) {
		t.Helper()
		if err := r.release(t, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", version, err, want)
		}
	}
	r := plant(t, nil)
	for _, version := range []string{"", "0.1.0", "v0.1", "v1", "v0.1.0+meta", "v0.0.0-20261124033933-0123456789ab", "latest"} {
		refused(r, version, "invalid version")
	}
	refused(r, "v2.0.0", "major version")
	r.write(t, "new", "text")
	refused(r, "v0.1.0", "uncommitted changes")
	r.git(t, "clean", "--quiet", "--force")
	r.git(t, "tag", "spill/v0.1.0")
	refused(r, "v0.1.0", "the tag spill/v0.1.0 exists")
	r.git(t, "tag", "v0.3.0")
	refused(r, "v0.2.0", "is not higher than v0.3.0")
	r.git(t, "branch", "release-v0.4.0")
	refused(r, "v0.4.0", "the branch release-v0.4.0 exists")
	r.commit(t, map[string]string{"CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n## v0.3.0\n\n* Old.\n"})
	refused(r, "v0.5.0", "lists no changes")
	r.commit(t, map[string]string{"CHANGELOG.md": "# Changelog\n"})
	refused(r, "v0.5.0", "no heading")
}

// TestProof plants a fault for each step of the proof.
func TestProof(t *testing.T) {
	for _, test := range []struct {
		name, want string
		changes    map[string]string
	}{
		{"a command with a replace of its own", "replaces example.com/other",
			map[string]string{"cmd/sluice/go.mod": planted["cmd/sluice/go.mod"] + "replace example.com/other => ../../spill\n"}},
		{"a module that go.work does not use", "replaces github.com/sluice-planted/mini/spill",
			map[string]string{"go.work": "go 1.25.0\n\nuse (\n\t.\n\t./cmd/sluice\n)\n"}},
		{"a module that does not build", "v0.1.0: go get: failed",
			map[string]string{"spill/spill.go": "package spill\n\nimport \"github.com/sluice-planted/mini\"\n\nvar Four = mini.Triple(2)\n"}},
		{"a file that git does not have", "v0.1.0: go get: failed",
			map[string]string{"mini.go": planted["mini.go"] + "\nvar _ = generated\n", ".gitignore": "generated.go\n", "generated.go": "package mini\n\nconst generated = 1\n"}},
		{"a tool that does not know its version", "sluice version prints",
			map[string]string{"cmd/sluice/main.go": strings.Replace(planted["cmd/sluice/main.go"], "info.Main.Version", `"unknown"`, 1)}},
		{"a lab that writes no report", "the lab wrote no report.html",
			map[string]string{"cmd/sluice/main.go": strings.Replace(planted["cmd/sluice/main.go"], `, "report.html"`, "", 1)}},
		{"a README without installation", `README.md has no line "go get`,
			map[string]string{"README.md": strings.Replace(planted["README.md"], "@v0.0.0", "", 1)}},
		{"a test of the documents that fails", "v0.1.0: documents: failed",
			map[string]string{"docs/docs_test.go": strings.Replace(planted["docs/docs_test.go"], "*testing.T) {}", "t *testing.T) { t.Fail() }", 1)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := plant(t, test.changes)
			before := r.git(t, "for-each-ref")
			err := r.release(t, "v0.1.0")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error with %q", err, test.want)
			}
			if now := r.git(t, "for-each-ref"); now != before || r.git(t, "status", "--porcelain") != "" {
				t.Errorf("it changed the repository: %s", now)
			}
		})
	}
}
