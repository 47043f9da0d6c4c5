package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// quotaPeriod is the period of a quota in microseconds, the usual one.
const quotaPeriod = 100_000

// quota limits the CPU time of this process by a control group of Linux, as a container
// does. That takes the right to write to /sys/fs/cgroup.
func quota(cores float64) error {
	amount := int(cores * quotaPeriod)
	for _, version := range []struct{ parent, probe, setting, value string }{
		{"/sys/fs/cgroup", "cgroup.controllers", "cpu.max", fmt.Sprintf("%d %d", amount, quotaPeriod)},
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "cpu.cfs_quota_us", fmt.Sprint(amount)},
	} {
		if _, err := os.Stat(filepath.Join(version.parent, version.probe)); err != nil {
			continue
		}
		// The group stays for the next process: one for all, because an ended process
		// cannot remove it.
		dir := filepath.Join(version.parent, fmt.Sprint("sluice-scenario-", amount))
		if os.MkdirAll(dir, 0o755) != nil || os.WriteFile(filepath.Join(dir, version.setting), []byte(version.value), 0o644) != nil {
			continue
		}
		return os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, os.Getpid()), 0o644)
	}
	return errors.New("a CPU quota requires Linux and the right to make control groups for cpu")
}
