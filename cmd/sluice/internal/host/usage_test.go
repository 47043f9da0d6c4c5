package host

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// The texts are recorded from machines, and shortened.
const (
	statText = "cpu  2399964 439 194665 4131302 4186 0 1652 439 0 0\n" +
		"cpu0 1216388 210 94936 2052700 1206 0 337 215 0 0\nctxt 1\n"
	pressureText = "some avg10=0.38 avg60=0.79 avg300=6.11 total=5804639720\n" +
		"full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
	cpuStatV1 = "nr_periods 20\nnr_throttled 7\nthrottled_time 1500000000\nnr_bursts 0\nburst_time 0\n"
	cpuStatV2 = "usage_usec 9000\nuser_usec 6000\nsystem_usec 3000\nnr_periods 20\nnr_throttled 7\nthrottled_usec 2500000\n"
)

func seconds(s float64) *float64 { return &s }

func TestReadings(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  Usage // of Steal, Throttled and Pressure
	}{
		{"version 2", map[string]string{
			"proc/stat": statText, "proc/pressure/cpu": pressureText, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.stat": cpuStatV2,
		}, Usage{Steal: seconds(4.39), Throttled: seconds(2.5), Pressure: seconds(5804.63972)}},
		{"version 2, two groups", map[string]string{
			"proc/self/cgroup":        "0::/a/b\n",
			"sys/fs/cgroup/a/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.stat": cpuStatV2,
			"sys/fs/cgroup/a/b/cpu.max": "50000 100000\n", "sys/fs/cgroup/a/b/cpu.stat": "throttled_usec 500000\n",
		}, Usage{Throttled: seconds(3)}},
		{"version 1, an old kernel", map[string]string{
			"proc/stat": statText, "proc/self/cgroup": "1:cpu:/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.stat": cpuStatV1,
		}, Usage{Steal: seconds(4.39), Throttled: seconds(1.5)}},
		{"nothing", nil, Usage{}},
		{"nonsense", map[string]string{"proc/stat": "cpu 1 2\ncpu a b c d e f g h\n", "proc/pressure/cpu": "some x\nfull total=3\n"}, Usage{}},
	} {
		root := recorded(tt.files)
		got := (&Watch{root, cgroups(root), time.Now()}).Read()
		cpus := strings.Count(tt.files["proc/stat"], "cpu0 ")
		if _, n := (&Watch{root: root}).Others(); n != cpus {
			t.Errorf("%s: %d CPUs, want %d", tt.name, n, cpus)
		}
		got = Usage{Steal: got.Steal, Throttled: got.Throttled, Pressure: got.Pressure}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, text(got), text(tt.want))
		}
	}
}

func TestCPUTimes(t *testing.T) {
	busy, steal := cpuTimes(statText)
	// user, nice, system, irq and softirq, but not idle and iowait.
	const ticks = 2399964 + 439 + 194665 + 0 + 1652
	if busy == nil || *busy != ticks/100.0 || *steal != 4.39 {
		t.Errorf("busy %v, stolen %v", busy, steal)
	}
}

// text writes the known figures.
func text(u Usage) string {
	var known []string
	v := reflect.ValueOf(u)
	for i := range v.NumField() {
		if field, ok := v.Field(i).Interface().(*float64); ok && field != nil {
			known = append(known, v.Type().Field(i).Name+" "+time.Duration(*field*float64(time.Second)).String())
		}
	}
	return strings.Join(known, ", ")
}

// On a real machine the counters only grow.
func TestWatch(t *testing.T) {
	w := NewWatch()
	before := w.Read()
	used := w.Read().Since(before)
	if used.Wall <= 0 || used.Cycles == nil || used.Collector == nil || *used.Cycles < 0 || *used.Collector < 0 {
		t.Errorf("used between two readings: %+v", used)
	}
}

func TestUsageArithmetic(t *testing.T) {
	before := Usage{Wall: 10, Steal: seconds(4), Switches: seconds(7)}
	after := Usage{Wall: 12, Steal: seconds(5), Pressure: seconds(1), Switches: seconds(9)}
	used := after.Since(before)
	if want := (Usage{Wall: 2, Steal: seconds(1), Switches: seconds(2)}); !reflect.DeepEqual(used, want) {
		t.Errorf("used %s, want %s", text(used), text(want))
	}
	if sum, want := used.Plus(used), (Usage{Wall: 4, Steal: seconds(2), Switches: seconds(4)}); !reflect.DeepEqual(sum, want) {
		t.Errorf("twice that is %s, want %s", text(sum), text(want))
	}
}

func TestDisturbances(t *testing.T) {
	for _, tt := range []struct {
		name  string
		usage Usage
		procs int
		want  []string
	}{
		{"nothing known", Usage{Wall: 1}, 2, nil},
		{"nothing measured", Usage{Steal: seconds(1)}, 2, nil},
		{"quiet", Usage{Wall: 10, Steal: seconds(0.19), Throttled: seconds(0.09), Others: seconds(0.9), Pressure: seconds(0.9)}, 1, nil},
		{"counted differently", Usage{Wall: 10, Others: seconds(-0.2)}, 1, nil},
		{"all at once", Usage{Wall: 10, Steal: seconds(0.5), Throttled: seconds(2), Others: seconds(4), Pressure: seconds(3)}, 1, []string{
			"other guests of the host took 2.5% of the CPU time",
			"the cgroup was throttled for 20.0% of its CPUs' time",
			"other processes took 20% of the CPU time",
			"threads waited for a CPU for 30% of the time"}},
		{"stopped on both CPUs", Usage{Wall: 10, Throttled: seconds(16)}, 8, []string{"the cgroup was throttled for 80.0% of its CPUs' time"}},
		{"rounding of the ticks", Usage{Wall: 0.1, Steal: seconds(0.02), Others: seconds(0.02)}, 1, nil},
		{"our own threads wait", Usage{Wall: 10, Pressure: seconds(9)}, 2, nil},
	} {
		if got := tt.usage.Disturbances(2, tt.procs); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCollecting(t *testing.T) {
	much := Usage{Wall: 10, Collector: seconds(3), Cycles: seconds(40)}
	if got := much.Collecting(2); got != "garbage collection took 15% of the CPU time, in 40 cycles" {
		t.Errorf("a large share: %q", got)
	}
	for name, usage := range map[string]Usage{
		"little": {Wall: 10, Collector: seconds(0.5), Cycles: seconds(4)}, "nothing known": {Wall: 10}, "nothing": {},
	} {
		if got := usage.Collecting(2); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
