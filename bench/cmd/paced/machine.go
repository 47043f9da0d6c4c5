package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/paced"
)

// A load of the machine is its CPU time, and this process's part, until some moment.
type machineLoad struct {
	at        time.Time
	busy, own float64 // s
	known     bool
}

// machineNow reads the load from Linux; elsewhere it is unknown.
func machineNow() machineLoad {
	text, err := os.ReadFile("/proc/stat")
	busy, ok := busySeconds(string(text))
	return machineLoad{time.Now(), busy, paced.Used().CPU.Seconds(), err == nil && ok}
}

// ticks is the unit of /proc/stat on every Linux system.
const ticks = 100 // per second

// busySeconds returns the time that all CPUs were not idle, from the first line of
// /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
func busySeconds(stat string) (float64, bool) {
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, false
	}
	sum := 0.0
	for i, field := range fields[1:9] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, false
		}
		if i != 3 && i != 4 { // idle and iowait
			sum += n
		}
	}
	return sum / ticks, true
}

// othersSince returns the share of the machine's CPU time that other processes took, or
// -1 if it is unknown.
func (m machineLoad) othersSince(before machineLoad) float64 {
	all := m.at.Sub(before.at).Seconds() * float64(runtime.NumCPU())
	if !m.known || !before.known || all <= 0 {
		return -1
	}
	return max(0, (m.busy-before.busy-(m.own-before.own))/all)
}

// isRealTime reports whether Linux runs this process before all ordinary ones, as after
// chrt -r 1. Beside other programs, delays are precise only then.
func isRealTime() bool {
	stat, err := os.ReadFile("/proc/self/stat")
	return err == nil && realTimePolicy(string(stat))
}

// realTimePolicy reports whether the policy in /proc/self/stat is SCHED_FIFO or
// SCHED_RR. It is the 41st field, and the second one, a name in parentheses, may contain
// spaces.
func realTimePolicy(stat string) bool {
	_, rest, _ := strings.Cut(stat, ") ")
	fields := strings.Fields(rest)
	const policy = 41 - 3
	return len(fields) > policy && (fields[policy] == "1" || fields[policy] == "2")
}
