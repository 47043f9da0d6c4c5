package main

import (
	"bytes"
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
func reopened(changelog []byte) ([]byte, error) {
	before, after, _ := bytes.Cut(changelog, []byte("\n## "))
	return bytes.Join([][]byte{before, after}, []byte("\n"+unreleased+"\n## ")), nil
}

// unpublished matches the sentence that says so in the README and in docs/releases.md.
var unpublished = regexp.MustCompile(`(?s)Not published yet.*?\.\s+`)

// published removes that sentence from a document.
func published(document []byte) ([]byte, error) { return unpublished.ReplaceAll(document, nil), nil }

// installable turns the README's commands, which install from a checkout, into those that
// install a version.
func installable(readme []byte, root string) ([]byte, error) {
	text := strings.NewReplacer(
		"go mod edit -replace="+root+"=../sluice\n", "",
		"go get "+root+"@v0.0.0\n", "go get "+root+"@latest\n",
		"go -C ../sluice/cmd/sluice install .\n", "go install "+root+"/cmd/sluice@latest\n",
	).Replace(string(unpublished.ReplaceAll(readme, nil)))
	for _, want := range []string{"go get " + root + "@latest", "go install " + root + "/cmd/sluice@latest"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			return nil, fmt.Errorf("README.md has no line %q, and none to install from a checkout", want)
		}
	}
	return []byte(text), nil
}
