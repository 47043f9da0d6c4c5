package host

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// The figures differ from machine to machine; the test checks that they exist.
func TestMeasureNoise(t *testing.T) {
	noise := MeasureNoise(time.Millisecond)
	if noise.Threads < 1 || noise.LoopNs <= 0 || noise.Spread < 0 || noise.GapNs < 0 || noise.CallNs <= 0 {
		t.Errorf("noise %+v", noise)
	}
	if two := runtime.GOMAXPROCS(0) > 1 && runtime.NumCPU() > 1; two != (noise.LineNs > 0) {
		t.Errorf("a cache line takes %v ns", noise.LineNs)
	}
}

// The spread and the worst gap are the worst thread's, relative to its own
// median: cores of different speed are not noise.
func TestNoiseOfMadeUpTimes(t *testing.T) {
	even := []float64{100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100}
	slow := []float64{200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200}
	uneven := []float64{90, 100, 100, 100, 100, 100, 100, 100, 100, 120, 5000}
	for _, tt := range []struct {
		name              string
		threads           [][]float64
		loop, spread, gap float64
	}{
		{"nothing", nil, 0, 0, 0},
		{"no time of a thread", [][]float64{nil, even}, 100, 0, 0},
		{"a clock that stands still", [][]float64{{0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1e6, 1e6}, even}, 100, 0, 0},
		{"two speeds", [][]float64{even, slow, slow}, 200, 0, 0},
		{"one is disturbed", [][]float64{even, uneven}, 100, 0.2, 4900},
	} {
		var n Noise
		n.judge(tt.threads)
		if n.LoopNs != tt.loop || n.Spread != tt.spread || n.GapNs != tt.gap {
			t.Errorf("%s: %+v, want loop %v, spread %v, gap %v", tt.name, n, tt.loop, tt.spread, tt.gap)
		}
	}
}

func TestNoiseText(t *testing.T) {
	n := Noise{Threads: 2, LoopNs: 20_040, Spread: 0.013, GapNs: 210_000, LineNs: 38.4, ClockNs: 40}
	const want = "a loop of 20.0 µs on 2 threads varies by 1.3%, worst gap 0.21 ms; a cache line between cores 38 ns; clock step 40 ns"
	if got := n.String(); got != want {
		t.Errorf("reads %q", got)
	}
	n.LineNs = 0
	if got := n.String(); !strings.Contains(got, "between cores unknown") {
		t.Errorf("with one core it reads %q", got)
	}
}

func TestChanged(t *testing.T) {
	before := Noise{LoopNs: 20_000, Spread: 0.01, LineNs: 40}
	for _, tt := range []struct {
		name  string
		later Noise
		want  string
	}{
		{"nothing", before, ""},
		{"within the level", Noise{LoopNs: 20_900, LineNs: 55}, ""},
		{"within its own noise", Noise{LoopNs: 22_000, Spread: 0.2, LineNs: 40}, ""},
		{"slower cores", Noise{LoopNs: 24_000, LineNs: 40}, "the same loop took 20 µs before the first point and 24 µs after the last"},
		{"faster cores", Noise{LoopNs: 15_000, LineNs: 40}, "15 µs after the last"},
		{"moved apart", Noise{LoopNs: 20_000, LineNs: 130}, "a cache line between cores took 40 ns before the first point and 130 ns after the last"},
		{"line unknown", Noise{LoopNs: 20_000}, ""},
	} {
		got := strings.Join(before.Changed(tt.later), "; ")
		if got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
