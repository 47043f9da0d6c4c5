package predict

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// ReadOwn reads a user's file of curves. A file that is not there has none.
func ReadOwn(file string) ([]Curve, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	curves, err := ReadCurves(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return curves, nil
}

// Add appends a curve to a user's file, which it makes if need be. It replaces
// the file as a whole: nobody ever reads half of it. A file that is no file of curves is
// refused, and so is a curve that it already has.
func Add(file string, c Curve) error {
	for name, value := range map[string]string{"source": c.Source, "machine": c.Machine, "version": c.Version, "workload": c.Workload} {
		if value == "" {
			return fmt.Errorf("a curve needs a %s: say it with -%s", name, name)
		}
	}
	if len(c.Points) < 2 {
		return fmt.Errorf("%w: one count is no curve", ErrTooFew)
	}
	curves, err := ReadOwn(file)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(curves, c.same) {
		return fmt.Errorf("%s has this curve already: same source, machine, version and workload", file)
	}
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content, err = appendCurve(content, c)
	if err != nil {
		return err
	}
	return replace(file, content)
}

// appendCurve adds the rows of c to the text of a file, by the columns it has.
func appendCurve(content []byte, c Curve) ([]byte, error) {
	header := slices.Concat(mustHave, mayHave)
	if len(content) > 0 {
		var err error
		if header, err = csv.NewReader(bytes.NewReader(content)).Read(); err != nil {
			return nil, err
		}
		if content[len(content)-1] != '\n' {
			content = append(content, '\n')
		}
	}
	var rows bytes.Buffer
	writer := csv.NewWriter(&rows)
	if len(content) == 0 {
		_ = writer.Write(header) // a Buffer takes all
	}
	for _, p := range c.Points {
		fields := map[string]string{
			"source": c.Source, "machine": c.Machine, "version": c.Version, "workload": c.Workload, "note": c.Note,
			"procs": strconv.Itoa(p.Procs), "ops_per_s_or_ns": strconv.FormatFloat(p.X, 'f', -1, 64), "unit": perSecond,
			"kind": string(c.Kind), "design": string(c.Design), "cpus": number(c.CPUs), "domain": number(c.Domain),
		}
		row := make([]string, len(header))
		for i, name := range header {
			row[i] = fields[name]
		}
		_ = writer.Write(row)
	}
	writer.Flush()
	return append(content, rows.Bytes()...), nil
}

// number writes 0 as nothing.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func replace(file string, content []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(next.Name()))
		}
	}()
	_, err = next.Write(content)
	if err := errors.Join(err, next.Chmod(0o644), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), file)
}
