package compare

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// resultsFile is the name of the lab's results in Go's benchmark format.
const resultsFile = "results.txt"

// results has the values of each point in OLD and in NEW.
type results struct {
	runs   [2]Run
	keys   []Key // in the order of the files, OLD first
	values map[Key]*[2][]float64
	units  benchfmt.UnitMetadataMap
	procs  *[2]int // GOMAXPROCS of the points to read from each side, or nil for all
	held   int     // bytes of memory, roughly: see hold
}

// maxHeld is the most memory for what was read from both files, in bytes: their results and
// settings. The text is not kept.
const maxHeld = 128 << 20

// hold counts bytes of memory that text of the file takes.
func (r *results) hold(side, bytes int) error {
	if r.held += bytes; r.held > maxHeld {
		return fmt.Errorf("%s has too many results: those of both files take more than %d MiB of memory (want less, such as fewer benchmarks)",
			r.runs[side].Path, maxHeld>>20)
	}
	return nil
}

// Bytes of memory beside the text.
const (
	valueBytes = 2 * 8 // a slice grows
	entryBytes = 200   // of a point, a setting or a message
)

// A Run is one side of a comparison.
type Run struct {
	Path     string    `json:"path"`
	Settings []Setting `json:"settings"` // in the order of the file
	// Skipped are malformed results.
	Skipped []string `json:"skipped,omitempty"`
	// Failures are the lines with which package testing or the runtime reports that a
	// benchmark failed, or that the run ended early.
	Failures []string `json:"failures,omitempty"`
}

// A Setting is a line "key: value" of a file, with all its values.
type Setting struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// values returns the values of a setting, or nil.
func (r *Run) values(key string) []string {
	for _, s := range r.Settings {
		if s.Key == key {
			return s.Values
		}
	}
	return nil
}

// add adds a value of a setting, and returns the bytes of memory that it takes.
func (r *Run) add(key, value string) (held int) {
	i := slices.IndexFunc(r.Settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		i = len(r.Settings)
		r.Settings = append(r.Settings, Setting{Key: key})
	}
	if s := &r.Settings[i]; !slices.Contains(s.Values, value) {
		s.Values = append(s.Values, value)
		return entryBytes + len(key) + len(value)
	}
	return 0
}

func read(paths [2]string, procs *[2]int) (*results, error) {
	var files [2]file
	for i, path := range paths {
		f, err := open(path)
		if err != nil {
			return nil, err
		}
		files[i] = f
	}
	switch {
	case procs != nil: // two values of GOMAXPROCS in one run
	case os.SameFile(files[0].info, files[1].info):
		return nil, fmt.Errorf("%s and %s are the same file (want two runs)", paths[0], paths[1])
	default:
		if same, err := identical(files[0], files[1]); err != nil {
			return nil, err
		} else if same {
			return nil, fmt.Errorf("%s and %s have identical contents (want two runs)", paths[0], paths[1])
		}
	}
	both := &results{values: map[Key]*[2][]float64{}, procs: procs}
	var reader benchfmt.Reader // one for both files: it remembers the units
	for i, f := range files {
		both.runs[i].Path = paths[i]
		if err := both.addFile(i, f, &reader); err != nil {
			return nil, err
		}
	}
	both.units = reader.Units()
	return both, both.checkProcs()
}

// checkProcs returns an error if a side has no point at the GOMAXPROCS that the
// user asked for.
func (r *results) checkProcs() error {
	if r.procs == nil {
		return nil
	}
	for side := range r.runs {
		has := func(values *[2][]float64) bool { return len(values[side]) > 0 }
		if !slices.ContainsFunc(slices.Collect(maps.Values(r.values)), has) {
			run := &r.runs[side]
			return fmt.Errorf("%s has no point at GOMAXPROCS %d: it has %s", run.Path, r.procs[side], list(run.values(procsKey)))
		}
	}
	return nil
}

// addFile reads the file of one side, twice: remarks come before other settings.
func (r *results) addFile(side int, f file, reader *benchfmt.Reader) error {
	if err := f.read(func(text io.Reader) error { return r.addRemarks(side, text) }); err != nil {
		return err
	}
	return f.read(func(text io.Reader) error {
		reader.Reset(text, f.path)
		return r.add(side, reader)
	})
}

// add reads one side.
func (r *results) add(side int, reader *benchfmt.Reader) error {
	run := &r.runs[side]
	found := false
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			run.Skipped = append(run.Skipped, record.Error())
			if err := r.hold(side, entryBytes+len(record.Error())); err != nil {
				return err
			}
		case *benchfmt.Result:
			found = true
			if err := r.addResult(side, record); err != nil {
				return err
			}
		}
	}
	if err := reader.Err(); err != nil {
		return err
	}
	if found {
		return nil
	}
	reason := "no line begins with Benchmark and a name"
	if len(run.Skipped) > 0 {
		reason = run.Skipped[0]
	}
	return fmt.Errorf("%s has no result in Go's benchmark format: %s", run.Path, reason)
}

// key returns the point of a result and its GOMAXPROCS. It returns false if the
// result is from another GOMAXPROCS than the user asked for. Two that are compared
// share the name in OLD.
func (r *results) key(side int, result *benchfmt.Result) (key Key, procs string, ok bool) {
	key = Key{
		Package:    result.GetConfig(packageKey),
		Experiment: result.GetConfig(experimentKey),
		Name:       result.Name.String(),
	}
	procs = key.split().procs
	if r.procs == nil {
		return key, procs, true
	}
	base := key.Name
	if procs == "" {
		procs = "1" // package testing leaves it out
	} else {
		base = strings.TrimSuffix(base, "-"+procs)
	}
	if procs != strconv.Itoa(r.procs[side]) {
		return key, procs, false
	}
	if key.Name = base; r.procs[0] != 1 {
		key.Name += "-" + strconv.Itoa(r.procs[0])
	}
	return key, procs, true
}

func (r *results) addResult(side int, result *benchfmt.Result) error {
	key, procs, ok := r.key(side, result)
	run := &r.runs[side]
	if procs != "" {
		if err := r.hold(side, run.add(procsKey, procs)); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	for _, config := range result.Config {
		if config.Key != packageKey && config.Key != experimentKey {
			if err := r.hold(side, run.add(config.Key, string(config.Value))); err != nil {
				return err
			}
		}
	}
	for _, value := range result.Values {
		if math.IsNaN(value.Value) || math.IsInf(value.Value, 0) {
			path, line := result.Pos()
			return fmt.Errorf("%s:%d: %v is not a measurement", path, line, value.Value)
		}
		// benchfmt does not convert the unit of a 0, but the other repetitions
		// of the point are in sec.
		_, key.Unit = benchunit.Tidy(value.Value, value.Unit)
		values, ok := r.values[key]
		held := valueBytes
		if !ok {
			held += entryBytes + len(key.Package) + len(key.Experiment) + len(key.Name)
			values = new([2][]float64)
			r.values[key] = values
			r.keys = append(r.keys, key)
		}
		values[side] = append(values[side], value.Value)
		if err := r.hold(side, held); err != nil {
			return err
		}
	}
	return nil
}

// Settings that are part of a point or of its name.
const (
	packageKey    = "pkg"
	experimentKey = "experiment"
	procsKey      = "GOMAXPROCS"
)
