package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// quotaCores is the CPU quota of the quota form, that of a small container.
const quotaCores = 0.3

// unlimited is the quota of a group that only goes before other processes, which
// would look like a quota. Niceness is not enough: Linux compares it only within
// a session.
const unlimited = 0

// A quota limits the CPU time of processes by a control group of Linux, as a
// container does. A nil quota is no limit.
type quota struct {
	tasks string // the file for the processes' ids
}

// limited is the part of the rate without a quota below which the quota is what
// limits a service.
const limited = 0.7

// onQuota returns the truth on the quota. What idle cores would give is gone
// there; what less work gives is not.
func (t *Truth) onQuota() *Truth {
	if t.Quota == nil || t.Quota.Rate >= limited*t.Rate || t.Scenario.Leak {
		return t
	}
	on := *t
	on.Gains, on.limited = t.Quota.Gains, true
	on.Scenario.Right = slices.DeleteFunc(slices.Clone(t.Scenario.Right), func(name string) bool {
		g, ok := on.gain(name)
		return ok && g.Median < pays
	})
	if len(on.Scenario.Right) == 0 {
		on.Scenario.Right, on.Scenario.Sites = []string{noChange}, nil
		on.open = t.Scenario.Channels
	}
	return &on
}

// quotaPeriod is the period of a quota in microseconds, the usual one.
const quotaPeriod = 100_000

// newQuota creates a control group. It takes the right to write to
// /sys/fs/cgroup, which root has.
func newQuota(cores float64) (q *quota, remove func() error, err error) {
	amount := int(cores * quotaPeriod)
	most, all := fmt.Sprint(amount), fmt.Sprintf("%d %d", amount, quotaPeriod)
	if cores == unlimited {
		most, all = "-1", "max"
	}
	// The weight lets the group have its quota beside other processes.
	for _, version := range []struct{ parent, probe, setting, value, weight, most string }{
		{"/sys/fs/cgroup", "cgroup.controllers", "cpu.max", all, "cpu.weight", "10000"},
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "cpu.cfs_quota_us", most, "cpu.shares", "262144"},
	} {
		if _, err := os.Stat(filepath.Join(version.parent, version.probe)); err != nil {
			continue
		}
		dir := filepath.Join(version.parent, fmt.Sprintf("sluice-trial-%d-%d", os.Getpid(), amount))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, nil, fmt.Errorf("a CPU quota requires the right to create a control group: %w", err)
		}
		remove = func() error { return os.Remove(dir) }
		if err := errors.Join(os.WriteFile(filepath.Join(dir, version.setting), []byte(version.value), 0o644),
			os.WriteFile(filepath.Join(dir, version.weight), []byte(version.most), 0o644)); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("setting the CPU quota: %w", err), remove())
		}
		return &quota{tasks: filepath.Join(dir, "cgroup.procs")}, remove, nil
	}
	return nil, nil, errors.New("a CPU quota requires Linux with control groups for cpu")
}

// command returns the program and arguments that run a command within the
// quota.
func (q *quota) command(program string, args ...string) (string, []string) {
	if q == nil {
		return program, args
	}
	return "/bin/sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, q.tasks, program}, args...)
}
