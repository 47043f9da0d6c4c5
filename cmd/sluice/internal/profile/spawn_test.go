package profile

import (
	"testing"
	"time"
)

// TestSpawns: the cost of go statements by line, and of the ends of goroutines.
func TestSpawns(t *testing.T) {
	p := cpuDrawing(
		spent(30*time.Millisecond, "runtime.newproc1", "runtime.newproc.func1", "runtime.systemstack", "runtime.newproc", "main.all m.go:7", "main.main m.go:1"),
		spent(20*time.Millisecond, "runtime.gfget", "runtime.newproc1", "runtime.newproc", "main.few m.go:9", "main.main m.go:1"),
		spent(10*time.Millisecond, "runtime.gcAssistAlloc", "runtime.mallocgc", "runtime.newproc1", "runtime.newproc", "main.all m.go:7"),
		spent(50*time.Millisecond, "runtime.gdestroy", "runtime.goexit0", "runtime.mcall"),
		spent(70*time.Millisecond, "main.work m.go:3", "main.all m.go:8")).profile()
	c, err := readCPU(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Spawns) != 2 || c.Spawns[0].At.Line != 7 || c.Spawns[0].Time != 30*time.Millisecond || c.Spawns[1].Time != 20*time.Millisecond {
		t.Errorf("spawns: %+v", c.Spawns)
	}
	if c.Ends != 50*time.Millisecond {
		t.Errorf("ends: %v", c.Ends)
	}
}

// TestSlices: the cost of allocating slices by line and start function. Growing
// the wait queue of a channel is no slice of the program.
func TestSlices(t *testing.T) {
	c, err := readCPU(cpuDrawing(
		spent(30*time.Millisecond, "runtime.memclrNoHeapPointers", "runtime.mallocgc", "runtime.makeslice", "main.next m.go:7", "main.read m.go:1"),
		spent(20*time.Millisecond, "runtime.mallocgc", "runtime.growslice", "main.read m.go:2"),
		spent(10*time.Millisecond, "runtime.mallocgc", "runtime.newobject", "main.read m.go:3"),
		spent(10*time.Millisecond, "runtime.gcAssistAlloc", "runtime.mallocgc", "runtime.makeslice", "main.next m.go:7", "main.read m.go:1")).profile())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Slices) != 2 || c.Slices[0].At.Function != "main.next" || c.Slices[0].Root != "main.read" || c.Slices[0].Time != 30*time.Millisecond ||
		c.Slices[1].Time != 20*time.Millisecond {
		t.Errorf("slices: %+v", c.Slices)
	}
}

// TestStarter: the start function of a goroutine is not the helper that starts
// all of them, unless there is no other.
func TestStarter(t *testing.T) {
	for function, want := range map[string]bool{
		"golang.org/x/sync/errgroup.(*Group).Go.func1": true, "main.(*group).Go.func1": true, "main.SafeGo.func2.1": true,
		"main.(*group).Go": false, "main.(*group).Gopher.func1": false, "main.run.func1": false, "main.Go.function": false,
	} {
		if starter(function) != want {
			t.Errorf("%s: %v", function, !want)
		}
	}
	for _, test := range [][]string{
		{"main.(*x).run", "main.(*x).step m.go:3", "main.(*x).run m.go:2", "main.(*group).Go.func1 g.go:4"},
		{"main.(*group).Go.func1", "runtime.chanrecv1", "main.(*group).Go.func1 g.go:4"},
	} {
		if p := place(frames(test[1:]...)); p.root != test[0] {
			t.Errorf("start function %s, want %s", p.root, test[0])
		}
	}
}
