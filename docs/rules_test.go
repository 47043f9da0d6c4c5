package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	quoted = regexp.MustCompile("`[^`\n]*`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inline = regexp.MustCompile("`((?:make|go|sluice) [^`]+)`")
	target = regexp.MustCompile(`(?m)^([a-z0-9/-]+):`)
)

// checkDocument returns the problems of one Markdown document: links that do not
// resolve, commands that do not exist, and Go code that is not the body of one of the
// examples.
func checkDocument(top fs.FS, examples []string, name string) (wrong []string) {
	text, err := fs.ReadFile(top, name)
	if err != nil {
		return []string{err.Error()}
	}
	complain := func(format string, args ...any) {
		wrong = append(wrong, name+": "+fmt.Sprintf(format, args...))
	}
	prose, fenced, err := split(string(text))
	if err != nil {
		complain("%v", err)
		return wrong
	}
	for _, match := range link.FindAllStringSubmatch(quoted.ReplaceAllString(prose, ""), -1) {
		to, part, _ := strings.Cut(match[1], "#")
		if strings.Contains(to, "://") {
			continue
		}
		at := path.Join(path.Dir(name), to)
		if to == "" {
			at = name
		}
		if _, err := fs.Stat(top, at); err != nil {
			complain("the link to %s does not resolve", to)
			continue
		}
		if target, err := fs.ReadFile(top, at); part != "" && (err != nil || !slices.Contains(anchors(string(target)), part)) {
			complain("%s has no heading for the link to #%s", at, part)
		}
	}
	for _, match := range inline.FindAllStringSubmatch(prose, -1) {
		if err := checkCommand(top, match[1]); err != nil {
			complain("%v", err)
		}
	}
	for _, block := range fenced {
		switch block.language {
		case "":
		case "sh":
			for line := range strings.Lines(block.text) {
				if err := checkCommand(top, line); err != nil {
					complain("%v", err)
				}
			}
		case "go":
			if !slices.Contains(examples, strings.TrimSpace(block.text)) {
				complain("the code is not the body of an example: %s", block.text)
			}
		default:
			complain("unknown language %q of a code block (want sh or go)", block.language)
		}
	}
	return wrong
}

// anchors returns the anchors of a document's headings, as GitHub derives them from
// plain words.
func anchors(document string) (names []string) {
	prose, _, _ := split(document)
	for line := range strings.Lines(prose) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			plain := strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(heading))
			names = append(names, plain)
		}
	}
	return names
}

// A fence is a code block of a document.
type fence struct{ language, text string }

// split separates the prose of a document from its code blocks, and removes the
// indentation of these.
func split(document string) (prose string, fenced []fence, err error) {
	var outside strings.Builder
	var open *fence
	indent := ""
	for line := range strings.Lines(document) {
		trimmed := strings.TrimSpace(line)
		switch {
		case open == nil && strings.HasPrefix(trimmed, "```"):
			open = &fence{language: strings.TrimPrefix(trimmed, "```")}
			indent = line[:strings.Index(line, "```")]
		case open == nil:
			outside.WriteString(line)
		case trimmed == "```":
			fenced, open = append(fenced, *open), nil
		default:
			open.text += strings.TrimPrefix(line, indent)
		}
	}
	if open != nil {
		return "", nil, fmt.Errorf("a code block is not closed")
	}
	return outside.String(), fenced, nil
}

// checkCommand returns an error if a line of shell refers to something that the
// repository does not contain. It knows the commands that documents use, and rejects
// others.
func checkCommand(top fs.FS, line string) error {
	line, _, _ = strings.Cut(line, "# ")
	words := strings.Fields(line)
	for len(words) > 1 && strings.Contains(words[0], "=") { // a variable of the environment
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	argument := func(n int) string {
		if n < len(words) {
			return words[n]
		}
		return ""
	}
	switch known := words[0] + " " + argument(1); {
	case words[0] == "make":
		makefile, _ := fs.ReadFile(top, "Makefile")
		for _, word := range words[1:] {
			if strings.Contains(word, "=") { // a variable
				continue
			}
			if !slices.Contains(targets(string(makefile)), word) {
				return fmt.Errorf("%q: the Makefile has no target %s", line, word)
			}
		}
	case words[0] == "bash":
		if _, err := fs.Stat(top, argument(1)); err != nil {
			return fmt.Errorf("%q: no script %s", line, argument(1))
		}
	case known == "go run", known == "go test", known == "go vet", known == "go build":
		for _, word := range words[2:] {
			folder, below := strings.CutPrefix(word, "./")
			if !below {
				continue
			}
			folder = path.Clean(strings.TrimSuffix(folder, "..."))
			files, err := fs.Glob(top, folder+"/*")
			if err != nil || len(files) == 0 {
				return fmt.Errorf("%q: no folder %s", line, folder)
			}
			if known == "go run" && !isCommand(top, folder) {
				return fmt.Errorf("%q: %s is not a command", line, folder)
			}
			if known == "go run" {
				break // the remaining words are arguments of the command
			}
			if i := slices.Index(words, "-run"); i > 0 && !hasTest(top, folder, argument(i+1)) {
				return fmt.Errorf("%q: no test %s", line, argument(i+1))
			}
		}
		if argument(2) == "work" {
			if _, err := fs.Stat(top, "go.work"); err != nil {
				return fmt.Errorf("%q: no go.work", line)
			}
		}
	case words[0] == "sluice": // a test of the tool knows its flags
	case known == "go mod", known == "go version", known == "go -C", words[0] == "export": // TestInstall runs them
	case known == "go get", known == "go install":
		for _, word := range words[2:] {
			if strings.HasPrefix(word, "-") { // a flag
				continue
			}
			if err := checkVersion(top, word); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
		}
	default:
		return fmt.Errorf("%q: unknown command (teach checkCommand to check it)", line)
	}
	return nil
}

// hasTest reports whether a folder has a test for each part of a -run pattern.
func hasTest(top fs.FS, folder, pattern string) bool {
	files, _ := fs.Glob(top, folder+"/*_test.go")
	var all []byte
	for _, name := range files {
		text, _ := fs.ReadFile(top, name)
		all = append(all, text...)
	}
	pattern = strings.Trim(pattern, "'")
	if pattern == "^$" { // none, for benchmarks
		return true
	}
	for _, part := range strings.Split(pattern, "|") {
		test, err := regexp.Compile(`(?m)^func (Test|Example|Fuzz)\w*` + strings.TrimPrefix(strings.TrimPrefix(part, "^"), "Test"))
		if err != nil || !test.Match(all) {
			return false
		}
	}
	return true
}

// library is the module path of the root.
const library = "github.com/sluice-go/sluice"

// checkVersion returns an error unless an argument of go get or go install is a version
// of a folder of the repository.
func checkVersion(top fs.FS, argument string) error {
	name, version, _ := strings.Cut(argument, "@")
	folder, ours := strings.CutPrefix(name, library)
	if !ours || version == "" {
		return fmt.Errorf("%s is not a version of %s", argument, library)
	}
	if files, err := fs.Glob(top, path.Join(".", folder, "*")); err != nil || len(files) == 0 {
		return fmt.Errorf("no folder %s", strings.TrimPrefix(folder, "/"))
	}
	return nil
}

// isCommand reports whether a folder contains a package main.
func isCommand(top fs.FS, folder string) bool {
	files, _ := fs.Glob(top, folder+"/*.go")
	for _, name := range files {
		text, _ := fs.ReadFile(top, name)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly)
		if err == nil && file.Name.Name == "main" {
			return true
		}
	}
	return false
}

// targets returns the targets of a Makefile.
func targets(makefile string) (names []string) {
	for _, match := range target.FindAllStringSubmatch(makefile, -1) {
		names = append(names, match[1])
	}
	return names
}

// allExamples returns the body of each Example, including its output, of all test files.
func allExamples(top fs.FS) (bodies []string) {
	_ = fs.WalkDir(top, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "_test.go") {
			text, _ := fs.ReadFile(top, name)
			bodies = append(bodies, exampleBodies(text)...)
		}
		return nil
	})
	return bodies
}

// exampleBodies returns the body of each Example, formatted by gofmt without
// indentation.
func exampleBodies(text []byte) (bodies []string) {
	if !bytes.Contains(text, []byte("func Example")) { // most files: do not parse them
		return nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Example") || f.Body == nil {
			continue
		}
		body := text[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset]
		if formatted, err := format.Source(bytes.TrimSpace(bytes.ReplaceAll(body, []byte("\n\t"), []byte("\n")))); err == nil {
			bodies = append(bodies, strings.TrimSpace(string(formatted)))
		}
	}
	return bodies
}
