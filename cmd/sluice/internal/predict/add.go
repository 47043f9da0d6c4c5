package predict

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// ReadOwn reads a user's file of curves, and returns its malformed rows. Without a file,
// content is nil, and there are no curves.
func ReadOwn(content []byte, name string) ([]Curve, []error, error) {
	if content == nil {
		return nil, nil, nil
	}
	curves, skipped, err := readCSV(content, name)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return limited(curves), skipped, nil
}

// Add appends a curve to the content of a user's file. It returns an error if that is
// not a file of curves, if it already has the curve, or if the curve could not be read
// back unchanged.
func Add(content []byte, name string, c Curve) ([]byte, error) {
	texts := c.texts()
	for _, text := range texts {
		*text = strings.TrimSpace(*text) // as it will be read
	}
	for _, label := range identity {
		if *texts[label] == "" {
			return nil, fmt.Errorf("a curve needs a %s: set -%s", label, label)
		}
	}
	if len(c.Points) < 2 {
		return nil, fmt.Errorf("%w: a curve has at least two", ErrTooFew)
	}
	curves, _, err := ReadOwn(content, name)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(curves, c.same) {
		return nil, fmt.Errorf("%s already has a curve with this source, machine, version and workload", name)
	}
	if content, err = appendCurve(content, c); err != nil {
		return nil, err
	}
	after, _, err := readCSV(content, name)
	i := slices.IndexFunc(after, c.same)
	if kind := cmp.Or(c.Kind, Shared); err != nil || i < 0 || len(after[i].Points) != len(c.Points) || after[i].Kind != kind {
		return nil, fmt.Errorf("%s cannot store this curve as one of kind %s with %s: %w", name, kind, format.Plural(len(c.Points), "count"), cmp.Or(err, ErrForeign))
	}
	return content, nil
}

// appendCurve adds the rows of c to the text of a file, in the file's columns.
func appendCurve(content []byte, c Curve) ([]byte, error) {
	if len(content) == 0 {
		content = []byte(strings.Join(slices.Concat(identity, measures), ","))
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
		values := map[string]string{"procs": strconv.Itoa(p.Procs), in.value: strconv.FormatFloat(value, 'f', -1, 64), "unit": perSecond}
		for name, text := range c.texts() {
			values[name] = *text
		}
		for name, n := range c.numbers() {
			values[name] = strings.TrimPrefix(strconv.Itoa(*n), "0") // unknown
		}
		row := make([]string, reader.FieldsPerRecord)
		for name, text := range values {
			if in.has(name) {
				row[in.index[name]] = text
			}
		}
		_ = writer.Write(row) // a Buffer cannot fail
	}
	writer.Flush()
	return append(content, rows.Bytes()...), nil
}
