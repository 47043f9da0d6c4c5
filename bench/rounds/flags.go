package rounds

import (
	"flag"
	"fmt"
	"regexp"
)

// Flags are the flags that the commands have in common.
type Flags struct {
	Match  *regexp.Regexp // what to measure, by name
	Procs  []int          // values of GOMAXPROCS
	Rounds int            // each figure is the median of so many
	Out    string         // the Markdown file to write, or ""

	set                     *flag.FlagSet
	matchFlag, match, procs string
}

// Define defines the flags -procs, -rounds with the given number as its default, -o with the
// given usage, and a flag of the given name and usage for Match.
func (f *Flags) Define(set *flag.FlagSet, match, matchUsage string, rounds int, outUsage string) {
	f.set, f.matchFlag = set, match
	set.StringVar(&f.match, match, "", matchUsage)
	set.StringVar(&f.procs, "procs", "1,2,8", "comma-separated `list` of values for GOMAXPROCS")
	set.IntVar(&f.Rounds, "rounds", rounds, "number of `rounds`; each figure is their median")
	set.StringVar(&f.Out, "o", "", outUsage)
}

// Parse parses the command line, and refuses arguments that are not flags.
func (f *Flags) Parse(args []string) (err error) {
	if err := f.set.Parse(args); err != nil {
		return err
	}
	if f.set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.set.Arg(0))
	}
	if f.Match, err = regexp.Compile(f.match); err != nil {
		return fmt.Errorf("-%s: %w", f.matchFlag, err)
	}
	if f.Procs, err = parseProcs(f.procs); err != nil {
		return err
	}
	if f.Rounds < 1 {
		return fmt.Errorf("-rounds: %d is too small (want at least 1)", f.Rounds)
	}
	return nil
}
