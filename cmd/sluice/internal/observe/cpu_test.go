package observe

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

func TestSpentOn(t *testing.T) {
	for _, test := range []struct {
		stack string
		what  Category
		makes string
		parks bool
	}{
		{"runtime.memmove\nruntime.chansend\nruntime.chansend1\nmain.f", Passing, "", false},
		{"runtime.procyield\nruntime.lock2\nruntime.lock\nruntime.chansend\nruntime.chansend1\nmain.f", Passing, "", false},
		{"runtime.lock2\nruntime.ready\nruntime.goready.func1\nruntime.send\nruntime.chansend\nruntime.chansend1\nmain.f", Passing, "", false},
		{"runtime.mallocgc\nruntime.acquireSudog\nruntime.selectgo\nmain.f", Passing, "", true},
		{"runtime.cputicks\nruntime.chanrecv\nruntime.chanrecv1\nmain.f", Profiling, "", false},
		{"runtime.mallocgc\nruntime.makechan\nmain.f", Allocating, "channel", false},
		{"runtime.gcAssistAlloc\nruntime.mallocgc\nruntime.growslice\nmain.f", Collecting, "slice", false},
		{"runtime.mallocgc\nruntime.newobject\ncontext.WithDeadlineCause\ncontext.WithTimeout\nmain.f", Timers, "context", false},
		{"runtime.mallocgc\nruntime.newobject\ntime.NewTimer\ntime.After\nmain.f", Timers, "timer", false},
		{"runtime.malg\nruntime.newproc.func1\nruntime.newproc\nmain.f", Scheduling, "goroutine", false},
		{"sync.(*Mutex).lockSlow\nsync.(*Mutex).Lock\nmain.f", Locking, "", false},
		{"internal/runtime/syscall.Syscall6\nsyscall.write\nos.(*File).Write\nmain.f", SystemCalls, "", false},
		{"runtime.adjustsudogs\nruntime.copystack\nruntime.shrinkstack\nruntime.scanstack\nruntime.markroot\nruntime.gcDrain", Locking, "", false},
		{"runtime.adjustsudogs\nruntime.syncadjustsudogs\nruntime.copystack\nruntime.newstack\nmain.f", Locking, "", false},
		{"runtime.Gosched\nmain.f", Scheduling, "", false},
		{"main.f", OwnCode, "", false},
		{"crypto/sha256.block\nmain.f", OwnCode, "", false},
		{"runtime.schedule\nruntime.park_m\nruntime.mcall", Scheduling, "", false},
		{"runtime.netpoll\nruntime.findRunnable\nruntime.schedule", Scheduling, "", false},
		{"time.sendTime\nruntime.(*timer).unlockAndRun\nruntime.(*timers).run\nruntime.(*timers).check\nruntime.findRunnable", Timers, "", false},
		{"runtime.(*timers).check\nruntime.findRunnable", Scheduling, "", false},
		{"runtime.gcDrain\nruntime.gcBgMarkWorker.func2\nruntime.systemstack\nruntime.gcBgMarkWorker", Collecting, "", false},
		{"runtime.kevent\nruntime.netpoll\nruntime.findRunnable", Asleep, "", false},
		{"runtime.cgocall\nmain._Cfunc_work\nmain.f", Foreign, "", false},
		{"__tsan::MemoryAccess", Detector, "", false},
		{"runtime.racefuncenter\nmain.f", Detector, "", false},
		{"compress/flate.(*compressor).write\nnet/http/pprof.Profile\nnet/http.(*conn).serve", Profiling, "", false},
		{"main.f\nmain.main.func1\nruntime/pprof.Do\nmain.main.gowrap1", OwnCode, "", false},
		{"runtime.memmove\ngithub.com/sluice-go/sluice/internal/segqueue.(*Engine[...]).send\ngithub.com/sluice-go/sluice.(*channel[...]).Send\nmain.f", Passing, "", false},
		{"runtime.memclrNoHeapPointers\nruntime.mallocgc\nruntime.newobject\ncompress/flate.NewWriter\ncompress/gzip.(*Writer).Write\nmain.f", Making, "compressor", false},
		{"compress/flate.(*compressor).deflate\ncompress/gzip.(*Writer).Write\nmain.f", OwnCode, "", false},
		{"runtime.gcAssistAlloc\nruntime.mallocgc\nregexp.compile\nregexp.MustCompile\nmain.f", Making, "regular expression", false},
		{"regexp/syntax.(*parser).push\nregexp/syntax.parse\nregexp.compile\nregexp.MustCompile\nmain.f", Making, "regular expression", false},
	} {
		s := stackOf(test.stack)
		p := place(s)
		if got := spentOn(s, &p); got.what != test.what || got.makes != test.makes || got.parks != test.parks {
			t.Errorf("%q: %+v, want %s %q %v", test.stack, got, test.what, test.makes, test.parks)
		}
	}
}

// profileOf makes a CPU profile of a second from stacks, with as many hundredths of a
// core each.
func profileOf(stacks map[string]int64) *capture.Profile {
	p := &capture.Profile{Window: time.Second}
	for _, text := range slices.Sorted(func(yield func(string) bool) {
		for s := range stacks {
			if !yield(s) {
				return
			}
		}
	}) {
		p.Samples = append(p.Samples, capture.Sample{Stack: stackOf(text), Count: stacks[text], Value: stacks[text] * 1e7})
	}
	return p
}

func TestCPURowsAddUp(t *testing.T) {
	o, err := Of(&capture.Capture{CPU: profileOf(map[string]int64{
		"runtime.chansend1\nmain.f m.go:1\nmain.g m.go:9":                 30,
		"runtime.gopark\nruntime.chansend1\nmain.f m.go:1\nmain.g m.go:9": 5,
		"main.f m.go:2\nmain.g m.go:9":                                    40,
		"runtime.schedule\nruntime.park_m\nruntime.mcall":                 20,
		"runtime.kevent": 10,
	})})
	if err != nil {
		t.Fatal(err)
	}
	sum, samples := 0.0, int64(0)
	for _, s := range o.Spent {
		if s.What != Asleep {
			sum += s.Cores
		}
		samples += s.Samples
		if s.Op == Send && (!s.Parks || o.Roles[s.Role].Name != "g" || math.Abs(s.Cores-0.35) > 1e-9) {
			t.Errorf("%+v", s)
		}
	}
	if math.Abs(sum-o.Cores.Used) > 1e-9 || math.Abs(sum-0.95) > 1e-9 || samples != o.Sources.Samples || samples != 105 {
		t.Errorf("rows have %v cores, %d samples; %+v %+v", sum, samples, o.Cores, o.Sources)
	}
	if len(o.Artifacts) != 1 || o.Artifacts[0].Kind != "macOS" || !o.Artifacts[0].Bars {
		t.Errorf("%+v", o.Artifacts)
	}
}

func TestArtifacts(t *testing.T) {
	o, err := Of(&capture.Capture{
		Machine: &capture.Machine{CPUs: 4, Busy: 2},
		CPU: profileOf(map[string]int64{
			"main.f": 10, "__tsan_read": 20, "runtime._ExternalCode": 50, "runtime.memmove /go/src/runtime/memmove_386.s:10\nmain.f": 1,
		})})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, a := range o.Artifacts {
		kinds = append(kinds, a.Kind)
	}
	if !slices.Equal(kinds, []string{"race build", "other processes", "32 bit"}) || o.Spent[0].What != Detector {
		t.Errorf("%q %+v", kinds, o.Spent[0])
	}
}

func TestPlacesShareTheTimeOfTheirFunction(t *testing.T) {
	b := newBuilder(&capture.Capture{})
	stage := Frame{Function: "main.stage"}
	b.o.Roles = []Role{{Start: stage, Time: Time{Running: 0.3}}, {Start: Frame{Function: "main.sink"}, Time: Time{Running: 1}}, {Start: stage, Time: Time{Running: 0.1}}}
	b.o.Spent = []Spend{{Role: 0, What: Passing, Cores: 1, Samples: 10}, {Role: 1, Cores: 1, Samples: 10}, {Role: -1, Cores: 1, Samples: 10}}
	b.splitSpent()
	samples := int64(0)
	for i, s := range b.o.Spent {
		if want := []float64{0.75, 1, 1, 0.25}[i]; math.Abs(s.Cores-want) > 1e-9 || s.Samples < 0 || i == 3 && (s.Role != 2 || s.What != Passing) {
			t.Errorf("%+v, want %v cores", s, want)
		}
		samples += s.Samples
	}
	if samples != 30 {
		t.Errorf("%d samples", samples)
	}
}

// Both profiles have the waits for locks: they count once.
func TestContentionWithoutTrace(t *testing.T) {
	block := profileOf(map[string]int64{"runtime.chansend1\nmain.f m.go:1\nmain.g m.go:9": 300, "sync.(*Mutex).Lock\nmain.h m.go:3": 50})
	mutex := profileOf(map[string]int64{"sync.(*Mutex).Unlock\nmain.h m.go:4": 50, "runtime.unlock\nruntime.ready\nmain.h": 5})
	for _, test := range []struct {
		block *capture.Profile
		rows  int
		lock  Op
	}{{block, 2, Lock}, {nil, 1, Unlock}} {
		o, err := Of(&capture.Capture{Block: test.block, Mutex: mutex})
		if err != nil {
			t.Fatal(err)
		}
		last := o.Waits[len(o.Waits)-1]
		if len(o.Waits) != test.rows || last.Op != test.lock || o.Nodes[last.Node].Kind != Mutex || math.Abs(last.Mean-0.5) > 1e-9 {
			t.Errorf("%+v", o.Waits)
		}
		if w := o.Waits[0]; test.block != nil && (w.Op != Send || math.Abs(w.Mean-3) > 1e-9 || !w.Known || o.Roles[w.Role].Name != "g") {
			t.Errorf("%+v", w)
		}
	}
}

func TestWorkersOfALibraryAreAdopted(t *testing.T) {
	const host = "github.com/sluice-go/sluice/workers.(*group).start.func2"
	o, err := Of(&capture.Capture{CPU: profileOf(map[string]int64{
		"main.work m.go:1\n" + host: 10,
		"runtime.chanrecv1\ngithub.com/sluice-go/sluice/internal/workpool.(*Pool).Work\n" + host: 5,
		"main.handle m.go:9\nnet/http.(*conn).serve":                                             3,
		"runtime.memmove\nnet/http.(*conn).readRequest\nnet/http.(*conn).serve":                  2,
	})})
	if err != nil {
		t.Fatal(err)
	}
	cores := map[string]float64{}
	for _, s := range o.Spent {
		if s.Role >= 0 {
			cores[o.Roles[s.Role].Name] += s.Cores
		}
	}
	if len(o.Roles) != 2 || math.Abs(cores["work"]-0.15) > 1e-9 || math.Abs(cores["handle"]-0.03) > 1e-9 {
		t.Errorf("%v of %+v", cores, o.Roles)
	}
}

// The waits of a trace are parts of a role's Time: they stay with it.
func TestAdoptedRows(t *testing.T) {
	const host = "golang.org/x/sync/errgroup.(*Group).Go.func1"
	for _, traced := range []bool{false, true} {
		b := newBuilder(&capture.Capture{})
		job := b.role(place(stackOf("main.work m.go:1\n" + host)))
		idle := place(stackOf("runtime.chanrecv1\n" + host))
		worker := b.role(idle)
		b.o.Waits = []Wait{{Role: worker}}
		want := job
		if traced {
			b.o.Sources.Trace, want = time.Second, worker
			newTracer(b).adopt()
		}
		b.o.Spent = []Spend{{Role: b.role(idle)}}
		if b.adopt(); b.o.Waits[0].Role != want || b.o.Spent[0].Role != job {
			t.Errorf("with a trace: %v: %+v %+v", traced, b.o.Waits, b.o.Spent)
		}
	}
}

func TestNothing(t *testing.T) {
	if o, err := Of(&capture.Capture{}); err == nil {
		t.Errorf("%+v", o)
	}
	if o, err := Of(&capture.Capture{CPU: &capture.Profile{Window: time.Second}}); err != nil || o == nil {
		t.Error(err)
	}
}
