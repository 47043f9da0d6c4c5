package compare

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// A Run is one side of a comparison.
type Run struct {
	Path     string    `json:"path"`
	Settings []Setting `json:"settings"` // in the order of the file
	// Skipped are lines that look like results but cannot be read, after their place.
	Skipped []string `json:"skipped,omitempty"`
	// Failures name the benchmarks and packages that failed, and the reason of a panic.
	Failures []string `json:"failures,omitempty"`
}

// A Setting is a line "key: value" of a file, with all its values.
type Setting struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// resultsFile is the name of the lab's results.
const resultsFile = "results.txt"

// Settings that are part of a point or of its name.
const packageKey, experimentKey, procsKey = "pkg", "experiment", "GOMAXPROCS"

// values returns the values of a setting, or nil.
func (r *Run) values(key string) []string {
	if i := slices.IndexFunc(r.Settings, func(s Setting) bool { return s.Key == key }); i >= 0 {
		return r.Settings[i].Values
	}
	return nil
}

// A side is a run while it is read.
type side struct {
	*Run
	index int
	kept  int // bytes of lines that cannot be read
	of    *Comparison
}

// side returns OLD, 0, or NEW, 1.
func (c *Comparison) side(index int) *side { return &side{Run: c.runs()[index], index: index, of: c} }

// set adds a value of a setting.
func (s *side) set(key, value string) {
	i := slices.IndexFunc(s.Settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		i = len(s.Settings)
		s.Settings = append(s.Settings, Setting{Key: key})
	}
	if values := &s.Settings[i].Values; !slices.Contains(*values, value) {
		*values = append(*values, value)
	}
}

// remark adds a comment that is a reading of the machine.
func (s *side) remark(line string) {
	key, value, ok := strings.Cut(strings.TrimPrefix(line, "# "), ": ")
	if ok && reading(key) {
		s.set(key, strings.TrimSpace(value))
	}
}

// skip records a line that cannot be read.
func (s *side) skip(line int, text string) {
	s.kept += len(text)
	s.Skipped = append(s.Skipped, fmt.Sprintf("%s:%d: %s", s.Path, line, strings.Join(strings.Fields(text), " ")))
}

// read reads both runs.
func (c *Comparison) read() error {
	var reader benchfmt.Reader // one for both files: it remembers the units
	var sums [2]string
	for i, run := range c.runs() {
		in, err := open(run.Path)
		if err != nil {
			return err
		}
		sums[i], err = c.side(i).read(in, &reader)
		_ = in.Close()
		if err != nil {
			return err
		}
	}
	if sums[0] == sums[1] && c.Procs == nil {
		return fmt.Errorf("%s and %s have identical contents (want two runs)", c.Old.Path, c.New.Path)
	}
	for key, unit := range reader.Units() {
		_, key.Unit = tidy(1, key.Unit)
		c.units[key] = unit
	}
	return nil
}

// open opens a file, the results in a directory of the lab, or standard input for "-".
func open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return os.Stdin, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return os.Open(path)
	}
	in, err := os.Open(filepath.Join(path, resultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: not a directory of sluice lab", path, resultsFile)
	}
	return in, err
}

// read reads the side, and returns the hash of its contents. A run that failed before
// its first result is a result of NEW.
func (s *side) read(in io.Reader, reader *benchfmt.Reader) (sum string, err error) {
	hash := sha256.New()
	log := log{to: s}
	if err := log.read(io.TeeReader(in, hash)); err != nil {
		return "", fmt.Errorf("%s: %w", s.Path, err)
	}
	reader.Reset(&log.out, s.Path)
	found, taken := false, false
	for reader.Scan() {
		_, line := reader.Result().Pos()
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			s.skip(log.lines[line-1], record.Msg)
		case *benchfmt.Result:
			found = true
			if key, ok := s.key(record); ok {
				taken = s.add(key, log.lines[line-1], record) || taken
			}
		}
	}
	switch err := reader.Err(); {
	case err != nil:
		return "", err
	case taken || !found && s.index == 1 && len(s.Failures) > 0:
		return string(hash.Sum(nil)), nil
	case found && s.of.Procs != nil:
		return "", fmt.Errorf("%s has no point at GOMAXPROCS %d: it has %s", s.Path, s.of.Procs[s.index], list(s.values(procsKey)))
	case log.line == 0:
		return "", fmt.Errorf("%s is empty", s.Path)
	}
	why := slices.Concat(s.Failures, s.Skipped, []string{"no line begins with Benchmark and a name"})
	return "", fmt.Errorf("%s has no result in Go's benchmark format: %s", s.Path, why[0])
}

// key returns the point of a result. It returns false if the result is from another
// GOMAXPROCS than the user asked for. Two that are compared share the name in OLD.
func (s *side) key(result *benchfmt.Result) (key Key, ok bool) {
	key = Key{
		Package:    result.GetConfig(packageKey),
		Experiment: result.GetConfig(experimentKey),
		Name:       result.Name.String(),
	}
	base, procs := key.Name, ""
	if _, parts := result.Name.Parts(); len(parts) > 0 && parts[len(parts)-1][0] == '-' {
		procs = string(parts[len(parts)-1][1:])
		base = strings.TrimSuffix(base, "-"+procs)
	} else if key.Experiment != "" || s.of.Procs != nil {
		procs = "1" // package testing and the lab leave it out
	}
	if procs != "" {
		s.set(procsKey, procs)
	}
	asked := s.of.Procs
	if asked == nil {
		return key, true
	}
	if key.Name = base; asked[0] != 1 {
		key.Name += "-" + strconv.Itoa(asked[0])
	}
	return key, procs == strconv.Itoa(asked[s.index])
}

// add adds the figures and the settings of a result, and reports whether it has figures.
func (s *side) add(key Key, line int, result *benchfmt.Result) (any bool) {
	for _, config := range result.Config {
		if config.Key != packageKey && config.Key != experimentKey {
			s.set(config.Key, string(config.Value))
		}
	}
	for _, value := range result.Values {
		if math.IsNaN(value.Value) || math.IsInf(value.Value, 0) {
			s.skip(line, fmt.Sprint(key.Name, " ", value.Value))
			continue
		}
		v := 0.0
		v, key.Unit = tidy(value.Value, value.Unit)
		if s.of.values[key] == nil {
			s.of.values[key] = new([2][]float64)
			s.of.keys = append(s.of.keys, key)
		}
		values := &s.of.values[key][s.index]
		*values = append(*values, v)
		s.of.in[key.nameOnly()] |= 1 << s.index
		any = true
	}
	return any
}

// prefixed are units with a prefix that benchunit does not convert: it knows ns and MB.
var prefixed = map[string]struct {
	unit   string
	factor float64
}{
	"µs": {"sec", 1e-6}, "μs": {"sec", 1e-6}, "us": {"sec", 1e-6}, "ms": {"sec", 1e-3}, "s": {"sec", 1},
	"kB": {"B", 1e3}, "KB": {"B", 1e3}, "GB": {"B", 1e9},
	"KiB": {"B", 1 << 10}, "MiB": {"B", 1 << 20}, "GiB": {"B", 1 << 30},
}

// tidy converts a figure to the base unit, as benchunit.Tidy does for ns and MB:
// 1 µs/op is 1e-6 sec/op.
func tidy(v float64, unit string) (float64, string) {
	// Not of v: benchfmt does not convert the unit of a 0.
	factor, unit := benchunit.Tidy(1, unit)
	measured, per, divided := strings.Cut(unit, "/")
	words := strings.Split(measured, "-")
	for i, word := range words {
		if base, ok := prefixed[word]; ok {
			words[i] = base.unit
			factor *= base.factor
		}
	}
	if unit = strings.Join(words, "-"); divided {
		unit += "/" + per
	}
	return v * factor, unit
}

// direction returns +1 if more of a unit is better, -1 if it is worse, and 0 if
// unknown. The file's declaration comes first ("Unit M/s better=higher"), then
// benchfmt's knowledge, then the kind of the unit: times, CPU times, delays, bytes and
// allocations should be small, rates high. Not so how long a goroutine was blocked
// (blocked-send-sec/op): a receiver is blocked longer if its senders became slower, and
// also if it became faster.
func direction(unit string, units benchfmt.UnitMetadataMap) int {
	if known := units.GetBetter(unit); known != 0 || units.Get(unit, "better") != nil {
		return known
	}
	if rate(unit) {
		return +1
	}
	measured, _, _ := strings.Cut(unit, "/")
	first, rest, _ := strings.Cut(measured, "-")
	switch first {
	case "sec", "B", "bytes", "allocs":
		return -1
	case "cpu", "delay": // cpu-sec/op, delay-p99-sec
		if rest == "sec" || strings.HasSuffix(rest, "-sec") {
			return -1
		}
	}
	return 0
}

func rate(unit string) bool {
	return strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/sec")
}

// timed reports whether a unit is a time or a rate, which are "slower" or "faster".
func timed(unit string) bool { return rate(unit) || strings.HasPrefix(unit, "sec") }
