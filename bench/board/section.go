package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/workload"
)

// A section is a task at which contenders are compared.
type section struct {
	name    string
	rows    []row
	columns []column
}

// A row is a contender.
type row struct {
	name  string
	ours  bool
	waits string // how its goroutines wait: parks, sleeps or polls
	ctx   string // what a context can end
	close string // who may close it, and when
	note  string

	rust bool // not a Go library, so it competes with none

	// amid permits a Close while others still send.
	amid bool
	// what is the contender itself, as the columns of its section expect it.
	what any
	// open opens it as a sink, for the columns that measure waiting. The goroutines of a
	// shared one call take with the number 0, several at once.
	open   opener
	shared bool
	// alone belongs to one sender.
	alone bool
}

// An opener opens a contender for n receivers, subscribers or workers. No two of them call
// take with the same number at once, unless the row is shared.
type opener func(n int, take func(i int, v uint64)) paced.Sink

// A column is a figure of each row, at one GOMAXPROCS.
type column struct {
	name    string
	procs   int
	slow    bool // takes a second, and is measured in fewer rounds
	can     func(r row) bool
	measure func(r row, d time.Duration) (float64, error)
}

// timed returns the columns of nanoseconds per item of a work, at each GOMAXPROCS. work does
// at least n items, or about so many.
func timed(procs []int, name string, can func(r row) bool, work func(r row, n uint64) (workload.Result, error)) (columns []column) {
	for _, p := range procs {
		columns = append(columns, column{name: name, procs: p, can: can, measure: func(r row, d time.Duration) (float64, error) {
			if program, ok := r.what.(rust); ok {
				return program.measure(name, p, d)
			}
			return lasting(d, func(n uint64) (workload.Result, error) { return work(r, n) })
		}})
	}
	return columns
}

// isSink reports whether a row is opened as a sink.
func isSink(r row) bool { return r.open != nil }

// A cell is one figure: the key under which it is stored.
type cell struct {
	section, row, column string
	procs                int
}

func (c cell) String() string {
	return fmt.Sprintf("%s/%s/%s/%d", c.section, c.row, c.column, c.procs)
}

// parseCell is the inverse of String.
func parseCell(key string) (cell, error) {
	parts := strings.Split(key, "/")
	if len(parts) < 4 {
		return cell{}, fmt.Errorf("invalid cell %q (want section/row/column/procs)", key)
	}
	n := len(parts)
	procs, err := strconv.Atoi(parts[n-1])
	// The names of rows contain slashes, such as container/heap.
	return cell{parts[0], strings.Join(parts[1:n-2], "/"), parts[n-2], procs}, err
}

// sections returns all tasks. The values of GOMAXPROCS are those of the columns that
// measure speed.
func sections(procs []int) []section {
	return slices.Concat(queueSections(procs), []section{
		batches(procs), selects(procs), priorities(procs), broadcasts(procs), pools(procs), semaphores(procs),
	})
}

// ofTests are the sections of tests.
var ofTests []func(procs []int) section

// find returns the measurement of a cell.
func find(c cell) (row, column, error) {
	all := sections([]int{c.procs})
	for _, s := range ofTests {
		all = append(all, s([]int{c.procs}))
	}
	for _, s := range all {
		if s.name != c.section {
			continue
		}
		for _, r := range s.rows {
			for _, col := range s.columns {
				if r.name == c.row && col.name == c.column && col.procs == c.procs {
					return r, col, nil
				}
			}
		}
	}
	return row{}, column{}, fmt.Errorf("no such cell: %v", c)
}

// exclusive returns an opener whose take is called by one goroutine at a time for each
// number.
func (r row) exclusive() opener {
	if !r.shared {
		return r.open
	}
	return func(n int, take func(i int, v uint64)) paced.Sink {
		var mu sync.Mutex
		return r.open(n, func(_ int, v uint64) {
			mu.Lock()
			take(0, v)
			mu.Unlock()
		})
	}
}

// choose returns the rows of a column whose cells match and can be measured.
func (s section) choose(col column, only *regexp.Regexp) (chosen []row) {
	for _, r := range s.rows {
		if (col.can == nil || col.can(r)) && only.MatchString(cell{s.name, r.name, col.name, col.procs}.String()) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// parts is the number of loads in the run of a column: a stall of the machine spoils one
// of them.
const parts = 10

// waiting returns the columns that measure what a contender costs that is not busy. The
// load puts rate values per second, each of which is taken copies times, by n receivers.
func waiting(n, copies int, rate float64) []column {
	over := func(open opener, d time.Duration, seed int) (*paced.Result, error) {
		load := paced.Load{Rate: rate, Senders: 1, Receivers: n, Values: max(100, int(rate*d.Seconds())), Seed: uint64(seed)}
		if open == nil {
			return load.Without()
		}
		return load.Over(copies, func(take func(int, uint64)) paced.Sink {
			s := open(n, take)
			if end := s.Close; copies > 1 { // the Close of some broadcasts ends what is queued
				s.Close = func() { time.Sleep(5 * time.Millisecond); end() }
			}
			return s
		})
	}
	cpu := func(open opener, d time.Duration, seed int) (float64, error) {
		result, err := over(open, d, seed)
		if err != nil {
			return 0, err
		}
		return result.PerValue() / 1000, nil
	}
	return []column{
		{name: "CPU", procs: 2, slow: true, can: func(r row) bool { return isSink(r) || r.name == nothing },
			measure: func(r row, d time.Duration) (float64, error) {
				return medianOf(parts/2, func(i int) (float64, error) {
					without, err := cpu(nil, d/parts, i)
					if err != nil || r.name == nothing {
						return without, err
					}
					with, err := cpu(r.exclusive(), d/parts, i)
					return with - without/float64(copies), err
				})
			}},
		{name: "p99", procs: 1, slow: true, can: isSink, measure: func(r row, d time.Duration) (float64, error) {
			return medianOf(parts, func(i int) (float64, error) {
				result, err := over(r.exclusive(), d/parts, i)
				if err != nil {
					return 0, err
				}
				return result.FromIntended.Quantile(0.99) / 1000, nil
			})
		}},
		{name: "idle", procs: 2, slow: true, can: isSink, measure: func(r row, d time.Duration) (float64, error) {
			s := r.open(n, func(int, uint64) {})
			for v := range uint64(100) {
				s.Put(v)
			}
			share := idle(d)
			s.Close()
			return share, nil
		}},
		{name: "lost", procs: 2, slow: true, can: isSink, measure: func(r row, d time.Duration) (float64, error) {
			return storm(r, n, copies, d), nil
		}},
	}
}

// nothing is the row of the load without a contender.
const nothing = "(nothing)"
