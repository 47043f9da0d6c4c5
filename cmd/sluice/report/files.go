package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Names of the files of a report.
const (
	BenchmarksFile = "results.txt"
	JSONFile       = "results.json"
	PageFile       = "report.html"
)

// Prepare makes the directory if need be and makes sure that files can be
// written there: a run must not end with figures that have nowhere to go.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot make the directory for the report: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("cannot write to the directory for the report: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// WriteFiles writes the three files of the report. Each replaces its predecessor
// as a whole: a reader never sees half of one.
func (r *Report) WriteFiles(dir string) error {
	return errors.Join(
		replace(filepath.Join(dir, BenchmarksFile), r.WriteBenchmarks),
		replace(filepath.Join(dir, JSONFile), r.WriteJSON),
		replace(filepath.Join(dir, PageFile), r.WritePage),
	)
}

func replace(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(file.Name()))
		}
	}()
	if err := errors.Join(write(file), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// WriteJSON writes the report as it is.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}
