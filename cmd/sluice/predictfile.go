package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

// readCurves reads a file or the directory of a run, and warns of malformed
// lines. cpus is the number of CPUs of its machine, or 0 to take it from the
// file.
func readCurves(to streams, path string, cpus int) ([]predict.Curve, error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, inputError{fmt.Errorf("%s does not exist: want the directory of a run of the lab, or a file", path)}
	} else if err == nil && info.IsDir() {
		dir := path
		path = filepath.Join(dir, report.JSONFile)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, inputError{fmt.Errorf("%s has no %s: not a directory of sluice lab", dir, report.JSONFile)}
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, inputError{err}
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, inputError{fmt.Errorf("%s is empty", path)}
	}
	var machine *host.Machine
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
		if content, machine, err = benchmarks(content); err != nil {
			return nil, inputError{fmt.Errorf("%s: %w", path, err)}
		}
	}
	all, skipped, err := predict.Read(content, path)
	warn(to, path, skipped)
	if err != nil && machine != nil {
		err = fmt.Errorf("%w; sluice lab cpu-scaling measures some", err)
	}
	if err != nil {
		return nil, inputError{err}
	}
	for i := range all {
		if machine != nil {
			all[i].Domain = domain(machine)
		}
		all[i].CPUs = cmp.Or(cpus, all[i].CPUs)
	}
	return all, nil
}

// benchmarks converts results.json to the Go benchmark format.
func benchmarks(results []byte) ([]byte, *host.Machine, error) {
	run, err := report.Decode(results)
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	if err := run.WriteBenchmarks(&text); err != nil {
		return nil, nil, err
	}
	return text.Bytes(), &run.Machine, nil
}

// domain returns the number of CPUs that share a socket and a last-level cache,
// or 0 if it is unknown.
func domain(m *host.Machine) int {
	if m.Sockets == 0 || m.Caches == 0 {
		return 0
	}
	return max(1, m.CPUs/max(m.Sockets, m.Caches))
}

// warn writes a warning for each malformed line of a file.
func warn(to streams, file string, skipped []predict.Skipped) {
	const most = 5
	for i, line := range skipped {
		if i == most {
			fmt.Fprintf(to.stderr, "sluice: warning: %s: %d more lines skipped\n", format.Clean(file), len(skipped)-most)
			return
		}
		fmt.Fprintf(to.stderr, "sluice: warning: %s\n", format.Clean(fmt.Sprintf("%s: %s", file, line)))
	}
}
