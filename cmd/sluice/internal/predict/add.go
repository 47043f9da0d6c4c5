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

// ReadOwn reads a user's file of curves, and returns its malformed rows. A file
// that does not exist has no curves.
func ReadOwn(file string) ([]Curve, []Skipped, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	curves, skipped, err := readCSV(content, file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return limited(curves), skipped, nil
}

// Add appends a curve to a user's file, which it creates if necessary. The file
// is replaced atomically. Add returns an error if the file is not a file of
// curves, if it already has the curve, or if the curve could not be read back
// unchanged.
func Add(file string, c Curve) error {
	for name, text := range map[string]*string{"source": &c.Source, "machine": &c.Machine, "version": &c.Version, "workload": &c.Workload, "note": &c.Note} {
		*text = strings.TrimSpace(*text) // as it will be read
		if *text == "" && name != "note" {
			return fmt.Errorf("a curve needs a %s: set -%s", name, name)
		}
	}
	if len(c.Points) < 2 {
		return fmt.Errorf("%w: a curve has at least two", ErrTooFew)
	}
	curves, _, err := ReadOwn(file)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(curves, c.same) {
		return fmt.Errorf("%s already has a curve with this source, machine, version and workload", file)
	}
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content, err = appendCurve(content, c)
	if err != nil {
		return err
	}
	after, _, err := readCSV(content, file)
	i := slices.IndexFunc(after, c.same)
	if err != nil || i < 0 || len(after[i].Points) != len(c.Points) || after[i].Kind != cmp.Or(c.Kind, Shared) {
		return fmt.Errorf("%s cannot store this curve as one of kind %s with points %v: %w", file, cmp.Or(c.Kind, Shared), points(c.Points), cmp.Or(err, ErrForeign))
	}
	return replace(file, content)
}

// appendCurve adds the rows of c to the text of a file, in the file's columns.
func appendCurve(content []byte, c Curve) ([]byte, error) {
	if len(content) == 0 {
		content = []byte(strings.Join(columnNames, ","))
	}
	if content[len(content)-1] != '\n' {
		content = append(content, '\n')
	}
	text := bytes.TrimPrefix(content, []byte(byteOrderMark))
	reader := csv.NewReader(bytes.NewReader(text))
	reader.Comma = separator(text)
	in, err := readHeader(reader)
	if err != nil {
		return nil, err
	}
	var rows bytes.Buffer
	writer := csv.NewWriter(&rows)
	writer.Comma = reader.Comma
	for _, p := range c.Points {
		value := p.X
		if in.value == nsPerOp {
			value = 1e9 / p.X
		}
		row := make([]string, reader.FieldsPerRecord)
		for name, text := range map[string]string{
			"source": c.Source, "machine": c.Machine, "version": c.Version, "workload": c.Workload, "note": c.Note,
			"procs": strconv.Itoa(p.Procs), in.value: strconv.FormatFloat(value, 'f', -1, 64), "unit": perSecond,
			"kind": string(c.Kind), "design": c.Design, "cpus": number(c.CPUs), "domain": number(c.Domain),
		} {
			if i, ok := in.index[name]; ok {
				row[i] = text
			}
		}
		_ = writer.Write(row) // a Buffer cannot fail
	}
	writer.Flush()
	return append(content, rows.Bytes()...), nil
}

// number writes 0 as "".
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
