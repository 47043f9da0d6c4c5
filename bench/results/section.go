// Package results has what files of figures have in common: the description of the
// host, and sections of a document, so that each command replaces its own part and keeps
// the others. The files beside it are the figures of bench/board.
package results

import (
	"fmt"
	"os"
	"strings"
)

func begin(name string) string { return "<!-- begin " + name + " -->\n" }
func end(name string) string   { return "<!-- end " + name + " -->\n" }

// Put returns the document with text as the section of that name: in place of
// the previous one, or at the end.
func Put(document, name, text string) (string, error) {
	section := begin(name) + "\n" + strings.TrimSpace(text) + "\n\n" + end(name)
	before, rest, found := strings.Cut(document, begin(name))
	if !found {
		return strings.TrimRight(document, "\n") + "\n\n" + section, nil
	}
	_, after, ended := strings.Cut(rest, end(name))
	if !ended {
		return "", unended(name)
	}
	return before + section + after, nil
}

func unended(name string) error {
	return fmt.Errorf("section %s has no end (want a line %q)", name, strings.TrimSpace(end(name)))
}

// PutFile puts a section into the document in a file, which need not exist.
func PutFile(path, name, text string) error {
	document, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	written, err := Put(string(document), name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(strings.TrimLeft(written, "\n")), 0o666)
}
