// Command batches compares ways to move values in batches: slices over the built-in
// channel, made anew or from a sync.Pool, and a Bounded with SendBatch or batch.Sender.
//
//	go run ./bench/cmd/batches                                    all cells, several minutes
//	go run ./bench/cmd/batches -cells '^64 1->1' -procs 2         a few of them
//	go run ./bench/cmd/batches -procs 1 -o bench/RESULTS.md       a section of the results
//
// The name of a cell is the size of a value in bytes, with a * if it contains pointers; the
// numbers of senders and receivers; and the size of a batch: '8* 4->1 64'. Queues have room
// for 1024 values. Senders get values one by one and fill batches themselves; receivers read
// each value.
//
// The ways take turns in one process. Figures are medians of the rounds, and ratios are
// medians of the ratios of each round, so a machine that is slow for a while slows all. After
// an interrupt the command prints what was measured so far.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bench/rounds"
)

// settings are the command's flags.
type settings struct {
	rounds.Flags
	run time.Duration
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("batches", flag.ContinueOnError)
	s.Define(flags, "cells", "measure only cells whose name matches this `regexp`", 5,
		"also write the table of each GOMAXPROCS as a section of this Markdown `file`")
	flags.DurationVar(&s.run, "time", 10*time.Millisecond, "approximate `duration` of one run")
	if err := s.Parse(args); err != nil {
		return s, err
	}
	if s.run <= 0 {
		return s, fmt.Errorf("-time: %v is not positive", s.run)
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
		Section:  "batches",
		Markdown: s.markdown,
	}.Report(ctx, s.Flags)
}
