package moving

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A port is an Example of this folder.
type port struct {
	body  string
	lines int
}

// TestLines: the tables of the document list every Example of this folder once, with its
// number of lines and with functions that it calls. The last row of a table adds up.
func TestLines(t *testing.T) {
	text, err := os.ReadFile("../../docs/moving-pipelines.md")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]port{}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples(t, name, source, ports)
	}
	if len(ports) < 60 {
		t.Errorf("%d examples were found, want 60 or more", len(ports))
	}
	for _, wrong := range check(string(text), ports) {
		t.Error(wrong)
	}
}

// TestPlantedTable breaks each rule for the tables once.
func TestPlantedTable(t *testing.T) {
	ports := map[string]port{}
	examples(t, "planted.go", []byte("package p\n\nfunc Example_a() {\n\tf := func() {\n\t\t// one\n\n\t\tg(`1\n2`)\n\t}\n\tfmt.Println(f)\n}\n\n"+
		"func Example_concB() {\n\tprocess := func() {\n\t\tg()\n\t}\n\tprocess()\n}\n"), ports)
	if ports["Example_a"].lines != 4 || ports["Example_concB"].lines != 1 {
		t.Fatalf("counted %d and %d lines, want 4 and 1", ports["Example_a"].lines, ports["Example_concB"].lines)
	}
	good := "| A | 3 | 4 | `Example_a` | `g` | |\n| none | 5 | - | - | | |\n| B | 2 | 1 | `Example_concB` | `g` | |\n| **2 ported** | **5** | **5** | | | |\n"
	if wrong := check(good, ports); len(wrong) > 0 {
		t.Fatalf("the correct table: %q", wrong)
	}
	for old, planted := range map[string]string{
		"| 4 |": "| 5 |", "`g`": "`h`", "`Example_a`": "`Example_c`", "**2 ported**": "**3 ported**",
		"| **5** | **5** |": "| **6** | **5** |", "| A | 3 | 4 | `Example_a` | `g` | |\n": "",
	} {
		if wrong := check(strings.Replace(good, old, planted, 1), ports); len(wrong) == 0 {
			t.Errorf("%q for %q was accepted", planted, old)
		}
	}
}

var (
	cells  = regexp.MustCompile("(?m)^\\| (.+) \\| ([0-9]+) \\| ([0-9]+) \\| `(Example_\\w+)` \\| (.*?) \\|")
	totals = regexp.MustCompile(`(?m)^\| \*\*(\d+) ported\*\* \| \*\*(\d+)\*\* \| \*\*(\d+)\*\* \|`)
	quoted = regexp.MustCompile("`([^`]+)`")
)

// check compares the tables of a document with the examples.
func check(document string, ports map[string]port) (wrong []string) {
	listed := map[string]int{}
	number := func(digits string) int { n, _ := strconv.Atoi(digits); return n }
	rest := document
	for total := totals.FindStringSubmatchIndex(rest); total != nil; total = totals.FindStringSubmatchIndex(rest) {
		n, theirs, ours := 0, 0, 0
		for _, row := range cells.FindAllStringSubmatch(rest[:total[0]], -1) {
			name, p := row[4], ports[row[4]]
			listed[name]++
			n, theirs, ours = n+1, theirs+number(row[2]), ours+number(row[3])
			if p.lines != number(row[3]) {
				wrong = append(wrong, fmt.Sprintf("%s has %d lines; its row says %s", name, p.lines, row[3]))
			}
			for _, called := range quoted.FindAllStringSubmatch(row[5], -1) {
				if !strings.Contains(p.body, called[1]) {
					wrong = append(wrong, fmt.Sprintf("%s does not contain %s", name, called[1]))
				}
			}
		}
		if sum := fmt.Sprintf("| **%d ported** | **%d** | **%d** |", n, theirs, ours); sum != rest[total[0]:total[1]] {
			wrong = append(wrong, fmt.Sprintf("the last row is %s, want %s", rest[total[0]:total[1]], sum))
		}
		rest = rest[total[1]:]
	}
	for name := range ports {
		if listed[name] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s is listed %d times", name, listed[name]))
		}
	}
	return wrong
}

// examples adds the examples of a file. The lines of a body count if they contain code,
// without the statements that only print. If theirs is a function, only the body of ours
// counts: conc's examples begin with it.
func examples(t *testing.T, name string, source []byte, ports map[string]port) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	block := func(b *ast.BlockStmt) []byte {
		return source[files.Position(b.Lbrace).Offset+1 : files.Position(b.Rbrace).Offset]
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Example_") {
			continue
		}
		p := port{body: string(block(f.Body))}
		p.lines = codeLines(block(f.Body))
		for _, s := range f.Body.List {
			if prints(s) {
				p.lines -= files.Position(s.End()).Line - files.Position(s.Pos()).Line + 1
			}
		}
		if first, ok := f.Body.List[0].(*ast.AssignStmt); ok && strings.HasPrefix(f.Name.Name, "Example_conc") {
			if function, ok := first.Rhs[0].(*ast.FuncLit); ok {
				p.lines = codeLines(block(function.Body))
			}
		}
		ports[f.Name.Name] = p
	}
}

// prints reports whether a statement is a call of package fmt.
func prints(s ast.Stmt) bool {
	e, _ := s.(*ast.ExprStmt)
	if e == nil {
		return false
	}
	call, _ := e.X.(*ast.CallExpr)
	if call == nil {
		return false
	}
	selector, _ := call.Fun.(*ast.SelectorExpr)
	if selector == nil {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name == "fmt"
}

// codeLines returns the number of lines that contain code.
func codeLines(source []byte) int {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		switch {
		case tok == token.EOF:
			return len(lines)
		case tok == token.SEMICOLON && literal == "\n":
		default:
			for n := range strings.Count(literal, "\n") + 1 {
				lines[file.Line(pos)+n] = true
			}
		}
	}
}
