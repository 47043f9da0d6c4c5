// Command jitter runs go test on a checkout in which goroutines pause where they publish something or look at what others
// publish. A test that fails then by chance depends on who is first, and so does code that fails.
//
//	jitter [-every N] -- ARGUMENTS OF go test
//
// It changes no file: go test reads an overlay in which each statement with a send, a receive, a select or a call
// of a method such as Store, Unlock, Signal or Close comes after a call of a function that mostly returns at once. One of N
// calls sleeps up to 5 ms, as a thread does whose CPU is taken away, and 30 of N let other goroutines run. No
// time passes in a bubble of synctest. Low values of N find more in short tests; loops of millions of operations
// need thousands. Tests that count allocations, calls or imports fail with it.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// pause is the package that has the function. Being internal, it can be imported from all modules of the checkout.
const pause = "internal/jitter"

//go:embed pause/pause.go
var source []byte

func main() {
	every := flag.Int("every", 300, "sleep in one of `N` calls; at least 31")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: jitter [-every N] -- arguments of go test")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *every < 31 {
		fmt.Fprintf(os.Stderr, "jitter: -every is %d, and must be at least 31\n", *every)
		os.Exit(2)
	}
	err := run(".", *every, flag.Args())
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		os.Exit(failed.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "jitter:", err)
		os.Exit(2)
	}
}

// run runs go test in a directory of a checkout.
func run(dir string, every int, args []string) error {
	top, err := exec.Command("git", "-C", dir, "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("%s is in no checkout: %w", dir, err)
	}
	to, err := os.MkdirTemp("", "jitter-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(to)
	overlay, err := write(strings.TrimSpace(string(top)), to)
	if err != nil {
		return err
	}
	test := exec.Command("go", append([]string{"test", "-vet=off", "-overlay=" + overlay}, args...)...)
	test.Dir, test.Stdout, test.Stderr = dir, os.Stdout, os.Stderr
	test.Env = append(os.Environ(), fmt.Sprintf("JITTER=%d", every))
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // which ends go test, and then the overlay is removed
	return test.Run()
}

// write writes the changed files of the checkout and the list of them, and returns the name of the list.
func write(checkout, to string) (overlay string, err error) {
	tracked, err := exec.Command("git", "-C", checkout, "ls-files", "-z", "*.go").Output()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	put := func(name string, contents []byte) error {
		file := filepath.Join(to, fmt.Sprintf("%d.go", len(replace)))
		replace[filepath.Join(checkout, name)] = file
		return os.WriteFile(file, contents, 0o600)
	}
	if err := put(pause+"/pause.go", source); err != nil {
		return "", err
	}
	for _, name := range strings.Split(strings.Trim(string(tracked), "\x00"), "\x00") {
		if strings.HasPrefix(name, "tools/") || strings.Contains(name, "testdata/") {
			continue
		}
		before, err := os.ReadFile(filepath.Join(checkout, name))
		if err != nil {
			return "", err
		}
		after, err := paused(name, before)
		if err != nil {
			return "", err
		}
		if after == nil {
			continue
		}
		if err := put(name, after); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(to, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// paused returns the file with pauses, on the same lines, or nil if it has no place for one.
func paused(name string, file []byte) ([]byte, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, file, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	var places []int
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return !hasDirective(n.Doc) // such as go:nosplit
		case *ast.BlockStmt:
			places = append(places, publications(n.List, offset)...)
		case *ast.CaseClause:
			places = append(places, publications(n.Body, offset)...)
		case *ast.CommClause:
			places = append(places, publications(n.Body, offset)...)
		}
		return true
	})
	if len(places) == 0 {
		return nil, nil
	}
	slices.Sort(places)
	at := offset(tree.Name.End())
	after := append(slices.Clone(file[:at]), `; import jitter "github.com/sluice-go/sluice/`+pause+`"`...)
	for _, place := range places {
		after = append(append(after, file[at:place]...), "jitter.Pause(); "...)
		at = place
	}
	return append(after, file[at:]...), nil
}

func hasDirective(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:") })
}

// publications returns where the statements begin that publish something or look at what others do.
func publications(list []ast.Stmt, offset func(token.Pos) int) (places []int) {
	for _, s := range list {
		switch s.(type) {
		case *ast.CaseClause, *ast.CommClause: // the body of a switch has nothing but these
			continue
		}
		if publishes(s) {
			places = append(places, offset(s.Pos()))
		}
	}
	return places
}

// calls are the methods and functions that publish, look or wait, in this module and in the standard library.
var calls = strings.Fields(`Add And CompareAndSwap Load Or Store Swap
	Lock RLock RUnlock TryLock Unlock Broadcast Signal Wait Done
	Ack Cancel Close Flush Recv RecvBatch Send SendBatch Stop TryRecv TrySend cancel close`)

// publishes reports whether a statement does so outside of the blocks and functions in it.
func publishes(s ast.Stmt) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.BlockStmt:
			return false
		case *ast.SendStmt, *ast.SelectStmt, *ast.GoStmt:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.SelectorExpr:
				found = found || slices.Contains(calls, f.Sel.Name)
			case *ast.Ident:
				found = found || slices.Contains(calls, f.Name)
			}
		}
		return !found
	})
	return found
}
