// Package host says what a figure cannot be read without: which machine it is of,
// how quiet that machine is, and who else used it meanwhile.
//
// What may enter: readings of the machine and of its operating system, and the
// level from which on one of them is worth a word. What a system does not tell is
// not known; it is never zero. Nothing here knows a channel.
package host

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
)

// A Machine is what holds for a whole run.
type Machine struct {
	CPU     string `json:"cpu"`
	CPUs    int    `json:"cpus"`                         // that this process may use
	Sockets int    `json:"sockets,omitempty"`            // 0 if not known
	Caches  int    `json:"last_level_caches,omitempty"`  // how many, 0 if not known
	Procs   int    `json:"gomaxprocs_default,omitempty"` // GOMAXPROCS as found
	// Quota is how many CPUs' time the cgroup grants, 0 if it sets no limit; nil
	// if that is not known.
	Quota   *float64 `json:"cgroup_quota_cpus,omitempty"`
	OS      string   `json:"goos"`
	Arch    string   `json:"goarch"`
	Go      string   `json:"go"`
	Version string   `json:"version,omitempty"` // of sluice, if the binary knows it
	Binary  string   `json:"binary,omitempty"`  // the beginning of its SHA-256
	Load    string   `json:"load,omitempty"`    // load average when the run began, where there is one
}

// system is where the operating system tells about itself.
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
		Version: version(),
		Binary:  binary(),
	}
	if runtime.GOOS == "linux" {
		m.Sockets = distinct(system, "sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id")
		m.Caches = distinct(system, "sys/devices/system/cpu/cpu[0-9]*/cache/index3/shared_cpu_list")
		m.Quota = quota(system)
		m.Load = load(system)
	}
	return m
}

// Differs names the first thing in which a run on other cannot go on here; it is
// empty if there is none. Loads may differ.
func (m Machine) Differs(other Machine) string {
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

// Whole returns how many CPUs the process can keep busy: all that there are or, under
// a quota, as many as it grants in whole. With more Ps than that the cgroup stops all
// of them for a part of the time, and no figure says how anything scales.
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
		return "not known"
	case *m.Quota == 0:
		return "none"
	}
	return fmt.Sprintf("%.3g CPUs", *m.Quota)
}

// VersionText names the sluice that measured, in words where the binary does not
// know: go run leaves the commit out.
func (m Machine) VersionText() string {
	if m.Version == "" {
		return "commit not known: not built by go build in a checkout"
	}
	return m.Version
}

// Warnings say in which respect no figure of this machine is what it seems.
func (m Machine) Warnings() []string {
	if m.Quota == nil || *m.Quota == 0 || *m.Quota >= float64(m.CPUs) {
		return nil
	}
	return []string{fmt.Sprintf("The cgroup grants %s of %d: points with a GOMAXPROCS above that are throttled, not measured.",
		m.QuotaText(), m.CPUs)}
}

// cpuModel asks the operating system; where it has no answer the architecture
// must do.
func cpuModel() string {
	switch runtime.GOOS {
	case "linux":
		if text, err := fs.ReadFile(system, "proc/cpuinfo"); err == nil {
			if model := cpuinfoModel(text); model != "" {
				return model
			}
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
func cpuinfoModel(text []byte) string {
	scanner := bufio.NewScanner(bytes.NewReader(text))
	for scanner.Scan() {
		key, value, _ := strings.Cut(scanner.Text(), ":")
		switch strings.TrimSpace(key) {
		case "model name", "Model", "cpu model":
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

// distinct returns how many different texts the files have, 0 if there are none.
func distinct(root fs.FS, pattern string) int {
	paths, err := fs.Glob(root, pattern)
	if err != nil {
		panic(err) // the pattern is wrong
	}
	seen := make(map[string]bool)
	for _, path := range paths {
		if text, err := fs.ReadFile(root, path); err == nil {
			seen[strings.TrimSpace(string(text))] = true
		}
	}
	return len(seen)
}

func load(root fs.FS) string {
	text, err := fs.ReadFile(root, "proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// version returns the module version or the commit that the binary was built
// from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value[:min(12, len(setting.Value))]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = " with changes"
		}
	}
	switch {
	case revision != "":
		return "commit " + revision + modified
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	return ""
}

// binary tells two builds of the same commit apart, one with changes and one
// without, say. It is empty if the program cannot be read.
func binary() string {
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
}
