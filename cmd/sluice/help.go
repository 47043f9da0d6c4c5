package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// Exit statuses.
const (
	statusFailed      = 1
	statusUsage       = 2
	statusUndecided   = 3
	statusInterrupted = 130
)

// exitStatuses are all statuses with their meanings, for the help.
var exitStatuses = []struct {
	status  int
	meaning string
}{
	{0, "success"},
	{statusFailed, "a measurement failed; with compare -fail-on-regression, a point became worse, or NEW failed; with doctor -fail-on found, something in the program holds it back; a service stopped responding"},
	{statusUsage, "the command line is invalid, or a file or a service on it cannot be used"},
	{statusUndecided, "undecided: with compare -fail-on-regression, noise or what NEW lacks may hide a regression; with doctor -fail-on found, too little was seen"},
	{statusInterrupted, "interrupted, by Ctrl-C or a signal"},
}

type helpCommand struct {
	Command string `arg:"" optional:"" help:"A command. Default: the list of commands."`
}

// Run shows the help of a command, or of the program.
func (c *helpCommand) Run(parser *kong.Kong) error {
	var args []string
	if c.Command != "" {
		if named(parser, []string{c.Command}) == "" {
			return usageError{error: fmt.Errorf("unknown command %q (want %s)", c.Command, strings.Join(commandNames(parser), ", "))}
		}
		args = []string{c.Command}
	}
	command, err := kong.Trace(parser, args)
	if err != nil {
		return err
	}
	return command.PrintUsage(false)
}

func commandNames(parser *kong.Kong) (names []string) {
	for _, command := range parser.Model.Children {
		names = append(names, command.Name)
	}
	return names
}

// helpWidth is the maximum width of a help text.
const helpWidth = 80

// printHelp prints the parser's help with the documented spelling of flags, and
// the exit statuses below the list of commands.
func printHelp(options kong.HelpOptions, command *kong.Context) error {
	var text bytes.Buffer
	stdout := command.Stdout
	options.WrapUpperBound = min(helpWidth, widthOf(stdout))
	command.Stdout = &text
	err := kong.DefaultHelpPrinter(options, command)
	command.Stdout = stdout
	if err != nil {
		return err
	}
	if command.Selected() == nil {
		writeStatuses(&text, options.WrapUpperBound)
	}
	_, err = io.WriteString(stdout, oneDash(text.String()))
	return err
}

// flagsIn matches long flags with two dashes, and the space after one in a list
// of flags.
var flagsIn = regexp.MustCompile(`(^|[\s"'(\[])--([a-z][a-z-]*(?:=\S+)?)(  +)?`)

// oneDash writes long flags with one dash, as Go's tools do: the documented
// spelling. The parser writes two, which are also accepted.
func oneDash(text string) string {
	return flagsIn.ReplaceAllStringFunc(text, func(match string) string {
		parts := flagsIn.FindStringSubmatch(match)
		if parts[3] != "" {
			parts[3] += " " // columns stay aligned
		}
		return parts[1] + "-" + parts[2] + parts[3]
	})
}

// Mistakes in the value of a flag, as the parser words them.
var (
	noValue  = regexp.MustCompile(`^--(\S+): expected \S+ value but got "EOL" .*$`)
	badValue = regexp.MustCompile(`^--(\S+) must be one of (\S+) but got (".*")$`)
)

// valueMistake rewords the parser's message about the value of a flag, so that it
// names the values that there are.
func valueMistake(parser *kong.Kong, text string) string {
	if found := badValue.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("unknown --%s %s (want %s)", found[1], found[3], valuesOf(parser, found[1]))
	}
	found := noValue.FindStringSubmatch(text)
	if found == nil {
		return text
	}
	if values := valuesOf(parser, found[1]); values != "" {
		return fmt.Sprintf("--%s requires a value (want %s)", found[1], values)
	}
	return fmt.Sprintf("--%s requires a value", found[1])
}

// valuesOf lists the values of a flag of any command, or returns "" if it takes
// more than a few.
func valuesOf(parser *kong.Kong, name string) string {
	for _, command := range parser.Model.Children {
		for _, flag := range command.Flags {
			if flag.Name == name && flag.Enum != "" {
				values := slices.DeleteFunc(flag.EnumSlice(), func(v string) bool { return v == "" })
				return strings.Join(values, " or ")
			}
		}
	}
	return ""
}

// writeStatuses writes the table of exit statuses.
func writeStatuses(b *bytes.Buffer, width int) {
	b.WriteString("\nExit status:\n")
	for _, s := range exitStatuses {
		const indent = "       "
		fmt.Fprintf(b, "  %-5d%s", s.status, format.Wrap(s.meaning, width, len(indent), indent))
	}
}

// widthOf returns the width of a terminal, and helpWidth for anything else.
func widthOf(w io.Writer) int {
	if file, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return helpWidth
}
