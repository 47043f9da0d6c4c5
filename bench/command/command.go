// Package command is what the command lines of the programs below bench have in common: a
// mistake is answered in a line, and the exit status is 2.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Misuse is a mistake on the command line.
type Misuse struct{ error }

func (m Misuse) Unwrap() error { return m.error }

// Misused returns a Misuse.
func Misused(format string, args ...any) error { return Misuse{fmt.Errorf(format, args...)} }

// Parse parses args. It prints the usage only on request, to the given writer.
func Parse(flags *flag.FlagSet, args []string, to io.Writer) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(to)
		fmt.Fprintf(to, "Usage of %s:\n", flags.Name())
		flags.PrintDefaults()
		return err
	}
	if err != nil {
		return Misuse{err}
	}
	return nil
}

// Procs adds the flag -procs to flags, and returns its list of values for GOMAXPROCS.
func Procs(flags *flag.FlagSet) *[]int {
	procs := &[]int{1, 2, 8}
	flags.Func("procs", "comma-separated `list` of values for GOMAXPROCS (default 1,2,8)", func(text string) error {
		*procs = nil
		for field := range strings.SplitSeq(text, ",") {
			p, err := strconv.Atoi(field)
			if err != nil || p < 1 {
				return fmt.Errorf("invalid number of processors %q (want 1, 2, …)", field)
			}
			*procs = append(*procs, p)
		}
		return nil
	})
	return procs
}

// Status reports err after the name of the program, and returns the exit status: 0 without
// an error and after a request for help, 2 for a Misuse, of which only the first line is
// reported, and 1 otherwise.
func Status(name string, err error, to io.Writer) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(Misuse)):
		line, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(to, "%s: %s\n", name, line)
		return 2
	}
	fmt.Fprintf(to, "%s: %v\n", name, err)
	return 1
}
