package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/rounds"
	"github.com/sluice-go/sluice/bench/workload"
)

// folder has the Rust program, in the repository.
const folder = "bench/rust"

// The columns: the built-in channel, ours, and what the Rust program prints.
var columns = []string{native, ours, "kanal", "crossbeam", "crossfire", "flume", "kanal async", "crossfire async", "flume async"}

const (
	native = "chan"
	ours   = "sluice"
)

// A row is a workload, named as by bench/cmd/ratios.
type row struct {
	name               string
	slots              string // for the Rust program
	senders, receivers int
	native, ours       contender.Contender
	nativeWork         workload.Workload
	oursWork           workload.Workload
}

// standIn is the capacity of the built-in channel beside a channel without a limit.
const standIn = 1024

// choose returns the rows whose name matches.
func choose(match *regexp.Regexp) (rows []row) {
	background := context.Background()
	add := func(name, slots string, capacity, nativeCapacity int, c contender.Contender) {
		for _, shape := range [][2]int{{1, 1}, {8, 1}, {1, 10}, {8, 8}} {
			r := row{
				slots: slots, senders: shape[0], receivers: shape[1], native: contender.Native(), ours: c,
				nativeWork: workload.OneWay(nativeCapacity, shape[0], shape[1]),
				oursWork:   workload.OneWay(capacity, shape[0], shape[1]),
			}
			if r.name = name + " " + r.oursWork.Name; match.MatchString(r.name) {
				rows = append(rows, r)
			}
		}
	}
	add("Rendezvous", "0", 0, 0, contender.Rendezvous(background, nil))
	for _, n := range []int{1, 8, 128, 1024} {
		add(fmt.Sprintf("Bounded %d", n), strconv.Itoa(n), n, n, contender.Bounded(background, nil))
	}
	add("Elastic", "-", 0, standIn, contender.Elastic(background, nil))
	return rows
}

// build builds the Rust program, and returns its path.
func build(ctx context.Context, cargo string) (string, error) {
	if _, err := os.Stat(filepath.Join(folder, "Cargo.toml")); err != nil {
		return "", fmt.Errorf("%s is not here: run this from the top of the repository", folder)
	}
	fmt.Println("building", folder)
	c := exec.CommandContext(ctx, cargo, "build", "--release", "--locked", "--quiet")
	c.Dir = folder
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cargo build in %s: %w\n%s", folder, err, bytes.TrimSpace(out))
	}
	return filepath.Join(folder, "target", "release", "channels"), nil
}

// measure returns the median of each column that has figures.
func measure(ctx context.Context, s settings, r row, program string) (map[string]float64, error) {
	all := map[string][]float64{}
	for range s.rounds {
		for name, run := range map[string]func(uint64) (workload.Result, error){
			native: func(n uint64) (workload.Result, error) { return r.nativeWork.Run(r.native, n) },
			ours:   func(n uint64) (workload.Result, error) { return r.oursWork.Run(r.ours, n) },
		} {
			ns, err := lasting(ctx, s.run, run)
			if err != nil {
				return nil, err
			}
			all[name] = append(all[name], ns)
		}
		out, err := exec.CommandContext(ctx, program, r.slots, strconv.Itoa(r.senders), strconv.Itoa(r.receivers),
			strconv.Itoa(s.procs), strconv.FormatInt(s.run.Milliseconds(), 10)).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		if err := read(out, all); err != nil {
			return nil, err
		}
	}
	medians := map[string]float64{}
	for name, ns := range all {
		medians[name] = rounds.Median(ns)
	}
	return medians, nil
}

// lasting returns the nanoseconds per value of a run that takes about the given time.
func lasting(ctx context.Context, time time.Duration, run func(uint64) (workload.Result, error)) (float64, error) {
	n, last := uint64(1000), false
	for {
		runtime.GC()
		result, err := run(n)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil || last:
			return result.NsPerItem(), err
		case result.Elapsed < time/4:
			n *= 4
		default:
			n, last = max(1000, uint64(float64(time)/result.NsPerItem())), true
		}
	}
}

// read adds the figures that the Rust program printed.
func read(out []byte, all map[string][]float64) error {
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		name, figure, _ := strings.Cut(lines.Text(), "\t")
		ns, err := strconv.ParseFloat(figure, 64)
		if err != nil || ns <= 0 {
			return fmt.Errorf("%s printed %q (want a name, a tab and nanoseconds)", folder, lines.Text())
		}
		all[name] = append(all[name], ns)
	}
	return lines.Err()
}

// heading returns the line above the rows.
func heading() string {
	text := fmt.Sprintf("%-18s", "row")
	for _, name := range columns {
		text += fmt.Sprintf(" %*s", width(name), name)
	}
	return text
}

func width(column string) int { return max(len(column), 7) }

// line returns the line of a row; "-" is for a channel that cannot do its work.
func line(r row, figures map[string]float64) string {
	text := fmt.Sprintf("%-18s", r.name)
	for _, name := range columns {
		figure := "-"
		if ns, ok := figures[name]; ok {
			figure = strconv.FormatFloat(ns, 'f', 1, 64)
		}
		text += fmt.Sprintf(" %*s", width(name), figure)
	}
	return text
}
