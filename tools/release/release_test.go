package main

import (
	"context"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/exp/apidiff"
)

// TestRelease releases a small repository: the tags, and what they have, are complete,
// and the working branch is as before. The modules can be used from the folder that keeps
// them. A later version must fit its changes.
func TestRelease(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := plant(t, nil)
	before := git(t, r, "rev-parse", "HEAD")
	proxy := filepath.Join(t.TempDir(), "proxy")
	if err := release(ctx, r.dir, "v0.1.0", proxy); err != nil {
		t.Fatal(err)
	}
	useFrom(t, proxy)
	for _, invalid := range []string{proxy, "proxy"} {
		if err := release(ctx, r.dir, "v0.2.0", invalid); err == nil || !strings.Contains(err.Error(), "invalid proxy") {
			t.Errorf("%s: %v", invalid, err)
		}
	}
	if now := git(t, r, "rev-parse", "HEAD"); now != before || git(t, r, "status", "--porcelain") != "" {
		t.Error("the working branch has changed")
	}
	if tags := git(t, r, "tag"); tags != "cmd/sluice/v0.1.0\nspill/v0.1.0\nv0.1.0" {
		t.Errorf("tags: %q", tags)
	}
	if git(t, r, "rev-parse", "v0.1.0^{commit}") != git(t, r, "rev-parse", "release-v0.1.0~1") || git(t, r, "rev-parse", "release-v0.1.0~2") != before {
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
		text := git(t, r, "show", want.file)
		if !strings.Contains(text, want.has) || strings.Contains(text, want.has_not) {
			t.Errorf("%s (want %q in it, and no %q):\n%s", want.file, want.has, want.has_not, text)
		}
	}

	git(t, r, "merge", "--quiet", "--ff-only", "release-v0.1.0")
	changelog := strings.Replace(git(t, r, "show", "HEAD:CHANGELOG.md"), "## Unreleased\n", "## Unreleased\n\n* Triple, and no Four.\n", 1)
	commitChanges(t, r, map[string]string{
		"CHANGELOG.md":       changelog,
		"mini.go":            planted["mini.go"] + "\n// Triple returns 3n.\nfunc Triple(n int) int { return 3 * n }\n",
		"spill/spill.go":     "// Package spill is planted.\npackage spill\n\nimport \"github.com/sluice-planted/mini\"\n\n// Six is 6.\nvar Six = mini.Triple(2)\n",
		"cmd/sluice/main.go": strings.ReplaceAll(planted["cmd/sluice/main.go"], "spill.Four", "spill.Six"),
	})
	if err := release(ctx, r.dir, "v0.1.1", ""); err == nil || !strings.Contains(err.Error(), "must raise the minor version of v0.1.0 (github.com/sluice-planted/mini/spill: incompatible: Four: removed)") {
		t.Errorf("v0.1.1, without Four: %v", err)
	}
	if err := checkRelease(ctx, r.dir); err != nil {
		t.Errorf("the version after v0.1.0: %v", err)
	}
	if tags := git(t, r, "tag"); strings.Contains(tags, "v0.1.1") || strings.Contains(tags, "v0.2.0") {
		t.Errorf("a failed release or a check has left tags: %q", tags)
	}
}

// useFrom uses the latest version of the planted modules from a folder, with the documented
// settings of the go command and no others. There is no way to the network.
func useFrom(t *testing.T, proxy string) {
	t.Helper()
	const root = "github.com/sluice-planted/mini"
	dir := t.TempDir()
	env := append(from(proxy, root, "off"), "GOENV=off", "GOWORK=off", "GOFLAGS=-modcacherw", "GOSUMDB=sum.golang.org", "GOPATH="+filepath.Join(dir, "go"), "GOMODCACHE=")
	const program = "package main\n\nimport _ \"" + root + "/spill\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"go mod init example.com/user", "go get " + root + "/spill@latest", "go build", "go mod tidy", "go build",
		"go install " + root + "/cmd/sluice@latest", "go/bin/sluice version",
	} {
		words := strings.Fields(command)
		out, err := run(context.Background(), dir, env, words[0], words[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		if words[0] != "go" && !strings.HasPrefix(string(out), "sluice v0.1.0, 4\n") {
			t.Errorf("%s: %q", command, out)
		}
	}
}

// TestRefused: what is wrong before the work begins.
func TestRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	refused := func(r repository, version, want string) {
		t.Helper()
		if err := release(ctx, r.dir, version, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", version, err, want)
		}
	}
	r := plant(t, nil)
	for _, version := range []string{"", "0.1.0", "v0.1", "v1", "v0.1.0+meta", "v0.0.0-20261124033933-0123456789ab", "latest"} {
		refused(r, version, "invalid version")
	}
	refused(r, "v2.0.0", "major version")
	writeFile(t, r, "new", "text")
	refused(r, "v0.1.0", "uncommitted changes")
	git(t, r, "clean", "--quiet", "--force")
	git(t, r, "tag", "spill/v0.1.0")
	refused(r, "v0.1.0", "the tag spill/v0.1.0 exists")
	git(t, r, "tag", "v0.3.0")
	refused(r, "v0.2.0", "is not higher than v0.3.0")
	git(t, r, "branch", "release-v0.4.0")
	refused(r, "v0.4.0", "the branch release-v0.4.0 exists")
	commitChanges(t, r, map[string]string{"CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n## v0.3.0\n\n* Old.\n"})
	refused(r, "v0.5.0", "lists no changes")
	commitChanges(t, r, map[string]string{"CHANGELOG.md": "# Changelog\n"})
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
		{"a module that does not build", "go get: ",
			map[string]string{"spill/spill.go": "package spill\n\nimport \"github.com/sluice-planted/mini\"\n\nvar Four = mini.Triple(2)\n"}},
		{"a file that git does not have", "go get: ",
			map[string]string{"mini.go": planted["mini.go"] + "\nvar _ = generated\n", ".gitignore": "generated.go\n", "generated.go": "package mini\n\nconst generated = 1\n"}},
		{"a tool that does not know its version", "go install: sluice version prints",
			map[string]string{"cmd/sluice/main.go": strings.Replace(planted["cmd/sluice/main.go"], "info.Main.Version", `"unknown"`, 1)}},
		{"a lab that writes no report", "the lab wrote no report.html",
			map[string]string{"cmd/sluice/main.go": strings.Replace(planted["cmd/sluice/main.go"], `, "report.html"`, "", 1)}},
		{"a README without installation", `README.md has no line "go get`,
			map[string]string{"README.md": strings.Replace(planted["README.md"], "@v0.0.0", "", 1)}},
		{"a test of the documents that fails", "documents: in",
			map[string]string{"docs/docs_test.go": strings.Replace(planted["docs/docs_test.go"], "*testing.T) {}", "t *testing.T) { t.Fail() }", 1)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := plant(t, test.changes)
			before := git(t, r, "for-each-ref")
			err := release(context.Background(), r.dir, "v0.1.0", "")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error with %q", err, test.want)
			}
			if now := git(t, r, "for-each-ref"); now != before || git(t, r, "status", "--porcelain") != "" {
				t.Errorf("it changed the repository: %s", now)
			}
		})
	}
}

// TestTidy: a go.sum that lacks a hash is found.
func TestTidy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w, err := newWorkshop(ctx, plant(t, nil), "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if err := w.prepare(ctx, true); err != nil {
		t.Fatal(err)
	}
	if err := w.workspace(ctx); err != nil {
		t.Error(err)
	}
	if err := w.tidy(ctx); err != nil {
		t.Error(err)
	}
	if err := w.clone.write("spill/go.sum", []byte("github.com/sluice-planted/mini v0.1.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.tidy(ctx); err == nil || !strings.Contains(err.Error(), "checksum mismatch") {
		t.Errorf("with a wrong hash: %v", err)
	}
	if err := w.clone.write("spill/spill.go", []byte("package spill\n\nimport _ \"github.com/sluice-planted/mini/gone\"\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.workspace(ctx); err == nil {
		t.Error("a workspace with an import of nothing was accepted")
	}
}

func TestChangelog(t *testing.T) {
	day := time.Date(2026, 11, 24, 23, 0, 0, 0, time.UTC)
	const before, after = "# C\n\n## Unreleased\n\n* New.\n\n## v0.1.0\n\n* Old.\n", "# C\n\n## v0.2.0 - 2026-11-24\n\n* New.\n\n## v0.1.0\n\n* Old.\n"
	got, err := dated([]byte(before), "v0.2.0", day, true)
	if err != nil || string(got) != after {
		t.Errorf("%q, %v", got, err)
	}
	if again, err := reopened(got); err != nil || string(again) != "# C\n\n## Unreleased\n\n## v0.2.0 - 2026-11-24\n\n* New.\n\n## v0.1.0\n\n* Old.\n" {
		t.Errorf("%q", again)
	}
	if got, err := dated([]byte("# C\n\n## Unreleased\n\n## v0.1.0\n\n* Old.\n"), "v0.2.0", day, false); err != nil || !strings.Contains(string(got), "## v0.2.0") {
		t.Errorf("a check without changes: %q, %v", got, err)
	}
}

// TestAllowed: which version each change needs.
func TestAllowed(t *testing.T) {
	added := change{"m", apidiff.Change{Message: "A: added", Compatible: true}}
	removed := change{"m", apidiff.Change{Message: "R: removed"}}
	for _, test := range []struct {
		last, version string
		change        change
		allowed       bool
	}{
		{"v0.1.0", "v0.1.1", added, true},
		{"v0.1.0", "v0.1.1", removed, false},
		{"v0.1.0", "v0.2.0", removed, true},
		{"v0.9.0", "v1.0.0", removed, true},
		{"v1.0.0", "v1.0.1", added, false},
		{"v1.0.0", "v1.1.0", added, true},
		{"v1.0.0", "v1.1.0", removed, false},
	} {
		if err := allowed(test.last, test.version, []change{test.change}); (err == nil) != test.allowed {
			t.Errorf("%s to %s, %v: %v", test.last, test.version, test.change, err)
		}
		if err := allowed(test.last, test.version, nil); err != nil {
			t.Errorf("%s to %s without a change: %v", test.last, test.version, err)
		}
	}
}

// TestCompareAPI: packages that come and go.
func TestCompareAPI(t *testing.T) {
	old, kept, young := types.NewPackage("old", "old"), types.NewPackage("kept", "kept"), types.NewPackage("young", "young")
	got := fmt.Sprint(compareAPI(map[string]*types.Package{"old": old, "kept": kept}, map[string]*types.Package{"kept": kept, "young": young}))
	if want := "[old: incompatible: removed young: added]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNext(t *testing.T) {
	for last, want := range map[string]string{"": "v0.1.0", "v0.1.0": "v0.2.0", "v0.9.3": "v0.10.0", "v1.2.3-rc.1": "v1.3.0"} {
		if got := next(last); got != want {
			t.Errorf("after %q: %s, want %s", last, got, want)
		}
	}
}

func TestInOrder(t *testing.T) {
	at := func(dir string, needs ...string) module {
		path := strings.TrimSuffix("m/"+dir, "/.")
		return module{dir: dir, path: path, needs: append(needs, "example.com/other")}
	}
	ordered, err := inOrder([]module{at("a", "m", "m/z"), at("z", "m"), at("b", "m"), at(".")})
	var got []string
	for _, m := range ordered {
		got = append(got, m.tag("v1.0.0"))
	}
	if order := strings.Join(got, " "); err != nil || order != "v1.0.0 b/v1.0.0 z/v1.0.0 a/v1.0.0" {
		t.Errorf("%s, %v", order, err)
	}
	if _, err := inOrder([]module{at("."), at("a", "m/b"), at("b", "m/a")}); err == nil {
		t.Error("a cycle was accepted")
	}
	if _, err := inOrder([]module{at("."), {dir: "a", path: "m/b"}}); err == nil {
		t.Error("a module path that differs from its folder was accepted")
	}
}
