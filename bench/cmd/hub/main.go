// Command hub compares ways to broadcast values to subscribers that come and go: the usual
// code, which is a mutex and a map of built-in channels; a Bounded for each subscriber in
// place of the channel; and package hub.
//
//	go run ./bench/cmd/hub                                     all cells, a few minutes
//	go run ./bench/cmd/hub -cells '^wait' -procs 2             a few of them
//	go run ./bench/cmd/hub -procs 1 -o bench/RESULTS.md        a section of the results
//
// The name of a cell is its load and the number of subscribers: 'wait 1000'. One publisher
// sends references, and each subscriber queues up to 128 of them. The loads are:
//
//	wait                      the publisher sends all the time, and waits for who has no room
//	drop                      the same, and who has no room misses values
//	one at a time             the publisher sends when all have received the last value
//	one at a time, one stuck  the same, with one subscriber more that never receives
//
// The ways take turns in one process. Figures are medians of the rounds. After an interrupt
// the command prints what was measured so far.
package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/sluice-go/sluice/bench/rounds"
)

// settings are the command's flags.
type settings struct {
	rounds.Flags
	received int
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("hub", flag.ContinueOnError)
	s.Define(flags, "cells", "measure only cells whose name matches this `regexp`", 3,
		"also write the table of each GOMAXPROCS as a section of this Markdown `file`")
	flags.IntVar(&s.received, "received", 200_000, "`number` of values that the subscribers of one run receive together, at most; at least 20 each")
	if err := s.Parse(args); err != nil {
		return s, err
	}
	if s.received < 1 {
		return s, fmt.Errorf("-received: %d is too small (want at least 1)", s.received)
	}
	return s, nil
}

func main() { rounds.Main(parse, report) }

func report(ctx context.Context, s settings) error {
	return rounds.Table[cell, line]{
		Cells:    choose(s.Match),
		Name:     cell.name,
		Measure:  s.measure,
		Heading:  heading,
		Section:  "hub",
		Markdown: s.markdown,
	}.Report(ctx, s.Flags)
}
