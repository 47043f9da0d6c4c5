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
	rows  map[key]int // index in keys and tally
	keys  []key
	tally []tally
	lines int64
}

type tally struct{ lines, bytes int64 }

// sum adds sizes. Clients may claim any size, so the sum saturates at the
// largest int64 instead of becoming negative.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// NewTable returns an empty Table.
func NewTable() *Table { return &Table{rows: map[key]int{}} }

// Add counts one event.
func (t *Table) Add(e parse.Event) {
	t.add(key{e.Service, e.Minute, uint32(e.Status)}, tally{1, e.Bytes})
}

func (t *Table) add(k key, more tally) {
	at, known := t.rows[k]
	if !known {
		at = len(t.keys)
		t.rows[k] = at
		t.keys = append(t.keys, k)
		t.tally = append(t.tally, tally{})
	}
	row := &t.tally[at]
	row.lines += more.lines
	row.bytes = sum(row.bytes, more.bytes)
	t.lines += more.lines
}

// Merge adds the counts of other.
func (t *Table) Merge(other *Table) {
	for i, k := range other.keys {
		t.add(k, other.tally[i])
	}
}

// Lines returns the number of events counted.
func (t *Table) Lines() int64 { return t.lines }

// Len returns the number of rows: one per service, status and minute.
func (t *Table) Len() int { return len(t.keys) }

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
	rows := make([]Row, len(t.keys))
	for i, k := range t.keys {
		rows[i] = Row{k.minute.Time(), k.service.Value(), int(k.status), t.tally[i].lines, t.tally[i].bytes}
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
