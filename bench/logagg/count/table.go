// Package count counts events by service, status and minute.
//
// What may enter this package: the table that is shipped, and what is told of all
// tables at the end. Nothing in it is safe for two goroutines.
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

// key is what is counted apart. It has no gaps between its fields, so that it is hashed
// in one piece.
type key struct {
	service unique.Handle[string]
	minute  parse.Minute
	status  uint32
}

// A Table holds counts of some time. The zero Table is not ready: use NewTable.
type Table struct {
	rows  map[key]int // where in keys and tally
	keys  []key
	tally []tally
	lines int64
}

type tally struct{ lines, bytes int64 }

// sum adds sizes. A client can claim whatever it likes of a response, so the sum stays at
// the largest number that there is instead of becoming a negative one.
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

// Merge adds all that other has counted.
func (t *Table) Merge(other *Table) {
	for i, k := range other.keys {
		t.add(k, other.tally[i])
	}
}

// Lines returns how many events were counted.
func (t *Table) Lines() int64 { return t.lines }

// Len returns how many rows there are: one for each service, status and minute met.
func (t *Table) Len() int { return len(t.keys) }

// A Row is one count, as it is shipped.
type Row struct {
	Minute  time.Time `json:"minute"` // its beginning, in UTC
	Service string    `json:"service"`
	Status  int       `json:"status"`
	Lines   int64     `json:"lines"`
	Bytes   int64     `json:"bytes"` // the sum over the responses, or the largest int64
}

// Rows returns all counts, by minute, service and status.
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

// AppendJSON appends the rows to text, a JSON object and a line feed for each.
func (t *Table) AppendJSON(text []byte) []byte {
	for _, row := range t.Rows() {
		line, err := json.Marshal(row)
		if err != nil { // a Row has nothing that JSON could refuse
			panic("count: " + err.Error())
		}
		text = append(append(text, line...), '\n')
	}
	return text
}
