package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/results"
)

// Figures are the measurements of one Go version, as stored in a file.
type figures struct {
	Host    results.Host
	Date    string
	Cells   map[string][]float64 // by cell: a figure of each round
	Failure map[string]string    // by cell: why there is none
}

// load reads the file, which need not exist.
func load(path string) (*figures, error) {
	f := &figures{Cells: map[string][]float64{}, Failure: map[string]string{}}
	if path == "" {
		return f, nil
	}
	return f, results.Read(path, f)
}

// put stores the figures of a cell, or its failure.
func (f *figures) put(c cell, values []float64, failure error) {
	delete(f.Cells, c.String())
	delete(f.Failure, c.String())
	if failure != nil {
		f.Failure[c.String()] = failure.Error()
		return
	}
	for _, v := range values {
		f.Cells[c.String()] = append(f.Cells[c.String()], rounded(v))
	}
}

// rounded returns v with four digits.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// median returns the median of a cell, NaN if it has no figures.
func (f *figures) median(c cell) float64 { return results.Median(f.Cells[c.String()]) }

// save writes the file: a line for each cell, in order, so that a diff can be read.
func (f *figures) save(path string) error {
	if path == "" {
		return nil
	}
	f.Host, f.Date = results.Here(), time.Now().UTC().Format("2006-01-02 15:04 UTC")
	host, err := json.Marshal(f.Host)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{\n\"Host\": %s,\n\"Date\": %q,\n", host, f.Date)
	lines(&b, "Cells", f.Cells)
	b.WriteString(",\n")
	lines(&b, "Failure", f.Failure)
	b.WriteString("\n}\n")
	return os.WriteFile(path, []byte(b.String()), 0o666)
}

func lines[V any](b *strings.Builder, name string, of map[string]V) {
	fmt.Fprintf(b, "%q: {", name)
	for i, key := range slices.Sorted(maps.Keys(of)) {
		if i > 0 {
			b.WriteString(",")
		}
		value, _ := json.Marshal(of[key]) // of numbers and strings
		fmt.Fprintf(b, "\n%q: %s", key, value)
	}
	b.WriteString("\n}")
}
