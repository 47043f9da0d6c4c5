package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSections: each command replaces its own section, any number of times, and
// leaves the others alone.
func TestSections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	write := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write(os.WriteFile(path, []byte("# Body\n\nnew\n"), 0o666))
	write(PutFile(path, "one", "## One\n\n1\n"))
	write(PutFile(path, "two", "## Two\n\n2\n"))
	write(PutFile(path, "one", "## One\n\n1 anew\n"))
	const want = `# Body

new

<!-- begin one -->

## One

1 anew

<!-- end one -->

<!-- begin two -->

## Two

2

<!-- end two -->
`
	for range 2 { // the second time nothing changes
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Fatalf("%v\n%s", err, got)
		}
		write(PutFile(path, "two", "## Two\n\n2"))
		write(PutFile(path, "two", ""))
	}
}

// TestNoFile: a section alone is also a document.
func TestNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := PutFile(path, "one", "1"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "<!-- begin one -->\n\n1\n\n<!-- end one -->\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestUnended: a damaged document is refused and stays as it is.
func TestUnended(t *testing.T) {
	const damaged = "# Body\n\n<!-- begin one -->\n\n1\n"
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := os.WriteFile(path, []byte(damaged), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{PutFile(path, "one", "2"), PutFile(path, "one", "")} {
		if err == nil || !strings.Contains(err.Error(), "end one") {
			t.Errorf("got %v", err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != damaged {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHere(t *testing.T) {
	h := Here()
	if h.CPU == "" || h.Cores < 1 || h.Commit == "" || !strings.HasPrefix(h.Go, "go") && !strings.HasPrefix(h.Go, "devel") {
		t.Errorf("%v", h)
	}
	want := "- machine: M1, 8 cores, plan9/arm\n- Go: go9\n- commit: c0ffee\n- date: 2026-11-21 15:04 UTC\n"
	facts := Host{"M1", 8, "plan9/arm", "go9", "c0ffee"}
	if got := facts.Markdown(time.Date(2026, 11, 21, 16, 4, 5, 0, time.FixedZone("", 3600))); got != want {
		t.Errorf("got %s", got)
	}
	if got := facts.String(); got != "M1, 8 cores, plan9/arm, go9, commit c0ffee" {
		t.Errorf("got %s", got)
	}
}
