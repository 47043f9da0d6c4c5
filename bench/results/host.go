package results

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A Host describes the machine and the versions that figures depend on.
type Host struct {
	CPU    string
	Cores  int
	System string
	Go     string
	Commit string
}

func (h Host) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s, commit %s", h.CPU, h.Cores, h.System, h.Go, h.Commit)
}

// Markdown returns the list of facts above figures whose measurement began at
// the given time.
func (h Host) Markdown(began time.Time) string {
	return fmt.Sprintf("- machine: %s, %d cores, %s\n- Go: %s\n- commit: %s\n- date: %s\n",
		h.CPU, h.Cores, h.System, h.Go, h.Commit, began.UTC().Format("2006-01-02 15:04 UTC"))
}

// Here describes this machine and this checkout.
func Here() Host {
	return Host{
		CPU:    cpuModel(),
		Cores:  runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH,
		Go:     runtime.Version(),
		Commit: commit(),
	}
}

// cpuModel returns the processor's name as reported by Linux.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for l := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

// commit returns the checkout's commit, marked if source files differ from it.
func commit() string {
	hash, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(hash))
	changed, err := exec.Command("git", "status", "--porcelain", "--", ":/*.go").Output()
	if err != nil || len(changed) > 0 {
		name += " with changes"
	}
	return name
}

// Median returns the median of the values: the mean of the middle two if their number
// is even, and NaN if there are none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
