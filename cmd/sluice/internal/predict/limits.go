package predict

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// A Topology is the layout of the CPUs of a machine; 0 is unknown.
type Topology struct {
	CPUs   int `json:"cpus,omitempty"`
	LLC    int `json:"llc,omitempty"`    // CPUs behind one last-level cache
	Socket int `json:"socket,omitempty"` // CPUs in one socket
}

// Limits has the layout of the measured machine and of the target, which may be
// the same.
type Limits struct {
	Measured Topology `json:"measured"`
	Target   Topology `json:"target"`
}

// A boundary is a step in the cost of moving a cache line.
type boundary struct {
	what, flag       string
	measured, target int
}

// crossed reports whether the largest measured count is beyond the boundary.
func (b boundary) crossed(largest int) bool { return b.measured > 0 && largest > b.measured }

func (l Limits) boundaries() []boundary {
	return []boundary{
		{"last-level cache", "-llc", l.Measured.LLC, l.Target.LLC},
		{"socket", "-socket", l.Measured.Socket, l.Target.Socket},
	}
}

// check returns an error if n CPUs cross a boundary that the largest measured
// count does not cross, or if that is unknown.
func (l Limits) check(largest int, n float64) error {
	for _, b := range l.boundaries() {
		switch {
		case b.target == 0:
			return fmt.Errorf("%w: it is unknown how many CPUs share a %s there: set %s", ErrNewBoundary, b.what, b.flag)
		case n > float64(b.target) && !b.crossed(largest):
			return fmt.Errorf("%w: %v CPUs are more than the %d that share a %s, and beyond it a value may cost several times as much. If more CPUs of the target share one, set %s",
				ErrNewBoundary, n, b.target, b.what, b.flag)
		}
	}
	return nil
}

// ReadTopology reads the layout of the CPUs from Linux's
// /sys/devices/system/cpu. Missing files leave fields 0.
func ReadTopology(cpus fs.FS) Topology {
	var t Topology
	sockets := map[string]int{}
	dirs, _ := fs.Glob(cpus, "cpu[0-9]*")
	for _, dir := range dirs {
		if online := text(cpus, dir+"/online"); online == "0" {
			continue
		}
		t.CPUs++
		if id := text(cpus, dir+"/topology/physical_package_id"); id != "" {
			sockets[id]++
			t.Socket = max(t.Socket, sockets[id])
		}
		t.LLC = max(t.LLC, lastLevelCache(cpus, dir))
	}
	return t
}

// lastLevelCache returns the number of CPUs that share a CPU's highest cache.
func lastLevelCache(cpus fs.FS, dir string) int {
	highest, shared := 0, 0
	caches, _ := fs.Glob(cpus, dir+"/cache/index[0-9]*")
	for _, cache := range caches {
		level, err := strconv.Atoi(text(cpus, path.Join(cache, "level")))
		if err == nil && level > highest {
			highest, shared = level, countCPUs(text(cpus, path.Join(cache, "shared_cpu_list")))
		}
	}
	return shared
}

// countCPUs returns the length of a list such as "0-3,8,10-11", or 0 if it is
// malformed.
func countCPUs(list string) int {
	total := 0
	for field := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(field, "-")
		a, err := strconv.Atoi(first)
		if err != nil {
			return 0
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(last); err != nil || b < a {
				return 0
			}
		}
		total += b - a + 1
	}
	return total
}

// text returns the trimmed content of a file, or "" if it cannot be read.
func text(files fs.FS, name string) string {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}
