// Package results has what files of figures have in common: the description of the
// host, and sections of a document, so that each command replaces its own part and keeps
// the others. The files beside it are the figures of bench/board.
package results

import (
	"fmt"
	"os"
	"strings"
)

// put returns the document with text as the section of that name: in place of
// the previous one, or at the end.
func put(document, name, text string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
	section := begin + "\n" + strings.TrimSpace(text) + "\n\n" + end
	before, rest, found := strings.Cut(document, begin)
	if !found {
		return strings.TrimLeft(strings.TrimRight(document, "\n")+"\n\n"+section, "\n"), nil
	}
	_, after, ended := strings.Cut(rest, end)
	if !ended {
		return "", fmt.Errorf("section %s has no end (want a line %q)", name, strings.TrimSpace(end))
	}
	return before + section + after, nil
}

// edit writes what change makes of the text of a file, which need not exist.
func edit(path string, change func(document string) (string, error)) error {
	document, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	written, err := change(string(document))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(written), 0o666)
}

// PutFile puts a section into the document in a file, which need not exist.
func PutFile(path, name, text string) error {
	return edit(path, func(document string) (string, error) { return put(document, name, text) })
}

// CheckFile returns an error if PutFile would, and changes no text. It creates a file that does
// not exist.
func CheckFile(path, name string) error {
	return edit(path, func(document string) (string, error) {
		_, err := put(document, name, "")
		return document, err
	})
}
