package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// commandLine matches a command line in a document, up to what ends it there.
var commandLine = regexp.MustCompile("\\b(?:go run \\./cmd/sluice|sluice) ([a-z]+)((?: +[^\\s`\"'|#;&)(,]+)*)")

// misspelled returns the flags in a text that the parser does not know, or that
// are not spelled as in the help.
func misspelled(model *kong.Application, text string) (wrong []string) {
	for _, match := range commandLine.FindAllStringSubmatch(text, -1) {
		at := slices.IndexFunc(model.Children, func(n *kong.Node) bool { return n.Name == match[1] })
		if at < 0 {
			continue // "sluice has", in prose
		}
		known := map[string]bool{"-": true} // standard input
		for _, group := range model.Children[at].AllFlags(false) {
			for _, flag := range group {
				known["-"+flag.Name] = true
				if flag.Short != 0 {
					known["-"+string(flag.Short)] = true
				}
			}
		}
		for _, word := range strings.Fields(match[2]) {
			name, _, _ := strings.Cut(strings.TrimRight(word, ".,:"), "=")
			if strings.HasPrefix(name, "-") && !known[name] {
				wrong = append(wrong, fmt.Sprintf("%s of %s", name, match[0]))
			}
		}
	}
	return wrong
}

// Documents, comments, messages and scripts use the flags of the parser, as its
// help spells them.
func TestSpelling(t *testing.T) {
	model := newParser(&commands{}, streams{}).Model
	read := 0
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); base == "testdata" || base == "bin" || base == ".git" || base == "node_modules" || strings.HasPrefix(base, "sluice-lab") {
				return fs.SkipDir
			}
			return nil
		}
		if extension := filepath.Ext(name); extension != ".md" && extension != ".go" && extension != ".html" && entry.Name() != "Makefile" ||
			strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read++
		for _, wrong := range misspelled(model, string(text)) {
			t.Errorf("%s: %s", name, wrong)
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Errorf("%d files read: %v", read, err)
	}
	for text, want := range map[string]int{
		"`sluice lab -quick -count 20`":                          0,
		"sluice lab --quick":                                     1,
		"run `go run ./cmd/sluice lab -fast -procs=1`":           1,
		"sluice watch -sort sent, then sluice doctor -sort sent": 1,
		"sluice has --quick":                                     0,
	} {
		if got := misspelled(model, text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}

func TestOneDash(t *testing.T) {
	for text, want := range map[string]string{
		"  -h, --help        Show --quick, or a--b":  "  -h, -help         Show -quick, or a--b",
		"      --procs=LIST    Values":               "      -procs=LIST     Values",
		`Run "sluice <command> --help" for more`:     `Run "sluice <command> -help" for more`,
		"--quick and --published can't (--json)":     "-quick and -published can't (-json)",
		"unexpected argument -- and --9, and a -- b": "unexpected argument -- and --9, and a -- b",
	} {
		if got := oneDash(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Each exit status in the help happens.
func TestExitStatuses(t *testing.T) {
	_, help, _ := sluice(t, 0, "help")
	for _, s := range exitStatuses {
		if row := fmt.Sprintf("\n  %-5d%s", s.status, s.meaning[:min(40, len(s.meaning))]); !strings.Contains(help, row) {
			t.Errorf("the help lacks %q", row)
		}
	}
	t.Chdir(t.TempDir())
	labRun(t, "before", 6, 100)
	labRun(t, "after", 6, 120)
	labRun(t, "few", 3, 120)
	happens := map[int]func() int{
		0: func() int { status, _, _ := sluice(t, 0, "version"); return status },
		statusFailed: func() int {
			status, _, _ := sluice(t, 0, "compare", "before", "after", "-fail-on-regression")
			return status
		},
		statusUsage: func() int { status, _, _ := sluice(t, 0, "lab", "-fast"); return status },
		statusUndecided: func() int {
			status, _, _ := sluice(t, 0, "compare", "before", "few", "-fail-on-regression", "-alpha", "0.01")
			return status
		},
		statusInterrupted: func() int {
			interruptedRequest(t, "watch")
			return statusInterrupted // or it has failed the test
		},
	}
	for _, s := range exitStatuses {
		if happen := happens[s.status]; happen == nil || happen() != s.status {
			t.Errorf("status %d does not happen", s.status)
		}
	}
}
