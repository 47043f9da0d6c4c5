// Package host describes the machine of a measurement: its hardware, its noise,
// and its use by other processes meanwhile.
//
// What may enter: readings of the machine and of its operating system, and the
// levels above which a reading is reported. A reading that a system does not
// provide is unknown, never zero. Nothing here knows about channels.
package host

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// A Machine describes the machine of a whole run.
type Machine struct {
	CPU     string `json:"cpu"`
	CPUs    int    `json:"cpus"`                         // available to this process
	Sockets int    `json:"sockets,omitempty"`            // 0 if unknown
	Caches  int    `json:"last_level_caches,omitempty"`  // their number; 0 if unknown
	Socket  int    `json:"-"`                            // most CPUs in one of the sockets; 0 if unknown
	LLC     int    `json:"-"`                            // most CPUs behind one of the caches; 0 if unknown
	Procs   int    `json:"gomaxprocs_default,omitempty"` // GOMAXPROCS at the start
	// Quota is the cgroup's limit of CPU time, in CPUs: 0 if there is no limit,
	// nil if unknown.
	Quota   *float64 `json:"cgroup_quota_cpus,omitempty"`
	OS      string   `json:"goos"`
	Arch    string   `json:"goarch"`
	Go      string   `json:"go"`
	Version string   `json:"version,omitempty"` // of sluice, if it is known
	Binary  string   `json:"binary,omitempty"`  // the beginning of its SHA-256
	Load    string   `json:"load,omitempty"`    // load average at the start of the run, if the system has one
}

// system has the files by which the operating system describes itself.
var system = os.DirFS("/")

// This describes the machine that the process runs on.
func This() Machine {
	m := Machine{
		CPU:     cpuModel(),
		CPUs:    runtime.NumCPU(),
		Procs:   runtime.GOMAXPROCS(0),
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
		Go:      runtime.Version(),
		Version: Version(),
		Binary:  binary(),
	}
	if runtime.GOOS == "linux" {
		m.Sockets, m.Socket = shared(system, "topology/core_siblings_list")
		for index := maxCaches; index >= 0 && m.Caches == 0; index-- {
			m.Caches, m.LLC = shared(system, fmt.Sprintf("cache/index%d/shared_cpu_list", index))
		}
		m.Quota = quota(system)
		m.Load, _, _ = strings.Cut(read(system, "proc/loadavg"), " ")
	}
	return m
}

// Differs names the first difference because of which a run on other cannot
// resume here, or returns "". Loads may differ.
func (m Machine) Differs(other Machine) string {
	if m.Binary != "" && m.Binary == other.Binary {
		other.Version = m.Version // it may come from git, which may be late, and see changes of today
	}
	for _, part := range []struct{ name, here, there string }{
		{"CPU", m.CPU, other.CPU},
		{"number of CPUs", fmt.Sprint(m.CPUs), fmt.Sprint(other.CPUs)},
		{"system", m.OS + "/" + m.Arch, other.OS + "/" + other.Arch},
		{"Go", m.Go, other.Go},
		{"version of sluice", m.Version, other.Version},
		{"binary of sluice", m.Binary, other.Binary},
		{"default GOMAXPROCS", fmt.Sprint(m.Procs), fmt.Sprint(other.Procs)},
		{"cgroup quota", m.QuotaText(), other.QuotaText()},
	} {
		if part.here != part.there {
			return fmt.Sprintf("%s %q, here %q", part.name, part.there, part.here)
		}
	}
	return ""
}

// Whole returns the number of CPUs that the process can keep busy: all of them,
// or the whole CPUs of its quota. With more Ps the cgroup throttles all of them
// part of the time, and no figure shows how anything scales.
func (m Machine) Whole() int {
	if m.Quota == nil || *m.Quota == 0 {
		return m.CPUs
	}
	return min(m.CPUs, max(1, int(*m.Quota)))
}

// QuotaText writes the quota in words.
func (m Machine) QuotaText() string {
	switch {
	case m.Quota == nil:
		return "unknown"
	case *m.Quota == 0:
		return "none"
	}
	return fmt.Sprintf("%.3g CPUs", *m.Quota)
}

// VersionText returns the version of sluice, or explains why it is unknown: go
// run does not record the commit.
func (m Machine) VersionText() string {
	if m.Version == "" {
		return "commit unknown: not built by go build in a checkout"
	}
	return m.Version
}

// Warnings explain why figures of this machine may mislead.
func (m Machine) Warnings() []string {
	if m.Quota == nil || *m.Quota == 0 || *m.Quota >= float64(m.CPUs) {
		return nil
	}
	return []string{fmt.Sprintf("The cgroup is limited to %s of %d: points with a larger GOMAXPROCS measure throttling.",
		m.QuotaText(), m.CPUs)}
}

// cpuModel returns the operating system's name of the CPU, or else the
// architecture.
func cpuModel() string {
	switch runtime.GOOS {
	case "linux":
		if model := cpuinfoModel(read(system, "proc/cpuinfo")); model != "" {
			return model
		}
	case "darwin":
		if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
			return strings.TrimSpace(string(out))
		}
	case "windows":
		if model := os.Getenv("PROCESSOR_IDENTIFIER"); model != "" {
			return model
		}
	}
	return runtime.GOARCH
}

// cpuinfoModel returns the model of the first processor in the text of
// /proc/cpuinfo.
func cpuinfoModel(text string) string {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name", "Model", "cpu model":
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

// maxCaches is more than the caches that Linux lists for a CPU, the last level last.
const maxCaches = 9

// shared returns the number of different lists of CPUs in a file of each CPU, such as
// "0-3,8,10-11", and the most CPUs in one of them. A malformed list has no CPUs.
func shared(root fs.FS, file string) (lists, most int) {
	paths, err := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/"+file)
	if err != nil {
		panic(err) // the pattern is wrong
	}
	seen := make(map[string]bool)
	for _, path := range paths {
		list, cpus := read(root, path), 0
		for field := range strings.SplitSeq(list, ",") {
			first, last, _ := strings.Cut(field, "-")
			from, err := strconv.Atoi(first)
			to, errTo := strconv.Atoi(cmp.Or(last, first))
			if err != nil || errTo != nil || to < from {
				cpus = 0
				break
			}
			cpus += to - from + 1
		}
		if cpus > 0 && !seen[list] {
			seen[list] = true
			most = max(most, cpus)
		}
	}
	return len(seen), most
}

// binary distinguishes two builds of the same commit, such as one with local
// changes and one without. It returns "" if the executable cannot be read.
var binary = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6])
})
