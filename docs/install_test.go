package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// library is the module path of the root, and installing the document with all commands that
// install: others repeat some of them, which checkCommand checks.
const (
	library    = "github.com/sluice-go/sluice"
	installing = "docs/releases.md"
)

// installs matches the commands that install from a checkout, and those that do so with @v0.0.0 in
// place of @latest.
var installs = regexp.MustCompile("(?m)(?:^|`)(go (?:mod edit|get|-C) [^`\n]*)")

// TestInstall: in an empty folder, a program can import the modules of this checkout, and install the
// tool, as the document says.
func TestInstall(t *testing.T) {
	suite.Needs(t, "programs, which it builds")
	text, err := os.ReadFile(path.Join(checkout, installing))
	if err != nil {
		t.Fatal(err)
	}
	sluice, err := filepath.Abs(checkout)
	if err != nil {
		t.Fatal(err)
	}
	dir, user := t.TempDir(), "package user\n\n"
	var edits, others []string
	for _, match := range installs.FindAllStringSubmatch(string(text), -1) {
		command := strings.ReplaceAll(match[1], "@latest", "@v0.0.0")
		if added, ok := strings.CutPrefix(command, "go get "); ok {
			user += fmt.Sprintf("import _ %q\n", strings.TrimSuffix(added, "@v0.0.0"))
		}
		if strings.HasPrefix(command, "go mod edit") {
			edits = append(edits, command)
		} else {
			others = append(others, command)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "user.go"), []byte(user), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(command string) error {
		words := strings.Fields(strings.ReplaceAll(command, "../sluice", sluice))
		run := exec.Command(words[0], words[1:]...)
		// The checksums of other modules are in the go.sum files of this checkout.
		run.Dir, run.Env = dir, append(os.Environ(), "GOBIN="+dir, "GOSUMDB=off")
		if out, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, out)
		}
		return nil
	}
	for _, commands := range [][]string{{"go mod init example.com/user"}, edits, others, {"go build", "go mod tidy", "go build"}} {
		for _, command := range commands {
			if err := run(command); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(edits) < 2 || len(others) < 3 {
		t.Errorf("%q and %q are few commands", edits, others)
	}
	if run("go -C ../sluice/cmd/gone install .") == nil {
		t.Error("a planted command succeeds")
	}
}
