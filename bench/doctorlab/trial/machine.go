package main

import (
	"os"
	"runtime"
	"strings"

	"github.com/sluice-go/sluice/bench/results"
)

// A Machine describes where a fixture was captured.
type Machine struct {
	CPU  string `json:"cpu"`
	CPUs int    `json:"cpus"`
	OS   string `json:"goos"`
	Arch string `json:"goarch"`
	Go   string `json:"go"`
	Load string `json:"load,omitempty"` // load average over one minute, if the system has one
}

// thisMachine describes the machine that the process runs on.
func thisMachine() Machine {
	h := results.Here()
	m := Machine{CPU: h.CPU, CPUs: h.Cores, OS: runtime.GOOS, Arch: runtime.GOARCH, Go: h.Go}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	return m
}
