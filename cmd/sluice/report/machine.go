package report

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
)

// A Machine is what a figure cannot be read without.
type Machine struct {
	CPU     string `json:"cpu"`
	CPUs    int    `json:"cpus"` // that this process may use
	OS      string `json:"goos"`
	Arch    string `json:"goarch"`
	Go      string `json:"go"`
	Version string `json:"version,omitempty"` // of sluice, if the binary knows it
	Load    string `json:"load,omitempty"`    // load average when the run began, where there is one
}

// ThisMachine describes the machine that the process runs on.
func ThisMachine() Machine {
	return Machine{
		CPU:     cpuModel(),
		CPUs:    runtime.NumCPU(),
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
		Go:      runtime.Version(),
		Version: version(),
		Load:    load(),
	}
}

// cpuModel asks the operating system; where it has no answer the architecture
// must do.
func cpuModel() string {
	switch runtime.GOOS {
	case "linux":
		if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
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

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
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
