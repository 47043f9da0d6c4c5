package sim

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A Measured is a row of bench/RESULTS.md: nanoseconds per value.
type Measured struct{ Reference, Ours, CacheLine float64 }

// ReadResults reads the rows at GOMAXPROCS=2, by name. Rows without a cache line transfer
// are left out.
func ReadResults(r io.Reader) (map[string]Measured, error) {
	rows := map[string]Measured{}
	lines := bufio.NewScanner(r)
	for two := false; lines.Scan(); {
		if heading, ok := strings.CutPrefix(lines.Text(), "## "); ok {
			two = heading == "GOMAXPROCS=2"
		}
		cells := strings.Split(lines.Text(), "|")
		if !two || len(cells) < 10 {
			continue
		}
		var values [3]float64
		var err error
		for i := range values {
			if values[i], err = strconv.ParseFloat(strings.TrimSpace(cells[7+i]), 64); err != nil {
				break
			}
		}
		if err == nil {
			rows[strings.TrimSpace(cells[1])] = Measured{values[0], values[1], values[2]}
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no rows at GOMAXPROCS=2 (want the table that bench/cmd/ratios writes)")
	}
	return rows, lines.Err()
}

// twoCores are the rows with one sender and one receiver: with more, goroutines share a
// core, which the model leaves out.
var twoCores = []struct {
	row      string
	ours     func() channel
	capacity int // of the built-in channel
}{
	{"Rendezvous 1->1", func() channel { return newHandoff(0, handoffWork) }, 0},
	{"Bounded 1 1->1", func() channel { return newHandoff(1, handoffWork) }, 1},
	{"Bounded 128 1->1", func() channel { return newSegqueue(128, chainWork) }, 128},
	{"Bounded 1024 1->1", func() channel { return newSegqueue(1024, chainWork) }, 1024},
	{"Bounded 1024 one to one 1->1", func() channel {
		q := newSegqueue(1024, chainWork)
		q.singleSender = true
		return q
	}, 1024},
	{"Elastic 1->1", func() channel { return newSegqueue(1<<20, chainWork) }, 1024},
}

// PrintTwoCores compares the model with our own measurements on two cores. The transfer
// time is the one that was measured with each row, so nothing is fitted.
func PrintTwoCores(w io.Writer, rows map[string]Measured) error {
	fmt.Fprintln(w, "\nTwo cores, one sender and one receiver: simulated and measured ns per value. The")
	fmt.Fprintln(w, "transfer time is the measured one; nothing is fitted.")
	var factors []float64
	for _, row := range twoCores {
		m, ok := rows[row.row]
		if !ok {
			return fmt.Errorf("bench/RESULTS.md has no row %q at GOMAXPROCS=2", row.row)
		}
		machine := Machine{Near: m.CacheLine}
		var ns [2]float64
		for i, ch := range []channel{row.ours(), newNative(&spinbitLock{}, row.capacity, nativeWork)} {
			rate, err := total(machine, stream(ch, 1, 1), 2e6)
			if err != nil {
				return err
			}
			ns[i] = 1 / rate
		}
		fmt.Fprintf(w, "  %-30s ours %6.1f for %6.1f   built-in %6.1f for %6.1f\n", row.row, ns[0], m.Ours, ns[1], m.Reference)
		factors = append(factors, math.Exp(math.Abs(math.Log(ns[0]/m.Ours))), math.Exp(math.Abs(math.Log(ns[1]/m.Reference))))
	}
	fmt.Fprintf(w, "  median factor %.2f, largest %.2f\n", Quantile(factors, 0.5), Quantile(factors, 1))
	return nil
}
