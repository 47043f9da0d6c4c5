package host

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A cgroup is a directory of the CPU controller.
type cgroup struct {
	path string
	v2   bool
}

// cgroups returns the groups that limit this process: its own and all parents.
// In a container the kernel may report the host's path, which is not visible
// there: only the groups that exist count.
func cgroups(root fs.FS) []cgroup {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var groups []cgroup
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		controllers, own := fields[1], path.Clean("/"+fields[2])
		switch {
		case controllers == "": // version 2: mounted alone, or beside version 1
			groups = append(groups, existing(root, "sys/fs/cgroup", own, "cpu.max", true)...)
			groups = append(groups, existing(root, "sys/fs/cgroup/unified", own, "cpu.max", true)...)
		case slices.Contains(strings.Split(controllers, ","), "cpu"):
			groups = append(groups, existing(root, "sys/fs/cgroup/"+controllers, own, "cpu.cfs_quota_us", false)...)
		}
	}
	return groups
}

// existing returns the groups from own upwards that have the file.
func existing(root fs.FS, mount, own, file string, v2 bool) []cgroup {
	var groups []cgroup
	for at := own; ; at = path.Dir(at) {
		folder := path.Join(mount, at)
		if _, err := fs.Stat(root, path.Join(folder, file)); err == nil {
			groups = append(groups, cgroup{folder, v2})
		}
		if at == "/" {
			return groups
		}
	}
}

// quota returns the limit of the tightest group, in CPUs: 0 without a limit,
// nil if unknown. The root group of version 2 has neither a limit nor a file
// for it.
func quota(root fs.FS) *float64 {
	if _, err := fs.Stat(root, "proc/self/cgroup"); err != nil {
		return nil
	}
	least := 0.0
	for _, group := range cgroups(root) {
		if cpus, ok := group.quota(root); ok && (least == 0 || cpus < least) {
			least = cpus
		}
	}
	return &least
}

func (g cgroup) quota(root fs.FS) (cpus float64, ok bool) {
	var limit, period string
	if g.v2 {
		limit, period, _ = strings.Cut(read(root, path.Join(g.path, "cpu.max")), " ")
	} else {
		limit = read(root, path.Join(g.path, "cpu.cfs_quota_us"))
		period = read(root, path.Join(g.path, "cpu.cfs_period_us"))
	}
	of, err := strconv.ParseFloat(period, 64)
	if err != nil || of <= 0 {
		return 0, false
	}
	granted, err := strconv.ParseFloat(limit, 64) // "max" and -1 are no limit
	return granted / of, err == nil && granted > 0
}

// throttled returns the seconds in which CPUs of the groups were throttled, or
// nil if unknown. The kernel sums over CPUs, and counts for the group whose
// quota was exceeded, so the groups are summed, too: the largest alone would
// hide a group whose throttling began just now.
func throttled(root fs.FS, groups []cgroup) *float64 {
	var all *float64
	for _, group := range groups {
		key, per := "throttled_time", 1e9
		if group.v2 {
			key, per = "throttled_usec", 1e6
		}
		if seconds := divided(after(read(root, path.Join(group.path, "cpu.stat")), key+" "), per); seconds != nil && all != nil {
			*all += *seconds
		} else if seconds != nil {
			all = seconds
		}
	}
	return all
}

// read returns the trimmed text of a file, or "" if it cannot be read.
func read(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
