package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A record is the part of a line that is counted.
type record struct {
	status    int
	bytes     int64
	malformed bool
}

// parse parses one line, such as
//
//	203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 5316
//
// A malformed line is a record rather than an error: an error would end the pipeline.
func parse(_ context.Context, line string) (record, error) {
	_, request, _ := strings.Cut(line, `] "`)
	_, answer, _ := strings.Cut(request, `" `)
	fields := strings.Fields(answer)
	if len(fields) < 2 {
		return record{malformed: true}, nil
	}
	status, err := strconv.Atoi(fields[0])
	if err != nil || status < 100 || status > 999 {
		return record{malformed: true}, nil
	}
	size := int64(0)
	if fields[1] != "-" { // no body
		if size, err = strconv.ParseInt(fields[1], 10, 64); err != nil || size < 0 {
			return record{malformed: true}, nil
		}
	}
	return record{status: status, bytes: size}, nil
}

// A table contains the counts by status.
type table struct {
	rows      map[int]*row
	malformed int
}

type row struct {
	requests int
	bytes    int64
}

func newTable() *table { return &table{rows: map[int]*row{}} }

// add counts a batch of records.
func (t *table) add(records []record) {
	for _, r := range records {
		if r.malformed {
			t.malformed++
			continue
		}
		if t.rows[r.status] == nil {
			t.rows[r.status] = new(row)
		}
		t.rows[r.status].requests++
		t.rows[r.status].bytes += r.bytes
	}
}

// print writes the table, sorted by status.
func (t *table) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "status\trequests\tbytes\t")
	for _, status := range slices.Sorted(maps.Keys(t.rows)) {
		fmt.Fprintf(w, "%d\t%d\t%d\t\n", status, t.rows[status].requests, t.rows[status].bytes)
	}
	if t.malformed > 0 {
		fmt.Fprintf(w, "malformed\t%d\t\t\n", t.malformed)
	}
	return w.Flush() // reports the errors of the calls above too
}
