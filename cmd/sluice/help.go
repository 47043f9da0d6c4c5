package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
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
	args := []string{"--help"}
	if c.Command != "" {
		if named(parser, c.Command) == nil {
			return usage("%w", format.Unknown("command", c.Command, commandNames(parser)))
		}
		args = []string{c.Command, "--help"}
	}
	_, err := parser.Parse(args)
	return err
}

type versionCommand struct{}

// Run prints what a report of a fault needs.
func (versionCommand) Run(to streams) error {
	_, err := fmt.Fprintf(to.stdout, "sluice %s, %s, %s/%s\n", cmp.Or(host.Version(), "(version unknown: built without version control)"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func commandNames(parser *kong.Kong) (names []string) {
	for _, command := range parser.Model.Children {
		names = append(names, command.Name)
	}
	return names
}

// printHelp prints, in at most 80 columns, the parser's help with the documented spelling of flags, and
// the exit statuses below the list of commands.
func printHelp(options kong.HelpOptions, command *kong.Context) error {
	var text bytes.Buffer
	stdout := command.Stdout
	options.WrapUpperBound = min(format.UsualWidth, screenOf(stdout).Width)
	command.Stdout = &text
	err := kong.DefaultHelpPrinter(options, command)
	command.Stdout = stdout
	if err != nil {
		return err
	}
	if command.Selected() == nil {
		writeStatuses(&text, options.WrapUpperBound)
	}
	_, err = io.WriteString(stdout, narrowed(oneDash(text.String()), options.WrapUpperBound))
	return err
}

// narrowed breaks lines that are wider than width, as examples may be: what explains a
// command is below it then.
func narrowed(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		command, meaning, found := strings.Cut(strings.TrimLeft(line, " "), "  ")
		if utf8.RuneCountInString(line)-1 <= width || !found {
			b.WriteString(line)
			continue
		}
		const indent = "      "
		b.WriteString("  " + command + "\n" + indent)
		b.WriteString(format.Wrap(strings.TrimSpace(meaning), width, len(indent), indent))
	}
	return b.String()
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

// Mistakes as the parser words them.
var (
	noValue    = regexp.MustCompile(`^--(\S+): expected \S+ value but got "(.*?)" `)
	badNumber  = regexp.MustCompile(`^--(\S+): expected an? .*(?:int|float) but got (".*?")`)
	badWord    = regexp.MustCompile(`^(?:--(\S+)|<(\S+)>) must be one of (\S+) but got "(.*)"$`)
	noArgument = regexp.MustCompile(`^expected "(.*)"$`)
	unhelpful  = regexp.MustCompile(`, did you mean (?:one of )?"-[a-z]".*$`) // a flag of one letter is near any other
)

// mistake rewords the parser's message about a command, so that it names what is
// missing, or the values that there are.
func mistake(command *kong.Node, args []string, text string) error {
	if found := noValue.FindStringSubmatch(text); found != nil {
		wanted := ""
		for _, flag := range command.Flags {
			if flag.Name == found[1] && flag.Enum != "" {
				wanted = " (want " + strings.Join(words(flag.Enum), " or ") + ")"
			}
		}
		if found[2] == "EOL" {
			return fmt.Errorf("%s requires a value%s", args[len(args)-1], wanted)
		}
		return fmt.Errorf("--%s requires a value%s; for the value %s, write --%[1]s=%[3]s", found[1], wanted, found[2])
	}
	if found := badNumber.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("invalid --%s %s (want a number)", found[1], found[2])
	}
	if found := badWord.FindStringSubmatch(text); found != nil {
		kind := found[2]
		if kind == "" {
			kind = "--" + found[1]
		}
		return format.Unknown(kind, found[4], words(found[3]))
	}
	if found := noArgument.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("%s requires %s", command.Name, found[1])
	}
	return errors.New(unhelpful.ReplaceAllString(text, ""))
}

// words splits the declaration of the words that a flag takes.
func words(enum string) []string {
	return strings.FieldsFunc(enum, func(r rune) bool { return r == '"' || r == ',' })
}

// writeStatuses writes the table of exit statuses.
func writeStatuses(b *bytes.Buffer, width int) {
	b.WriteString("\nExit status:\n")
	for _, s := range exitStatuses {
		const indent = "       "
		fmt.Fprintf(b, "  %-5d%s", s.status, format.Wrap(s.meaning, width, len(indent), indent))
	}
}
