package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/paced"
)

// A table is a section of bench/RESULTS.md.
type table struct {
	name, title, text string
	loads             []tableLoad
	grid              bool // its section has a line for each load
	missing           int  // loads that were not measured, because of an interrupt
}

// A tableLoad is a load of a table, without its number of values, and the kinds that
// take part.
type tableLoad struct {
	load  paced.Load
	kinds func(kind) bool
}

// Which kinds take part: every one; those of 128 slots, and of none without a context;
// the same without a context.
func everyKind(kind) bool   { return true }
func mostKinds(k kind) bool { return k.Capacity == 128 || fewKinds(k) }
func fewKinds(k kind) bool  { return k.Capacity != 1 && isPlain(k) }

// isPlain reports whether no context is used.
func isPlain(k kind) bool {
	return !strings.HasSuffix(k.Name, " ctx") && !strings.HasSuffix(k.Name, " select")
}

// at returns a load of eight senders and one receiver.
func at(rate float64) paced.Load { return paced.Load{Rate: rate, Senders: 8, Receivers: 1} }

// between returns a load of that many senders and receivers, bursty one whose values
// arrive 64 at a time, and busy one whose receiver works on each value.
func between(rate float64, senders, receivers int) paced.Load {
	return paced.Load{Rate: rate, Senders: senders, Receivers: receivers}
}

func bursty(rate float64) paced.Load {
	l := at(rate)
	l.Group = 64
	return l
}

func busy(rate float64, job time.Duration) paced.Load {
	l := at(rate)
	l.Job = job
	return l
}

// tables are the sections that -table writes, each in some minutes but the whole grid.
var tables = []table{
	{
		name: "rates", title: "Channels that are not busy",
		text: "Eight senders and one receiver, at the given rate in all.",
		loads: []tableLoad{
			{at(1_000), fewKinds}, {at(10_000), everyKind}, {at(100_000), everyKind}, {at(1_000_000), mostKinds},
		},
	},
	{
		name: "ends", title: "Channels that are not busy, with other ends",
		text: "Other numbers of senders and receivers.",
		loads: []tableLoad{
			{between(10_000, 1, 1), fewKinds}, {between(10_000, 1, 8), fewKinds}, {between(10_000, 8, 8), fewKinds},
			{between(100_000, 1, 1), fewKinds}, {between(100_000, 8, 8), fewKinds},
		},
	},
	{
		name: "jobs", title: "Channels that are not busy, with bursts and jobs",
		text: "Eight senders and one receiver; values that arrive 64 at a time, or a receiver that works on each value.",
		loads: []tableLoad{
			{bursty(10_000), mostKinds}, {bursty(100_000), fewKinds},
			{busy(10_000, time.Microsecond), mostKinds}, {busy(10_000, 20*time.Microsecond), mostKinds},
		},
	},
	{
		name: gridTable, title: "Channels that are not busy, a grid", grid: true,
		text: "All rates, ends and bursts, and each job that takes at most half of one receiver's time: the loads\n" +
			"that differ from 10k/s, 8->1, without bursts and jobs, in at most two of the four. The other half of\n" +
			"the loads, where three or four differ, is in no section: `-table " + wholeTable + "` measures all.",
		loads: gridLoads(),
	},
	{
		name: wholeTable, title: "Channels that are not busy, the whole grid", grid: true,
		text:  "All rates, ends and bursts, and each job that takes at most half of one receiver's time.",
		loads: wholeGrid(),
	},
}

// tableNamed returns a table by its name.
func tableNamed(name string) (table, error) {
	i := slices.IndexFunc(tables, func(t table) bool { return t.name == name })
	if i >= 0 {
		return tables[i], nil
	}
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	return table{}, fmt.Errorf("-table: unknown table %q (want %s)", name, strings.Join(append(names, pingPongTable), ", "))
}
