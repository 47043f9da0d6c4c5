package predict

import (
	"fmt"
	"testing"
	"testing/fstest"
)

// sys returns a directory like Linux's: for each CPU its socket and its caches,
// highest last, as lists of the CPUs that share them.
func sys(sockets []string, caches ...[]string) fstest.MapFS {
	files := fstest.MapFS{"cpufreq/x": {}, "cpuidle": {}}
	put := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text + "\n")} }
	for cpu, socket := range sockets {
		dir := fmt.Sprintf("cpu%d", cpu)
		put(dir+"/topology/core_siblings_list", socket)
		for i, cache := range caches {
			put(fmt.Sprintf("%s/cache/index%d/level", dir, i), fmt.Sprint(i+1))
			put(fmt.Sprintf("%s/cache/index%d/shared_cpu_list", dir, i), cache[cpu])
		}
	}
	return files
}

func TestReadTopology(t *testing.T) {
	tests := []struct {
		name string
		cpus fstest.MapFS
		want Topology
	}{
		{"nothing", fstest.MapFS{}, Topology{}},
		{"one of each", sys([]string{"0-1", "0-1"}, []string{"0", "1"}, []string{"0-1", "0-1"}), Topology{0, 2, 2}},
		{"two caches", sys([]string{"0-3", "0-3", "0-3", "0-3"}, []string{"0", "1", "2", "3"}, []string{"0,2", "1,3", "0,2", "1,3"}), Topology{0, 2, 4}},
		{"two sockets", sys([]string{"0-1", "0-1", "2-3", "2-3"}, []string{"0-1", "0-1", "2-3", "2-3"}), Topology{0, 2, 2}},
		{"an idle one", sys([]string{"0-1", "0-1", ""}, []string{"0", "1", "2"}, []string{"0-1", "0-1", "2"}), Topology{0, 2, 2}},
		{"no caches", sys([]string{"0-1", "0-1"}), Topology{0, 0, 2}},
	}
	for _, tt := range tests {
		if got := ReadTopology(tt.cpus); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestCountCPUs(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-3": 4, "0-3,8,10-11": 7, "": 0, "x": 0, "3-1": 0, "1-x": 0} {
		if got := countCPUs(list); got != want {
			t.Errorf("countCPUs(%q) = %d, want %d", list, got, want)
		}
	}
}
