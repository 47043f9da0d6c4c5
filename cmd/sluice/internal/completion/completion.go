// Package completion writes scripts that complete the command line of a program
// in bash, zsh and fish.
//
// The scripts are complete in themselves and do not call the program. They
// offer long flags with one dash, which the libraries for this parser do not:
// that is why there is none of them here.
//
// This package holds the scripts' syntax. What there is to complete comes from
// the parser's model and the caller.
package completion

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Shells are the supported shells.
var Shells = []string{"bash", "zsh", "fish"}

// Values are the possible values of an argument or flag. The zero Values are
// not known in advance.
type Values struct {
	Words       []string
	Files       bool
	Directories bool
}

// A program is what a script completes.
type program struct {
	name     string
	commands []command
}

type command struct {
	name, help string
	flags      []flag
	arguments  Values
}

type flag struct {
	name, help, placeholder string
	short                   string // or ""
	takesValue              bool
	values                  Values
}

// spellings returns the forms of the flag, with dashes.
func (f *flag) spellings() []string {
	forms := []string{"-" + f.name, "--" + f.name}
	if f.short != "" {
		forms = append(forms, "-"+f.short)
	}
	return forms
}

// Write writes the script for a shell. values returns the values of a flag
// ("-out") or of the arguments ("") of a command.
func Write(w io.Writer, shell string, app *kong.Application, values func(command, flag string) Values) error {
	p := program{name: app.Name}
	for _, node := range app.Children {
		p.commands = append(p.commands, commandOf(node, values))
	}
	scripts := map[string]func(*strings.Builder, *program){"bash": bash, "zsh": zsh, "fish": fish}
	script := scripts[shell]
	if script == nil {
		return fmt.Errorf("unknown shell %q (want %s)", shell, strings.Join(Shells, ", "))
	}
	var b strings.Builder
	script(&b, &p)
	_, err := io.WriteString(w, b.String())
	return err
}

func commandOf(node *kong.Node, values func(command, flag string) Values) command {
	c := command{name: node.Name, help: sentence(node.Help), arguments: values(node.Name, "")}
	for _, group := range node.AllFlags(true) {
		for _, given := range group {
			f := flag{name: given.Name, help: sentence(given.Help), takesValue: !given.IsBool()}
			if given.Short != 0 {
				f.short = string(given.Short)
			}
			if f.takesValue {
				f.placeholder = given.FormatPlaceHolder()
				f.values = valuesOf(given, values(node.Name, "-"+given.Name))
			}
			c.flags = append(c.flags, f)
		}
	}
	slices.SortStableFunc(c.flags, func(a, b flag) int { return strings.Compare(a.name, b.name) })
	return c
}

// valuesOf returns the values of a flag: the given ones, or what its declaration
// shows of them.
func valuesOf(f *kong.Flag, given Values) Values {
	switch {
	case len(given.Words) > 0 || given.Files || given.Directories:
		return given
	case f.Enum != "":
		return Values{Words: f.EnumSlice()}
	}
	return Values{Files: f.PlaceHolder == "FILE", Directories: f.PlaceHolder == "DIR"}
}

// sentence returns the first sentence of a help text, without its period.
func sentence(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(first, ".")
}
