package docs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// checkCommand returns an error if a line of shell names something that the repository does not
// have. It knows the commands that documents use, and rejects others.
func checkCommand(top fs.FS, line string) error {
	line, _, _ = strings.Cut(line, "# ")
	words := append(strings.Fields(line), "", "")
	for strings.Contains(words[0], "=") { // a variable of the environment
		words = words[1:]
	}
	args := words[1:]
	exists := func(pattern string) bool {
		files, _ := fs.Glob(top, pattern)
		return len(files) > 0
	}
	switch known := words[0] + " " + args[0]; {
	case words[0] == "", words[0] == "sluice": // a test of the tool knows its flags
	case known == "go version", known == "go mod" && args[1] != "edit", words[0] == "export":
	case words[0] == "make":
		makefile, _ := fs.ReadFile(top, "Makefile")
		for _, word := range args {
			if word != "" && !strings.Contains(word, "=") && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(word)+`:`).Match(makefile) {
				return fmt.Errorf("the Makefile has no target %s", word)
			}
		}
	case words[0] == "bash":
		if !exists(args[0]) {
			return fmt.Errorf("no script %s", args[0])
		}
	case known == "go run":
		if !contains(top, args[1], "*.go", `(?m)^package main$`) {
			return fmt.Errorf("%s is not a command", args[1])
		}
	case known == "go test", known == "go vet", known == "go build":
		for _, word := range args[1:] {
			folder, ours := strings.CutPrefix(word, "./")
			folder = path.Clean(strings.TrimSuffix(folder, "..."))
			if !ours {
				continue
			}
			if !exists(folder + "/*") {
				return fmt.Errorf("no folder %s", folder)
			}
			i := slices.Index(args, "-run")
			if i < 0 || args[i+1] == "'^$'" { // for benchmarks
				continue
			}
			for _, name := range strings.Split(strings.Trim(args[i+1], "'^"), "|") {
				if !contains(top, folder, "*_test.go", `(?m)^func (?:Test|Example|Fuzz)\w*`+strings.TrimPrefix(name, "Test")) {
					return fmt.Errorf("no test %s", name)
				}
			}
		}
	case known == "go get", known == "go install", known == "go mod", known == "go -C":
		text, _ := fs.ReadFile(top, installing)
		if !bytes.Contains(text, []byte(strings.ReplaceAll(strings.TrimSpace(line), "@v0.0.0", "@latest"))) &&
			!bytes.Contains(text, []byte(strings.TrimSpace(line))) {
			return fmt.Errorf("not a command of %s, which is tried", installing)
		}
	default:
		return errors.New("unknown command (teach checkCommand to check it)")
	}
	return nil
}

// contains reports whether a file of a folder has text that matches a pattern.
func contains(top fs.FS, folder, files, pattern string) bool {
	names, _ := fs.Glob(top, path.Join(folder, files))
	return slices.ContainsFunc(names, func(name string) bool {
		text, _ := fs.ReadFile(top, name)
		return regexp.MustCompile(pattern).Match(text)
	})
}
