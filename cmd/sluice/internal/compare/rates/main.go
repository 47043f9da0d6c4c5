// Rates measures how often sluice compare is wrong: it compares each run of
// unchanged code with each other one, and again with points made slower in the
// second.
//
//	go run ./cmd/sluice/internal/compare/rates run1 run2 run3
//
// The runs must be measurements of one commit on one machine; to show what a
// loaded machine does, load it for some of them. The printed rates are those of
// docs/adr/0017-comparison.md.
//
// What may enter: planted slowdowns, and counts of outcomes.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/compare"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rates:", err)
		os.Exit(1)
	}
}

// A plant makes a number of points slower by a factor.
type plant struct {
	points int
	factor float64
}

var plants = []plant{
	{0, 1}, {1, 1.3}, {1, 2}, {1, 3}, {5, 1.3}, {5, 2}, {5, 3}, {20, 1.3}, {20, 2}, {20, 3},
}

// counts of outcomes, and of planted points that were found.
type counts struct{ pairs, failed, undecided, planted, found int }

// run compares all ordered pairs of the directories.
func run(dirs []string, w io.Writer) error {
	if len(dirs) < 2 {
		return errors.New("want the directories of two or more runs of sluice lab")
	}
	work, err := os.MkdirTemp("", "rates-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	random := rand.New(rand.NewPCG(1, 2)) // repeatable
	all := make([]counts, len(plants))
	for _, was := range dirs {
		for _, is := range dirs {
			if was == is {
				continue
			}
			for i, p := range plants {
				if err := all[i].add(was, is, work, p, random); err != nil {
					return err
				}
			}
		}
	}
	fmt.Fprintf(w, "%-22s %6s %11s %10s %7s %13s\n", "planted", "pairs", "regression", "undecided", "passed", "points found")
	for i, p := range plants {
		name, n := "nothing", all[i]
		if p.points > 0 {
			name = fmt.Sprintf("%d x %v", p.points, p.factor)
		}
		found := ""
		if n.planted > 0 {
			found = fmt.Sprintf("%d%%", 100*n.found/n.planted)
		}
		fmt.Fprintf(w, "%-22s %6d %11d %10d %7d %13s\n", name, n.pairs, n.failed, n.undecided, n.pairs-n.failed-n.undecided, found)
	}
	return nil
}

// add compares was with is, in which points are made slower.
func (n *counts) add(was, is, work string, p plant, random *rand.Rand) error {
	text, err := os.ReadFile(filepath.Join(is, "results.txt"))
	if err != nil {
		return err
	}
	names := timed(text)
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:min(p.points, len(names))]
	slower := filepath.Join(work, "slower.txt")
	if err := os.WriteFile(slower, multiply(text, names, p.factor), 0o600); err != nil {
		return err
	}
	c, err := compare.Files(was, slower, compare.Defaults)
	if err != nil {
		return err
	}
	n.pairs++
	switch c.Decision.Outcome {
	case compare.Failed:
		n.failed++
	case compare.Undecided:
		n.undecided++
	}
	for _, point := range c.Points {
		if point.Unit == "sec/op" && slices.Contains(names, point.Name) {
			n.planted++
			if point.Regression {
				n.found++
			}
		}
	}
	return nil
}

// prefix is that of a result in Go's benchmark format.
const prefix = "Benchmark"

// timed returns the names of the benchmarks with a time per operation.
func timed(text []byte) (names []string) {
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) > 3 && strings.HasPrefix(fields[0], prefix) && fields[3] == "ns/op" {
			if name := strings.TrimPrefix(fields[0], prefix); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// multiply returns the text with the times of some benchmarks multiplied.
func multiply(text []byte, names []string, factor float64) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) > 3 && fields[3] == "ns/op" && slices.Contains(names, strings.TrimPrefix(fields[0], prefix)) {
			if ns, err := strconv.ParseFloat(fields[2], 64); err == nil {
				fields[2] = strconv.FormatFloat(factor*ns, 'g', -1, 64)
			}
			line = []byte(strings.Join(fields, " ") + "\n")
		}
		b.Write(line)
	}
	return b.Bytes()
}
