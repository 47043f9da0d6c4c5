package host

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCPUInfoModel(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: AMD  EPYC 7B13\nmodel name\t: other\n": "AMD EPYC 7B13",
		"Hardware : BCM\nModel : Raspberry Pi 5\n":                            "Raspberry Pi 5",
		"nothing here": "",
	} {
		if got := cpuinfoModel(text); got != want {
			t.Errorf("model of %q is %q, want %q", text, got, want)
		}
	}
}

func TestThis(t *testing.T) {
	m := This()
	if m.CPU == "" || m.CPUs < 1 || m.Go == "" || m.OS == "" || m.Arch == "" || m.Procs < 1 || m.Binary == "" {
		t.Errorf("machine %+v", m)
	}
}

// recorded is a file system with recorded files.
func recorded(files map[string]string) fstest.MapFS {
	root := make(fstest.MapFS)
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestShared(t *testing.T) {
	const file = "topology/core_siblings_list"
	for name, test := range map[string]struct {
		lists       []string // of each CPU
		parts, most int
	}{
		"nothing":            {},
		"one socket":         {[]string{"0-1", "0-1"}, 1, 2},
		"two caches":         {[]string{"0,2", "1,3", "0,2", "1,3"}, 2, 2},
		"ranges":             {[]string{"0-3,8,10-11", "4-7"}, 2, 7},
		"a CPU that is idle": {[]string{"0-1", "0-1", ""}, 1, 2},
		"malformed":          {[]string{"x", "3-1", "1-x", "0"}, 1, 1},
	} {
		files := map[string]string{"sys/devices/system/cpu/cpufreq/" + file: "0-99"}
		for cpu, list := range test.lists {
			files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/%s", cpu, file)] = list + "\n"
		}
		if parts, most := shared(recorded(files), file); parts != test.parts || most != test.most {
			t.Errorf("%s: %d parts, at most %d CPUs", name, parts, most)
		}
	}
}

func TestQuota(t *testing.T) {
	const v1 = "9:name=systemd:/\n2:cpuacct:/\n1:cpu,cpuacct:/docker/abc\n0::/\n"
	const v2 = "0::/user/service\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no cgroups", nil, "unknown"},
		{"version 2", map[string]string{"proc/self/cgroup": v2, "sys/fs/cgroup/user/service/cpu.max": "150000 100000\n"}, "1.5 CPUs"},
		{"no limit", map[string]string{"proc/self/cgroup": v2, "sys/fs/cgroup/user/service/cpu.max": "max 100000\n"}, "none"},
		{"the tightest counts", map[string]string{"proc/self/cgroup": v2,
			"sys/fs/cgroup/user/service/cpu.max": "400000 100000\n", "sys/fs/cgroup/user/cpu.max": "50000 100000\n"}, "0.5 CPUs"},
		{"a container that sees its own group as the root", map[string]string{"proc/self/cgroup": "0::/../..\n",
			"sys/fs/cgroup/cpu.max": "200000 100000\n"}, "2 CPUs"},
		{"version 1", map[string]string{"proc/self/cgroup": v1,
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "25000\n", "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n"}, "0.25 CPUs"},
		{"version 1, the host's path", map[string]string{"proc/self/cgroup": v1,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "300000\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, "3 CPUs"},
		{"version 1, no limit", map[string]string{"proc/self/cgroup": v1,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, "none"},
		{"nonsense", map[string]string{"proc/self/cgroup": "x\n0::/\n", "sys/fs/cgroup/cpu.max": "7\n"}, "none"},
	} {
		if got := (Machine{Quota: quota(recorded(tt.files))}).QuotaText(); got != tt.want {
			t.Errorf("%s: quota %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	cpus := func(n float64) *float64 { return &n }
	for _, tt := range []struct {
		quota *float64
		warns bool
		whole int
	}{{nil, false, 4}, {cpus(0), false, 4}, {cpus(4), false, 4}, {cpus(8), false, 4}, {cpus(2.9), true, 2}, {cpus(0.5), true, 1}} {
		if got := (Machine{CPUs: 4, Quota: tt.quota}).Whole(); got != tt.whole {
			t.Errorf("quota of %v: %d whole CPUs, want %d", Machine{Quota: tt.quota}.QuotaText(), got, tt.whole)
		}
		warnings := Machine{CPUs: 4, Quota: tt.quota}.Warnings()
		if got := strings.Contains(strings.Join(warnings, ""), "measure throttling"); got != tt.warns {
			t.Errorf("quota of %v: %q", Machine{Quota: tt.quota}.QuotaText(), warnings)
		}
	}
}

// Differs names each part that makes figures incomparable.
func TestDiffers(t *testing.T) {
	base := This()
	if got := base.Differs(base); got != "" {
		t.Errorf("a machine differs from itself: %s", got)
	}
	half := 0.5
	for name, change := range map[string]func(*Machine){
		"CPU":                func(m *Machine) { m.CPU = "Abacus" },
		"number of CPUs":     func(m *Machine) { m.CPUs++ },
		"system":             func(m *Machine) { m.OS = "plan9" },
		"Go":                 func(m *Machine) { m.Go = "go1.1" },
		"version of sluice":  func(m *Machine) { m.Version, m.Binary = "commit 0", "0" },
		"binary of sluice":   func(m *Machine) { m.Binary = "0" },
		"default GOMAXPROCS": func(m *Machine) { m.Procs++ },
		"cgroup quota":       func(m *Machine) { m.Quota = &half },
	} {
		other := base
		change(&other)
		if got := base.Differs(other); !strings.HasPrefix(got, name+" ") {
			t.Errorf("another %s: %q", name, got)
		}
	}
	other := base
	other.Load, other.Version = "99", "commit 0"
	if got := base.Differs(other); got != "" {
		t.Errorf("another load, or another version of the same binary, is a difference: %s", got)
	}
}

func TestVersionText(t *testing.T) {
	if got := (Machine{Version: "commit 0123"}).VersionText(); got != "commit 0123" {
		t.Errorf("a known version is %q", got)
	}
	if got := (Machine{}).VersionText(); !strings.Contains(got, "unknown") {
		t.Errorf("no version is %q", got)
	}
}
