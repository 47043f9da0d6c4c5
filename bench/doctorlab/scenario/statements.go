package main

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// A channel per item.
var _ = register(scenario{
	Name: "statements",
	About: "A bank's importer parses statement lines on four workers and must book them in order: each " +
		"line gets its own channel for the result, and these channels are read in order. That is four " +
		"transfers and an allocation for half a microsecond of parsing.",
	Channels: true,
	Sites: []site{
		{send, "main.inOrder.func1"}, {receive, "main.inOrder.func2"}, {send, "main.inOrder.func2"},
		{receive, "main.inOrder.func3"}, {send, "main.inOrder.func3"}, {receive, "main.(*ledgerBook).book"},
		{receive, "main.inOrder.func1"}, {send, "main.statementLines.func1"},
	},
	Right:   []string{batch},
	Harmful: []string{fuseStages},
	finite: map[string]finiteRun{
		asFound: func(s *service, items int) uint64 { return runStatements(s, items, 4) },
		buffer:  func(s *service, items int) uint64 { return runStatements(s, items, 1024) },
		batch:   statementsInBatches,
	},
})

const (
	statementWorkers = 4
	statementBatch   = 64
)

// A booking is a parsed line.
type booking struct {
	account string
	cents   int64
	check   uint64
	ok      bool
}

// A ledgerBook records the bookings.
type ledgerBook struct {
	balance map[string]int64
	digest  uint64 // depends on the order
	done    *counter
}

func newLedgerBook(s *service) *ledgerBook {
	return &ledgerBook{balance: make(map[string]int64), done: s.counter()}
}

func runStatements(s *service, items, capacity int) uint64 {
	book := newLedgerBook(s)
	book.book(inOrder(statementLines(items, capacity), capacity, parseStatement))
	return book.digest
}

func (l *ledgerBook) book(bookings <-chan booking) {
	for b := range bookings {
		l.add(b)
		l.done.add(1)
	}
}

func (l *ledgerBook) add(b booking) {
	if !b.ok {
		l.digest++
		return
	}
	l.balance[b.account] += b.cents
	l.digest = l.digest*31 + b.check + uint64(l.balance[b.account])
}

// statementLines are the lines of a file.
func statementLines(items, capacity int) <-chan string {
	lines := make(chan string, capacity)
	go func() {
		defer close(lines)
		for n := range items {
			lines <- statementLine(n)
		}
	}()
	return lines
}

func statementLine(n int) string {
	var line [64]byte
	text := strconv.AppendInt(append(line[:0], "2026-11-21;DE"...), int64(n%500), 10)
	text = strconv.AppendInt(append(text, ';'), int64(n%9973), 10)
	return string(append(text, ".50;EUR;rent"...))
}

func parseStatement(line string) booking {
	_, rest, _ := strings.Cut(line, ";")
	account, rest, _ := strings.Cut(rest, ";")
	amount, rest, ok := strings.Cut(rest, ";")
	value, err := strconv.ParseFloat(amount, 64)
	h := fnv.New64a()
	h.Write([]byte(line))
	return booking{account: account, cents: int64(value * 100), check: h.Sum64(), ok: ok && err == nil && rest != ""}
}

// A task is an item and the channel of its result.
type task[I, O any] struct {
	item   I
	result chan O
}

// inOrder applies f to items on several workers and returns the results in
// order.
func inOrder[I, O any](items <-chan I, capacity int, f func(I) O) <-chan O {
	tasks := make(chan task[I, O], capacity)
	results := make(chan chan O, capacity)
	out := make(chan O, capacity)
	go func() {
		defer close(tasks)
		defer close(results)
		for item := range items {
			t := task[I, O]{item, make(chan O, 1)}
			results <- t.result
			tasks <- t
		}
	}()
	work := func() {
		for t := range tasks {
			t.result <- f(t.item)
		}
	}
	for range statementWorkers {
		go work()
	}
	go func() {
		defer close(out)
		for result := range results {
			out <- <-result
		}
	}()
	return out
}

// statementsInBatches parses and books pages of lines.
func statementsInBatches(s *service, items int) uint64 {
	pages := make(chan []string, 4)
	go func() {
		defer close(pages)
		for n := 0; n < items; {
			page := make([]string, 0, statementBatch)
			for ; n < items && len(page) < statementBatch; n++ {
				page = append(page, statementLine(n))
			}
			pages <- page
		}
	}()
	book := newLedgerBook(s)
	for bookings := range inOrder(pages, 4, parsePage) {
		for _, b := range bookings {
			book.add(b)
		}
		book.done.add(len(bookings))
	}
	return book.digest
}

func parsePage(page []string) []booking {
	bookings := make([]booking, len(page))
	for i, line := range page {
		bookings[i] = parseStatement(line)
	}
	return bookings
}
