package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// A host is what the figures depend on besides the code.
type host struct {
	cpu     string
	cores   int
	system  string
	version string // of Go
	commit  string
}

func (h host) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s, commit %s", h.cpu, h.cores, h.system, h.version, h.commit)
}

func describe() host {
	return host{
		cpu:     cpuModel(),
		cores:   runtime.NumCPU(),
		system:  runtime.GOOS + "/" + runtime.GOARCH,
		version: runtime.Version(),
		commit:  commit(),
	}
}

// cpuModel is the processor's name as Linux gives it.
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

// commit is the checkout's commit, marked if source files differ from it.
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
