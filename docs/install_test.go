package docs

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-go/sluice/internal/suite"
)

// installing is the document with the commands that other documents leave out.
const installing = "docs/installing.md"

// TestInstall: in an empty folder, a program can use this checkout as each document says.
func TestInstall(t *testing.T) {
	top, tested := os.DirFS(checkout), 0
	for _, name := range find(t, top, ".md") {
		commands, err := installCommands(top, name)
		if err != nil {
			t.Error(err)
		}
		if len(commands) == 0 {
			continue
		}
		tested++
		t.Run(name, func(t *testing.T) {
			suite.Needs(t, "a program, which it builds")
			t.Parallel()
			if err := install(t.TempDir(), commands); err != nil {
				t.Error(err)
			}
		})
	}
	if tested < 2 {
		t.Errorf("%d documents with commands that install", tested)
	}
}

// TestPlantedInstall breaks each rule for commands that install once.
func TestPlantedInstall(t *testing.T) {
	suite.Needs(t, "programs, which it builds")
	tree := fstest.MapFS{
		installing: {Data: []byte("```sh\ngo mod edit -replace=" + library + "=../sluice # once\nexport GOPROXY=off\n```\n")},
		"GOOD.md":  {Data: []byte("`go get " + library + "@latest`, [more](docs/installing.md)\n\n```sh\ngo install " + library + "/cmd/sluice@latest\n```\n")},
		"GONE.md":  {Data: []byte("`go get " + library + "/gone@latest`, [more](docs/installing.md)\n")},
		"OTHER.md": {Data: []byte("`go get " + library + "@latest`\n")},
		"NONE.md":  {Data: []byte("`go mod tidy`\n")},
	}
	for name, want := range map[string]string{"GOOD.md": "", "GONE.md": "gone@v0.0.0: exit status 1", "OTHER.md": "no link to docs/installing.md", "NONE.md": ""} {
		commands, err := installCommands(tree, name)
		if err == nil {
			err = install(t.TempDir(), commands)
		}
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want an error with %q", name, err, want)
		}
	}
}

// installs matches the commands that install from a checkout, and those that do so with
// @v0.0.0 in place of @latest.
var installs = regexp.MustCompile("(?m)(?:^|`)(go (?:mod edit|get|-C) [^`#\n]*)")

// installCommands returns the commands of a document that install. First are those that
// change go.mod: the document's own, or else those of docs/installing.md.
func installCommands(top fs.FS, name string) ([]string, error) {
	document, err := fs.ReadFile(top, name)
	if err != nil {
		return nil, err
	}
	var edits, others []string
	for _, match := range installs.FindAllSubmatch(document, -1) {
		command := strings.ReplaceAll(strings.TrimSpace(string(match[1])), "@latest", "@v0.0.0")
		if strings.HasPrefix(command, "go mod edit") {
			edits = append(edits, command)
		} else {
			others = append(others, command)
		}
	}
	if len(others) > 0 && len(edits) == 0 {
		if !strings.Contains(string(document), "installing.md") {
			return nil, fmt.Errorf("%s: %q, and no link to %s", name, others[0], installing)
		}
		edits, err = installCommands(top, installing)
		edits = slices.DeleteFunc(edits, func(command string) bool { return !strings.HasPrefix(command, "go mod edit") })
	}
	return append(edits, others...), err
}

// install runs the commands in the folder of a new module, and builds a package that imports
// what they have added, before and after go mod tidy.
func install(dir string, commands []string) error {
	sluice, err := filepath.Abs(checkout)
	if err != nil {
		return err
	}
	user := "package user\n\n"
	for _, command := range commands {
		if added, ok := strings.CutPrefix(command, "go get "); ok {
			user += fmt.Sprintf("import _ %q\n", strings.TrimSuffix(added, "@v0.0.0"))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "user.go"), []byte(user), 0o666); err != nil {
		return err
	}
	for _, command := range slices.Concat([]string{"go mod init example.com/user"}, commands, []string{"go build", "go mod tidy", "go build"}) {
		words := strings.Fields(strings.ReplaceAll(command, "../sluice", sluice))
		run := exec.Command(words[0], words[1:]...)
		// The checksums of other modules are in the go.sum files of this checkout.
		run.Dir, run.Env = dir, append(os.Environ(), "GOBIN="+dir, "GOSUMDB=off")
		if out, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, out)
		}
	}
	return nil
}
