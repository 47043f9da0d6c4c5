package boundary

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// The names that an enumeration of kinds contains, in lower case.
var kindNames = []string{"rendezvous", "bounded", "elastic", "sharded", "priority"}

const (
	// enumerationLines is the longest enumeration: a list of kinds stands
	// together, while a file that merely uses each kind somewhere does not.
	enumerationLines = 20

	// maxEnumerations limits the work of adding a kind.
	maxEnumerations = 6

	enumerationsHeading = "## To add a kind"
)

// enumerates reports whether all kinds are named within a few lines of code.
func enumerates(source string) bool {
	last := make(map[string]int, len(kindNames))
	for number, line := range strings.Split(strings.ToLower(source), "\n") {
		code, _, _ := strings.Cut(line, "//")
		for _, kind := range kindNames {
			if strings.Contains(code, kind) {
				last[kind] = number
			}
		}
		if len(last) < len(kindNames) {
			continue
		}
		if first := slices.Min(slices.Collect(maps.Values(last))); number-first < enumerationLines {
			return true
		}
	}
	return false
}

// enumerations lists the files of a tree, other than tests, that enumerate kinds.
func enumerations(tree fs.FS) (files []string, err error) {
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir():
			if base == "testdata" || base == "docs" || name == "bin" || base != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		case strings.HasSuffix(base, "_test.go") || !slices.Contains([]string{".go", ".js", ".html"}, path.Ext(base)):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err == nil && enumerates(string(text)) {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

// listed returns the files in backquotes that begin the items of the section of
// ARCHITECTURE.md about adding a kind.
func listed(document string) (files []string) {
	_, section, _ := strings.Cut(document, enumerationsHeading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, line := range strings.Split(section, "\n") {
		if item, ok := strings.CutPrefix(line, "- `"); ok {
			file, _, _ := strings.Cut(item, "`")
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files
}

// TestEnumerationsOfKinds: ARCHITECTURE.md lists every file that enumerates the
// kinds, and there are few.
func TestEnumerationsOfKinds(t *testing.T) {
	found, err := enumerations(os.DirFS(checkout))
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(checkout + "/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	want := listed(string(document))
	for _, file := range found {
		if !slices.Contains(want, file) {
			t.Errorf("%s enumerates the kinds: list it in ARCHITECTURE.md under %q, or better, ask the kind", file, enumerationsHeading)
		}
	}
	for _, file := range want {
		if !slices.Contains(found, file) {
			t.Errorf("ARCHITECTURE.md lists %s under %q, but it does not enumerate the kinds", file, enumerationsHeading)
		}
	}
	if len(found) > maxEnumerations {
		t.Errorf("%d files enumerate the kinds, at most %d should: %q", len(found), maxEnumerations, found)
	}
}

// TestEnumerates: an enumeration is found, uses of single kinds are not.
func TestEnumerates(t *testing.T) {
	const list = "case *Rendezvous[T], *Bounded[T]:\ncase *Elastic[T]:\ncase *Sharded[T], *Priority[T]:\n"
	far := strings.Repeat("\n", enumerationLines)
	for source, want := range map[string]bool{
		list:                                true,
		"rendezvous bounded\n" + far + list: true,
		"// " + strings.ReplaceAll(list, "\n", " "):                       false,
		"Rendezvous Bounded Elastic Sharded":                              false,
		"Rendezvous" + far + "Bounded Elastic Sharded Priority":           false,
		far + `kinds = "priority, sharded, elastic, bounded, rendezvous"`: true,
	} {
		if got := enumerates(source); got != want {
			t.Errorf("%q: %v, want %v", source, got, want)
		}
	}
	if got := listed("# A\n\n" + enumerationsHeading + "\n\n- `b.go`: why\n- `a.go`\n\n## C\n\n- `c.go`\n"); !slices.Equal(got, []string{"a.go", "b.go"}) {
		t.Errorf("listed %q", got)
	}
}
