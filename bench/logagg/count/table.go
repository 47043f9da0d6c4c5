// Package count counts events by service, status and minute.
//
// This package contains the table that is shipped, and the summary of all
// tables for the final report. Its types are not safe for concurrent use.
package count

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// key identifies a row. It has no padding, so that it is hashed in one piece.
type key struct {
	service unique.Handle[string]
	minute  parse.Minute
	status  uint32
}

// A Table contains the counts of an interval. Use NewTable: the zero Table is
// invalid.
type Table struct {
	rows  map[key]*tally
	lines int64
}

type tally struct{ lines, bytes int64 }

// NewTable returns an empty Table.
func NewTable() *Table { return &Table{rows: map[key]*tally{}} }

// Add counts one event.
func (t *Table) Add(e parse.Event) {
	t.add(key{e.Service, e.Minute, uint32(e.Status)}, tally{1, e.Bytes})
}

// add adds to a row. Clients may claim any size, so the sum of sizes saturates at the
// largest int64 instead of becoming negative.
func (t *Table) add(k key, more tally) {
	row := t.rows[k]
	if row == nil {
		row = new(tally)
		t.rows[k] = row
	}
	row.lines += more.lines
	row.bytes += min(more.bytes, math.MaxInt64-row.bytes)
	t.lines += more.lines
}

// Merge adds the counts of other.
func (t *Table) Merge(other *Table) {
	for k, more := range other.rows {
		t.add(k, *more)
	}
}

// Lines returns the number of events counted.
func (t *Table) Lines() int64 { return t.lines }

// Len returns the number of rows: one per service, status and minute.
func (t *Table) Len() int { return len(t.rows) }

// A Row is one count in the format in which it is shipped.
type Row struct {
	Minute  time.Time `json:"minute"` // its beginning, in UTC
	Service string    `json:"service"`
	Status  int       `json:"status"`
	Lines   int64     `json:"lines"`
	Bytes   int64     `json:"bytes"` // sum over the responses, at most the largest int64
}

// Rows returns all counts, ordered by minute, service and status.
func (t *Table) Rows() []Row {
	rows := make([]Row, 0, len(t.rows))
	for k, sum := range t.rows {
		rows = append(rows, Row{k.minute.Time(), k.service.Value(), int(k.status), sum.lines, sum.bytes})
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(a.Minute.Compare(b.Minute), strings.Compare(a.Service, b.Service), cmp.Compare(a.Status, b.Status))
	})
	return rows
}

// AppendJSON appends the rows to text, one JSON object per line.
func (t *Table) AppendJSON(text []byte) []byte {
	for _, row := range t.Rows() {
		line, err := json.Marshal(row)
		if err != nil { // a Row always marshals
			panic("count: " + err.Error())
		}
		text = append(append(text, line...), '\n')
	}
	return text
}
