// Package results has what files of figures have in common: how they are read, the
// description of the host, and sections of a document, so that each command replaces its
// own part and keeps the others. The files beside it are the figures of bench/board.
package results

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Read decodes a JSON file, which need not exist, into v.
func Read(path string, v any) error {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// PutFile puts text as the section of that name into the document in a file: in place of
// the previous one, or at the end. The file need not exist. Without a text it leaves the
// document as it is, and returns the error that a later PutFile would.
func PutFile(path, name, text string) error {
	document, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	written, err := put(string(document), name, strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(written), 0o666)
}

func put(document, name, text string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
	before, rest, found := strings.Cut(document, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found {
		before, after, ended = strings.TrimLeft(strings.TrimRight(document, "\n")+"\n\n", "\n"), "", true
	}
	switch {
	case !ended:
		return "", fmt.Errorf("section %s has no end (want a line %q)", name, strings.TrimSpace(end))
	case text == "":
		return document, nil
	}
	return before + begin + "\n" + text + "\n\n" + end + after, nil
}
