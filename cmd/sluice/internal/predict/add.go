package predict

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
// refused, and so is a curve that it already has, or that could not be read back from
// it as it is.
func Add(file string, c Curve) error {
	for _, text := range []*string{&c.Source, &c.Machine, &c.Version, &c.Workload, &c.Note} {
		*text = strings.TrimSpace(*text) // as it will be read
	}
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
	if err := readsBack(content, c); err != nil {
		return fmt.Errorf("%s would not hold this curve: %w", file, err)
	}
	return replace(file, content)
}

// readsBack reports what is wrong if a file of that content would not give c again. A
// figure that is no throughput would make the file unreadable for good, and without
// their column separate parts would pass for one shared thing.
func readsBack(content []byte, c Curve) error {
	curves, err := ReadCurves(bytes.NewReader(content))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(curves, c.same)
	switch {
	case i < 0:
		return errors.New("it would be another one by its source, machine, version or workload")
	case !slices.Equal(curves[i].Points, c.Points):
		return fmt.Errorf("its points would be %v, not %v", curves[i].Points, c.Points)
	case curves[i].Kind != cmp.Or(c.Kind, Shared):
		return fmt.Errorf("it has no column kind, and the curve is %s", c.Kind)
	}
	return nil
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
