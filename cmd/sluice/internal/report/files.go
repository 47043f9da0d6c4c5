package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// Names of the files of a report.
const (
	BenchmarksFile = "results.txt"
	JSONFile       = "results.json"
	PageFile       = "report.html"
)

// Prepare creates the directory if necessary. It checks, before a run, that the
// directory is writable and that no file there would be overwritten that the
// lab did not write.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot create the directory for the report: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return fmt.Errorf("cannot write to the directory for the report: %w", err)
	}
	return foreign(dir)
}

// foreign returns an error if the directory has a file with a report's name
// that the lab did not write. results.json is written first and names its tool,
// so the other files are never alone; each of them is checked, too: results.txt is empty,
// begins with the noise, or has the name of an experiment; the page has its title.
func foreign(dir string) error {
	_, err := Read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; choose another directory with -o", err)
	}
	for name, own := range map[string]func(text []byte) bool{
		BenchmarksFile: func(text []byte) bool {
			return len(text) == 0 || bytes.HasPrefix(text, []byte(noiseComment)) || bytes.Contains(text, []byte("\nexperiment: "))
		},
		PageFile: func(text []byte) bool { return bytes.Contains(text, []byte("<title>"+Tool+": ")) },
	} {
		path := filepath.Join(dir, name)
		text, readErr := readRegular(path)
		switch {
		case errors.Is(readErr, fs.ErrNotExist):
		case readErr != nil:
			return fmt.Errorf("%w; choose another directory with -o", readErr)
		case err != nil || !own(text):
			return fmt.Errorf("%s: not written by %s; choose another directory with -o", path, Tool)
		}
	}
	return nil
}

// readRegular reads a regular file. Reading a pipe could block forever.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.ReadFile(path)
}

// Read reads the report of a directory.
func Read(dir string) (*Report, error) {
	path := filepath.Join(dir, JSONFile)
	text, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	r, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Decode reads the text of a results.json.
func Decode(text []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil || r.Tool != Tool {
		return nil, errors.New("not written by " + Tool)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("unsupported schema %d (want %d)", r.Schema, Schema)
	}
	for _, e := range r.Experiments {
		if e.Name == "" { // all files identify their figures by it
			return nil, errors.New("an experiment without a name: not as " + Tool + " wrote it")
		}
	}
	return &r, nil
}

// Save writes results.json alone. A run saves after each point, so that it
// loses no figure however it ends. Appending points to a journal would be
// cheaper, but would be a second format for every reader; 10 ms are little
// compared with the second that a point takes.
func (r *Report) Save(dir string) error {
	return Replace(filepath.Join(dir, JSONFile), r.WriteJSON)
}

// WriteFiles writes the three files of the report. Each file is replaced
// atomically.
func (r *Report) WriteFiles(dir string) error {
	return errors.Join(
		r.Save(dir),
		Replace(filepath.Join(dir, BenchmarksFile), r.WriteBenchmarks),
		Replace(filepath.Join(dir, PageFile), r.WritePage),
	)
}

// Replaceable returns the error with which Replace would fail at path, as far
// as it is known before writing: the directory does not exist, or path is a
// directory.
func Replaceable(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
	}
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "write", Path: path, Err: fmt.Errorf("%s is not a directory", filepath.Dir(path))}
	}
	return err
}

// Replace writes a file atomically: a reader sees the old or the new content,
// never a part.
func Replace(path string, write func(io.Writer) error) (err error) {
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

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error { return format.WriteJSON(w, r) }

// Fresh creates the directory of a new run, and holds it until release is called:
// dir itself or, if that has an earlier run, the first of dir-2, dir-3 … that does
// not exist. It never returns a directory with a run.
func Fresh(dir string) (path string, release func(), err error) {
	if err := Prepare(dir); err != nil {
		return "", nil, err
	}
	for n := 1; ; n++ {
		path = runDir(dir, n)
		if n > 1 {
			err := os.Mkdir(path, 0o777)
			switch _, read := Read(path); {
			case err == nil:
			case !errors.Is(err, fs.ErrExist):
				return "", nil, fmt.Errorf("cannot create the directory for the report: %w", err)
			case read != nil:
				continue // not a run of the lab
			}
		}
		release, err := Hold(path) // fails if another run is writing there
		if err != nil {
			return "", nil, err
		}
		if _, err := Read(path); errors.Is(err, fs.ErrNotExist) {
			return path, release, nil
		}
		release()
	}
}

// runDir returns the directory of the n-th run, from 1.
func runDir(dir string, n int) string {
	dir = filepath.Clean(dir)
	if n == 1 {
		return dir
	}
	return dir + "-" + strconv.Itoa(n)
}

// Newest returns the directory of the newest run that [Fresh] created for dir: the
// one with the largest number. Without any run it returns dir.
func Newest(dir string) string {
	dir = filepath.Clean(dir)
	newest := 1
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return dir
	}
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), filepath.Base(dir)+"-")
		if n, err := strconv.Atoi(rest); ok && err == nil && n > newest {
			if _, err := Read(runDir(dir, n)); err == nil {
				newest = n
			}
		}
	}
	return runDir(dir, newest)
}

// Restore fills in the outcomes of all finished points of the report. The runs
// must be the same as the report's, planned again. An unfinished point is
// measured again from its start, because its figures are pairs of one time.
func (r *Report) Restore(runs []Run) error {
	var stored []*Point
	r.eachPoint(func(_ *Experiment, p *Point) { stored = append(stored, p) })
	var planned []*measure.Outcome
	for i := range runs {
		for j := range runs[i].Outcomes {
			planned = append(planned, &runs[i].Outcomes[j])
		}
	}
	if len(stored) != len(planned) {
		return fmt.Errorf("it has %d points (want %d)", len(stored), len(planned))
	}
	for i, p := range stored {
		if err := p.restore(planned[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Point) restore(o *measure.Outcome) error {
	if p.Name != o.Point.Name || p.Count != o.Point.Count || len(p.Entries) != len(o.Results) {
		return fmt.Errorf("point %q differs from the planned %q", p.Name, o.Point.Name)
	}
	for i, entry := range p.Entries {
		if entry.Contender != o.Results[i].Contender {
			return fmt.Errorf("point %q has the contender %q (want %q)", p.Name, entry.Contender, o.Results[i].Contender)
		}
	}
	if !p.Finished {
		return nil
	}
	for i, entry := range p.Entries {
		o.Results[i].Repetitions = entry.Repetitions
		if entry.Error != "" {
			o.Results[i].Err = errors.New(entry.Error)
		}
	}
	o.State = p.State
	return nil
}
