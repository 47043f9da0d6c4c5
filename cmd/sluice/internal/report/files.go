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

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// Names of the files of a report.
const (
	BenchmarksFile = "results.txt"
	JSONFile       = "results.json"
	PageFile       = "report.html"
)

// Prepare makes the directory if need be and makes sure that files can be
// written there, and that those it holds are the lab's own: a run must not end with
// figures that have nowhere to go, nor take the place of somebody else's.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot make the directory for the report: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("cannot write to the directory for the report: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("cannot write to the directory for the report: %w", err)
	}
	return foreign(dir)
}

// foreign returns an error if the directory holds a file by one of our names that
// the lab did not write. results.json is written first and says who wrote it, so
// the others do not stand alone; each of them must look like ours as well.
func foreign(dir string) error {
	_, err := Read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; choose another directory by -o", err)
	}
	for _, name := range []string{BenchmarksFile, PageFile} {
		path := filepath.Join(dir, name)
		text, readErr := readRegular(path)
		own := ownPage
		if name == BenchmarksFile {
			own = ownBenchmarks
		}
		switch {
		case errors.Is(readErr, fs.ErrNotExist):
		case readErr != nil:
			return fmt.Errorf("%w; choose another directory by -o", readErr)
		case err != nil || !own(text):
			return fmt.Errorf("%s was not written by %s; choose another directory by -o", path, Tool)
		}
	}
	return nil
}

// ownBenchmarks reports whether text is of WriteBenchmarks: nothing, or with the
// noise at its head, or with the line that names the experiment.
func ownBenchmarks(text []byte) bool {
	return len(text) == 0 || bytes.HasPrefix(text, []byte(noiseComment)) || bytes.Contains(text, []byte("\nexperiment: "))
}

// ownPage reports whether text is of WritePage: its title says so.
func ownPage(text []byte) bool { return bytes.Contains(text, []byte("<title>"+Tool+": ")) }

// readRegular reads a file. A pipe by one of our names would never end.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
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

// Decode reads the text of a results.json of any supported schema.
func Decode(text []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil || r.Tool != Tool {
		return nil, errors.New("not written by " + Tool)
	}
	if r.Schema < 1 || r.Schema > Schema {
		return nil, fmt.Errorf("unsupported schema %d (want 1 or %d)", r.Schema, Schema)
	}
	for _, e := range r.Experiments {
		if e.Name == "" { // all files identify their figures by it
			return nil, errors.New("an experiment without a name: not as " + Tool + " wrote it")
		}
	}
	if r.Schema == 1 {
		r.identify()
		r.Schema = Schema
	}
	return &r, nil
}

// identify replaces the names of contenders by their IDs.
func (r *Report) identify() {
	identify := func(id *lab.ContenderID) { *id = lab.FormerID(string(*id)) }
	r.eachPoint(func(_ *Experiment, p *Point) {
		for i := range p.Entries {
			identify(&p.Entries[i].Contender)
		}
		for i := range p.LeftOut {
			identify(&p.LeftOut[i].Contender)
		}
	})
	for _, e := range r.Experiments {
		for i := range e.Beside {
			identify(&e.Beside[i].Contender)
			identify(&e.Beside[i].Ours)
		}
	}
}

// Save writes results.json alone: what a run does after each point, so that
// whatever ends it takes no figure with it. A journal to which each point is
// appended would be cheaper, but a second form of the same figures that everybody
// had to read; ten milliseconds a point are little beside the second that it takes.
func (r *Report) Save(dir string) error {
	return Replace(filepath.Join(dir, JSONFile), r.WriteJSON)
}

// WriteFiles writes the three files of the report. Each replaces its predecessor
// as a whole: a reader never sees half of one.
func (r *Report) WriteFiles(dir string) error {
	return errors.Join(
		r.Save(dir),
		Replace(filepath.Join(dir, BenchmarksFile), r.WriteBenchmarks),
		Replace(filepath.Join(dir, PageFile), r.WritePage),
	)
}

// Replaceable is why Replace would fail at path as far as that can be told before
// there is anything to write: the folder is not there, or path is one.
func Replaceable(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("is a folder")}
	}
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "write", Path: path, Err: fmt.Errorf("%s is no folder", filepath.Dir(path))}
	}
	return err
}

// Replace writes a file as a whole: a reader sees what was there or all that is new,
// never half of it.
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

// WriteJSON writes the report as it is.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}
