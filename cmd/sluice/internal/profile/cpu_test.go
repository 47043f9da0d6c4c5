package profile

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// One sample of each kind, and its category.
func TestCategories(t *testing.T) {
	for _, test := range []struct {
		name  string
		want  Category
		stack []string
	}{
		{"copying a value", ChannelWork, below("runtime.memmove", "runtime.chansend")},
		{"waking a receiver", ChannelWork, below("runtime.runqput", "runtime.ready", "runtime.goready", "runtime.send", "runtime.chansend")},
		{"a waiter's record", ChannelWork, below("runtime.mallocgc", "runtime.acquireSudog", "runtime.chansend")},
		{"spinning for the lock", ChannelLock, below("runtime.procyieldAsm", "runtime.procyield", "runtime.lock2", "runtime.lock", "runtime.chansend")},
		{"asleep on the lock", ChannelLock, below("runtime.futex", "runtime.futexsleep", "runtime.lock2", "runtime.lockWithRank", "runtime.chansend")},
		{"releasing it", ChannelLock, below("runtime.unlock2", "runtime.unlock", "runtime.chansend.func1", "runtime.send", "runtime.chansend")},
		{"a lock of the scheduler while waking", ChannelWork, below("runtime.lock2", "runtime.lock", "runtime.wakep", "runtime.ready", "runtime.goready", "runtime.chansend")},
		{"locking all cases", ChannelLock, []string{"runtime.lock2", "runtime.sellock", "runtime.selectgo", "main.f m.go:1"}},
		{"the collector in a send", Collecting, below("runtime.gcAssistAlloc", "runtime.mallocgc", "runtime.chansend")},
		{"the clock of the block profile", Profiling, below("runtime.cputicks", "runtime.chansend")},
		{"the block profile", Profiling, below("runtime.saveblockevent", "runtime.blockevent", "runtime.chansend")},
		{"after the park", AfterPark, []string{"runtime.stealWork", "runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall"}},
		{"the channel's lock after the park", AfterPark, []string{"runtime.unlock2", "runtime.chanparkcommit", "runtime.park_m", "runtime.mcall"}},
		{"polling the network after the park", AfterPark, []string{"internal/runtime/syscall.EpollWait", "runtime.netpoll", "runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall"}},
		{"after a goroutine's end", Scheduling, []string{"runtime.findRunnable", "runtime.schedule", "runtime.goexit0", "runtime.mcall"}},
		{"an idle thread", Scheduling, []string{"runtime.futex", "runtime.stopm", "runtime.findRunnable", "runtime.schedule", "runtime.mstart1", "runtime.mstart0", "runtime.mstart"}},
		{"sending the time of a timer", Scheduling, []string{"runtime.lock2", "runtime.chansend", "runtime.selectnbsend", "time.sendTime sleep.go:187", "runtime.(*timers).run", "runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall"}},
		{"starting a goroutine", Scheduling, []string{"runtime.newproc1", "runtime.newproc", "main.f m.go:1"}},
		{"a mutex", Locking, []string{"runtime.futex", "runtime.semrelease1", "internal/sync.(*Mutex).Unlock", "sync.(*Mutex).Unlock", "main.f m.go:1"}},
		{"a condition", Locking, []string{"sync.runtime_notifyListNotifyOne", "sync.(*Cond).Signal", "main.f m.go:1"}},
		{"a pool is no lock", UserCode, []string{"sync.(*Pool).Get", "main.f m.go:1"}},
		{"marking", Collecting, []string{"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker.func2", "runtime.systemstack"}},
		{"sweeping", Collecting, []string{"runtime.sweepone", "runtime.bgsweep"}},
		{"a write barrier", Collecting, []string{"runtime.wbBufFlush1", "runtime.gcWriteBarrier", "main.f m.go:1"}},
		{"allocating", Allocating, []string{"runtime.nextFreeFast", "runtime.mallocgcSmallNoscan", "runtime.mallocgc", "runtime.newobject", "main.f m.go:1"}},
		{"growing", Allocating, []string{"runtime.memmove", "runtime.growslice", "main.f m.go:1"}},
		{"a system call", SystemCalls, []string{"internal/runtime/syscall.Syscall6", "syscall.Syscall", "syscall.write", "internal/poll.(*FD).Write", "os.(*File).Write f.go:1", "main.f m.go:1"}},
		{"plain code", UserCode, []string{"main.f m.go:1"}},
		{"a map", UserCode, []string{"runtime.mapaccess1", "main.f m.go:1"}},
		{"a library", UserCode, []string{"encoding/json.Marshal e.go:1", "main.f m.go:1"}},
		{"the handler of profiles", Profiling, []string{"compress/flate.(*compressor).write d.go:1", "runtime/pprof.(*profileBuilder).build p.go:1", "net/http/pprof.Profile p.go:1"}},
		{"taking a sample", Profiling, []string{"runtime.sigprof", "runtime.sigtrampgo", "main.f m.go:1"}},
		{"unknown code", OtherRuntime, []string{"runtime._ExternalCode", "runtime._System"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := frames(test.stack...)
			if got := categorize(s, place(s)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestReadCPU(t *testing.T) {
	const unit = 10 * time.Millisecond
	c, err := readCPU(cpuDrawing(
		spent(3*unit, below("runtime.lock2", "runtime.chansend")...),
		spent(2*unit, below("runtime.ready", "runtime.goready", "runtime.send", "runtime.chansend")...),
		spent(1*unit, below("runtime.chansend")...),
		spent(4*unit, "runtime.schedule", "runtime.park_m", "runtime.mcall"),
		spent(5*unit, "main.work hot.go:9", "main.work hot.go:8", "main.producer hot.go:20"),
		spent(2*unit, "sync.(*Mutex).Lock", "main.work hot.go:10", "main.producer hot.go:20"),
		spent(3*unit, below("runtime.cputicks", "runtime.chansend")...),
		spent(2*unit, "runtime.mallocgc", "runtime.makechan", "main.future hot.go:30"),
		spent(1*unit, "runtime.mallocgc", "runtime.newobject", "main.future hot.go:31"),
	).profile())
	if err != nil {
		t.Fatal(err)
	}
	if c.Total != 23*unit || c.Window != time.Second || c.Period != unit || c.Cores() != 0.23 {
		t.Errorf("total %v in %v, period %v: %v cores", c.Total, c.Window, c.Period, c.Cores())
	}
	var sum time.Duration
	for _, d := range c.By {
		sum += d
	}
	if sum != c.Total {
		t.Errorf("categories make %v of %v", sum, c.Total)
	}
	if got := c.Share(ChannelWork, ChannelLock); got != 6.0/23 {
		t.Errorf("channel share %v, want 6 of 23", got)
	}
	want := CPUSite{Site: sendSite, Time: 6 * unit, Lock: 3 * unit, Wake: 2 * unit, Roots: []string{"main.producer"}, work: 3 * unit}
	if len(c.Sites) != 2 || !reflect.DeepEqual(c.Sites[0], want) || c.Sites[1].Op != Lock {
		t.Errorf("sites %+v, want first %+v, then the mutex", c.Sites, want)
	}
	users := map[string]UserTime{}
	for _, u := range c.Users {
		users[u.Function] = u
	}
	// A recursive function counts once per sample.
	if got := users["main.work"]; got.Self != 5*unit || got.All != 7*unit {
		t.Errorf("main.work %+v", got)
	}
	if got := users["main.producer"]; got.Self != 0 || got.All != 13*unit {
		t.Errorf("main.producer %+v", got)
	}
	if got := users["main.future"]; got.Makes != 2*unit || got.All != 3*unit {
		t.Errorf("main.future %+v", got)
	}
	if c.Users[0].Function != "main.work" {
		t.Errorf("first user is %s", c.Users[0].Function)
	}
}

// Time belongs to the start function of its goroutine, whatever it calls; the
// runtime's goroutines have none.
func TestStages(t *testing.T) {
	const unit = 10 * time.Millisecond
	c, err := readCPU(cpuDrawing(
		spent(3*unit, "runtime.lock2", "runtime.chansend", "runtime.chansend1", "main.put m.go:3", "main.reader m.go:9"),
		spent(2*unit, "main.parse m.go:5", "main.reader m.go:10", "main.start.gowrap1 m.go:1"),
		spent(1*unit, "runtime.mallocgc", "runtime.newobject", "main.parse m.go:6", "main.reader m.go:10"),
		spent(4*unit, "main.write m.go:20"),
		spent(9*unit, "runtime.schedule", "runtime.park_m", "runtime.mcall"),
	).profile())
	if err != nil {
		t.Fatal(err)
	}
	want := []CPUStage{{Root: "main.reader", Work: 3 * unit, Channel: 3 * unit}, {Root: "main.write", Work: 4 * unit}}
	if !slices.Equal(c.Stages, want) {
		t.Errorf("stages %+v, want %+v", c.Stages, want)
	}
	// What they call counts without their channel operations.
	calls := []CPUCall{{"main.reader", "main.parse", 3 * unit}}
	if !slices.Equal(c.Calls, calls) {
		t.Errorf("calls %+v, want %+v", c.Calls, calls)
	}
}

// Allocations and copies of reflect.Select belong to the select.
func TestReflectSelect(t *testing.T) {
	const unit = 10 * time.Millisecond
	c, err := readCPU(cpuDrawing(
		spent(2*unit, "runtime.selectgo", "reflect.rselect", "reflect.Select", "main.read m.go:7"),
		spent(3*unit, "runtime.mallocgc", "runtime.makeslice", "reflect.Select", "main.read m.go:7"),
		spent(1*unit, "reflect.Value.pointer", "reflect.Select", "main.read m.go:7"),
		spent(5*unit, "runtime.mallocgc", "runtime.makeslice", "main.read m.go:8"),
	).profile())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Sites) != 1 || c.Sites[0].Op != Select || c.Sites[0].Time != 6*unit || c.Sites[0].New != 3*unit {
		t.Errorf("sites %+v", c.Sites)
	}
	if c.By[Allocating] != 5*unit || c.By[UserCode] != 0 {
		t.Errorf("categories %v", c.By)
	}
}

// An idle process has no shares.
func TestEmptyCPU(t *testing.T) {
	c, err := readCPU(cpuDrawing().profile())
	if err != nil {
		t.Fatal(err)
	}
	if c.Total != 0 || c.Share(ChannelWork) != 0 || c.Cores() != 0 {
		t.Errorf("%+v", c)
	}
	if (&CPU{Total: time.Second}).Cores() != 0 {
		t.Error("cores with an unknown window")
	}
}

func TestImpossibleCPU(t *testing.T) {
	for name, d := range map[string]drawing{
		"negative": cpuDrawing(drawn{[]int64{1, -1}, sendStack}),
		"overflow": cpuDrawing(drawn{[]int64{1, 1 << 62}, sendStack}, drawn{[]int64{1, 1 << 62}, sendStack}),
		"unit":     {types: []string{"samples/count", "cpu/bogomips"}},
	} {
		if _, err := readCPU(d.profile()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Timers belong to the line that creates them and to its goroutines' start
// function; garbage collection on the way does not.
func TestTimersOfLines(t *testing.T) {
	const unit = 10 * time.Millisecond
	from := func(line string, inner ...string) []string {
		return append(inner, "time.NewTimer sleep.go:80", "time.After sleep.go:202", "main.listen m.go:"+line, "main.run m.go:1")
	}
	own := []string{"time.newTimer", "time.NewTimer sleep.go:80", "main.other m.go:9"}
	c, err := readCPU(cpuDrawing(
		drawn{[]int64{1, int64(unit)}, from("5", "runtime.mallocgc", "runtime.makechan")},
		drawn{[]int64{1, int64(unit)}, from("5", "time.newTimer")},
		drawn{[]int64{1, int64(unit)}, from("5", "runtime.gcAssistAlloc", "runtime.mallocgc", "runtime.makechan")},
		drawn{[]int64{1, int64(unit)}, from("6", "runtime.nanotime")},
		drawn{[]int64{1, int64(unit)}, own},
		drawn{[]int64{1, int64(unit)}, own},
		drawn{[]int64{1, int64(unit)}, own},
		drawn{[]int64{1, int64(unit)}, []string{"time.Now time.go:1", "main.listen m.go:5", "main.run m.go:1"}},
		drawn{[]int64{1, int64(unit)}, []string{"time.NewTimer sleep.go:80"}},
	).profile())
	if err != nil {
		t.Fatal(err)
	}
	at := func(function string, line int) Frame { return Frame{function, "m.go", line} }
	want := []CPUTimers{
		{at("main.other", 9), "main.other", 3 * unit, 0},
		{at("main.listen", 5), "main.run", 2 * unit, unit},
		{at("main.listen", 6), "main.run", unit, 0},
	}
	if !slices.Equal(c.Timers, want) {
		t.Errorf("%+v, want %+v", c.Timers, want)
	}
}

// TestSyncs: a sync counts for the start function of its goroutine, however deep it is.
func TestSyncs(t *testing.T) {
	const unit = 10 * time.Millisecond
	kernel := []string{"internal/runtime/syscall.Syscall6", "syscall.Syscall"}
	c, err := readCPU(cpuDrawing(
		spent(4*unit, append(slices.Clone(kernel), "syscall.Fsync", "internal/poll.(*FD).Fsync", "os.(*File).Sync", "main.flush a.go:3", "main.store a.go:2", "main.run a.go:1")...),
		spent(2*unit, append(slices.Clone(kernel), "syscall.Fdatasync", "main.flush a.go:4", "main.run a.go:1")...),
		spent(3*unit, append(slices.Clone(kernel), "syscall.write", "internal/poll.(*FD).Write", "os.(*File).Write", "main.run a.go:1")...),
		spent(1*unit, "main.hash a.go:9", "main.other a.go:8"),
	).profile())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Stages {
		if want := map[string]time.Duration{"main.run": 6 * unit}[s.Root]; s.Syncs != want || s.Root == "main.run" && s.System != 9*unit {
			t.Errorf("%+v", s)
		}
	}
	if len(c.Stages) != 2 {
		t.Errorf("stages %+v", c.Stages)
	}
}
