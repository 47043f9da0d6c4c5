package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

const unreleased = "## Unreleased\n"

// dated puts the changelog's unreleased changes under a heading with the version and the
// day. It returns an error if notes are needed and the changelog has no such changes.
func dated(changelog []byte, version string, day time.Time, needNotes bool) ([]byte, error) {
	before, after, found := bytes.Cut(changelog, []byte("\n"+unreleased))
	if !found {
		return nil, fmt.Errorf("CHANGELOG.md has no heading %q", strings.TrimSpace(unreleased))
	}
	notes, _, _ := bytes.Cut(after, []byte("\n## "))
	if needNotes && !bytes.Contains(notes, []byte("\n* ")) {
		return nil, fmt.Errorf("CHANGELOG.md lists no changes under %q", strings.TrimSpace(unreleased))
	}
	heading := fmt.Sprintf("\n## %s - %s\n", version, day.UTC().Format(time.DateOnly))
	return bytes.Join([][]byte{before, after}, []byte(heading)), nil
}

// reopened adds the heading for unreleased changes to a changelog after a release.
func reopened(changelog []byte) []byte {
	before, after, _ := bytes.Cut(changelog, []byte("\n## "))
	return bytes.Join([][]byte{before, after}, []byte("\n"+unreleased+"\n## "))
}

// unpublished matches the README's note on installation before the first release.
var unpublished = regexp.MustCompile("(?s)\\*\\*Installation\\.\\*\\* Not published yet\\..*?\n```\n")

// installation replaces it in the release. Before that it would not be true.
const installation = "**Installation.** In a module of Go 1.25 or newer; the second line installs the tool, with Go 1.26 or newer:\n\n" +
	"```sh\ngo get %[1]s@latest\ngo install %[1]s/cmd/sluice@latest\nsluice lab -quick                # measures channels on this machine, in under a minute\n" +
	"sluice doctor localhost:6060     # finds the channel that holds a service back\n```\n"

// installable replaces the README's note by the commands that install.
func installable(readme []byte, root string) ([]byte, error) {
	text := unpublished.ReplaceAll(readme, fmt.Appendf(nil, installation, root))
	if !bytes.Contains(text, []byte("\ngo get "+root+"@latest\n")) {
		return nil, errors.New("README.md has no command that installs, and no note that there is no version yet")
	}
	return text, nil
}
