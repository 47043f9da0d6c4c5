// Command sim simulates channels on many CPUs: see package sim.
//
//	go run ./bench/cmd/sim            how wrong the model is on published curves, and
//	                                  what it says about our channels
//	go run ./bench/cmd/sim -score     the first part only
//
// It measures nothing, so its output does not depend on the machine. It takes about a
// minute.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/sluice-go/sluice/bench/sim"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "sim:", err)
		}
		os.Exit(2)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	published := flags.String("published", "cmd/sluice/internal/predict/published.csv", "`file` of published curves")
	measured := flags.String("results", "bench/RESULTS.md", "`file` of our measurements on two cores")
	scoreOnly := flags.Bool("score", false, "print only how wrong the model is on published curves")
	chart := flags.String("svg", "", "also draw the curves of our channels to this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q (want only flags)", flags.Arg(0))
	}
	f, err := os.Open(*published)
	if err != nil {
		return fmt.Errorf("%w (run it in the root of the repository, or set -published)", err)
	}
	defer f.Close()
	curves, err := sim.ReadCurves(f)
	if err != nil {
		return fmt.Errorf("%s: %w", *published, err)
	}
	hosts, err := sim.Fit(curves)
	if err != nil {
		return err
	}
	if len(hosts) == 0 {
		return fmt.Errorf("%s: no machine has two curves that the model has programs for", *published)
	}
	sim.PrintScores(out, hosts)
	if *scoreOnly {
		return nil
	}
	if err := twoCores(out, *measured); err != nil {
		return err
	}
	machines := sim.Fitted(hosts)
	forecasts, err := sim.Compare(machines)
	if err != nil {
		return err
	}
	sim.PrintForecasts(out, forecasts, len(machines))
	sim.PrintRatios(out, forecasts, sim.PairError(hosts))
	if *chart == "" {
		return nil
	}
	return os.WriteFile(*chart, []byte(sim.Chart(forecasts)), 0o644)
}

// twoCores compares the model with our own measurements.
func twoCores(out io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := sim.ReadResults(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return sim.PrintTwoCores(out, rows)
}
