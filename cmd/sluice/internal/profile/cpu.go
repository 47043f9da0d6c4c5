package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
)

// readCPU reads a CPU profile.
func readCPU(p *pprof.Profile) (*CPU, error) {
	value := valueOf(p, "cpu")
	if unit := p.SampleType[value].Unit; unit != "nanoseconds" {
		return nil, errors.New("CPU time in " + unit + " (want nanoseconds)")
	}
	t := cpuTally{
		cpu:   &CPU{Window: max(0, time.Duration(p.DurationNanos)), Period: max(0, time.Duration(p.Period)), By: map[Category]time.Duration{}},
		sites: map[Site]*CPUSite{}, users: map[string]*UserTime{}, stages: map[string]*CPUStage{},
		timers: map[rootedLine]*CPUTimers{}, spawns: map[Frame]time.Duration{}, slices: map[rootedLine]time.Duration{},
		calls: map[stageCall]time.Duration{},
	}
	for _, sample := range p.Sample {
		spent := time.Duration(sample.Value[value])
		if spent < 0 || t.cpu.Total+spent < t.cpu.Total {
			return nil, errors.New("impossible CPU times")
		}
		t.add(framesOf(sample), spent)
	}
	if err := t.cpu.possible(); err != nil {
		return nil, err
	}
	if len(p.Sample) > 0 && !ofGo(p) {
		return nil, errors.New("no Go function names (package.function): the program is not in Go, or has no symbols")
	}
	return t.result(), nil
}

// ofGo reports whether any function name has the form of Go's linker. Programs
// in other languages can have profiles of this format, and would look like
// healthy user code.
func ofGo(p *pprof.Profile) bool {
	return slices.ContainsFunc(p.Function, func(f *pprof.Function) bool {
		name := f.Name[strings.LastIndexByte(f.Name, '/')+1:]
		pkg, function, ok := strings.Cut(name, ".")
		return ok && pkg != "" && function != "" && !strings.Contains(name, "::")
	})
}

const (
	// maxCores is more than the cores of any machine.
	maxCores = 1 << 14
	// maxWindow is more than the length of any CPU profile.
	maxWindow = 30 * 24 * time.Hour
)

// possible rejects a window in which no machine can use that much CPU time: all
// shares and gains would be wrong.
func (c *CPU) possible() error {
	if c.Window > maxWindow {
		return fmt.Errorf("implausible length of %s for a CPU profile", c.Window)
	}
	if c.Window > 0 && c.Total.Seconds() > maxCores*c.Window.Seconds() {
		return fmt.Errorf("implausible CPU time of %s in %s", c.Total, c.Window)
	}
	return nil
}

// A cpuTally adds up samples.
type cpuTally struct {
	cpu    *CPU
	sites  map[Site]*CPUSite
	users  map[string]*UserTime
	stages map[string]*CPUStage
	timers map[rootedLine]*CPUTimers
	spawns map[Frame]time.Duration
	slices map[rootedLine]time.Duration
	calls  map[stageCall]time.Duration
}

// A stageCall is a function that a start function calls.
type stageCall struct{ root, function string }

// maxRoots bounds the start functions of one operation: a helper of a server may
// have hundreds, and a few show what uses it.
const maxRoots = 16

// A rootedLine is a line, and the start function of the goroutines that run it.
type rootedLine struct {
	at   Frame
	root string
}

func (t *cpuTally) add(s stack, spent time.Duration) {
	p := place(s)
	category := categorize(s, p)
	t.cpu.Total += spent
	t.cpu.By[category] += spent
	if category == Profiling {
		return
	}
	if op := p.site.Op; p.site.At.Function != "" && (op.Channel() || op == Lock || op == Wait) {
		site := t.sites[p.site]
		if site == nil {
			site = &CPUSite{Site: p.site}
			t.sites[p.site] = site
		}
		site.Time += spent
		if len(site.Roots) < maxRoots && p.root != "" && !slices.Contains(site.Roots, p.root) {
			site.Roots = append(site.Roots, p.root)
		}
		if inAllocation(p.below) {
			site.New += spent
		}
		switch passes(p.below) {
		case Send:
			site.Gave += spent
		case Receive:
			site.Took += spent
		}
		site.onTimer = site.onTimer || onTimer(p.below)
		if category == ChannelWork {
			site.work += spent
		}
		switch {
		case category == ChannelLock:
			site.Lock += spent
		case op.Channel() && inWake(p.below):
			site.Wake += spent
		}
	}
	t.stage(&p, category, syncing(s), spent)
	t.call(s, &p, category, spent)
	switch {
	case category == Collecting:
	case p.site.At.Function == "" && endsGoroutine(s):
		t.cpu.Ends += spent
	case p.site.At.Function != "" && startsGoroutine(p.below):
		t.spawns[p.site.At] += spent
	case p.site.At.Function != "" && !p.site.Op.Channel() && makesSlice(p.below):
		t.slices[rootedLine{p.site.At, p.root}] += spent
	}
	if at, ok := makesTimer(s); ok && category != Collecting {
		t.timer(rootedLine{at, p.root}, category, spent)
	}
	seen := map[string]bool{}
	for _, f := range s[len(p.below):] {
		if hidden(f) || library(f) || seen[f.Function] {
			continue
		}
		seen[f.Function] = true
		t.user(f.Function).All += spent
	}
	if p.site.At.Function != "" && p.site.Call == "" && makesChannel(p.below) {
		t.user(p.site.At.Function).Makes += spent
	}
	if category == UserCode {
		t.user(p.site.At.Function).Self += spent
	}
}

// stage adds time to the goroutines with a start function. Those of the runtime
// have none.
func (t *cpuTally) stage(p *placed, category Category, sync bool, spent time.Duration) {
	if p.root == "" {
		return
	}
	s := t.stages[p.root]
	if s == nil {
		s = &CPUStage{Root: p.root, host: p.host}
		t.stages[p.root] = s
	}
	if category == ChannelWork || category == ChannelLock {
		s.Channel += spent
	} else {
		s.Work += spent
	}
	if category == SystemCalls {
		s.System += spent
		if sync {
			s.Syncs += spent
		}
	}
}

// call adds time to the function that the goroutine's start function called,
// channel operations aside.
func (t *cpuTally) call(s stack, p *placed, category Category, spent time.Duration) {
	if p.root == "" || category == ChannelWork || category == ChannelLock {
		return
	}
	for i := len(s) - 1; i > 0; i-- {
		if s[i].Function == p.root {
			if called := s[i-1]; !hidden(called) {
				t.calls[stageCall{p.root, called.Function}] += spent
			}
			return
		}
	}
}

// timer adds time to a line that creates timers.
func (t *cpuTally) timer(line rootedLine, category Category, spent time.Duration) {
	timers := t.timers[line]
	if timers == nil {
		timers = &CPUTimers{At: line.at, Root: line.root}
		t.timers[line] = timers
	}
	timers.Time += spent
	if category == Allocating {
		timers.New += spent
	}
}

func (t *cpuTally) user(function string) *UserTime {
	u := t.users[function]
	if u == nil {
		u = &UserTime{Function: function}
		t.users[function] = u
	}
	return u
}

func (t *cpuTally) result() *CPU {
	for _, site := range t.sites {
		t.cpu.Sites = append(t.cpu.Sites, *site)
	}
	slices.SortFunc(t.cpu.Sites, func(a, b CPUSite) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), a.Site.compare(b.Site))
	})
	for _, user := range t.users {
		t.cpu.Users = append(t.cpu.Users, *user)
	}
	slices.SortFunc(t.cpu.Users, func(a, b UserTime) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.All, a.All), cmp.Compare(a.Function, b.Function))
	})
	for _, stage := range t.stages {
		t.cpu.Stages = append(t.cpu.Stages, *stage)
	}
	slices.SortFunc(t.cpu.Stages, func(a, b CPUStage) int {
		return cmp.Or(cmp.Compare(b.Work+b.Channel, a.Work+a.Channel), cmp.Compare(a.Root, b.Root))
	})
	for call, spent := range t.calls {
		t.cpu.Calls = append(t.cpu.Calls, CPUCall{Root: call.root, Function: call.function, Time: spent})
	}
	slices.SortFunc(t.cpu.Calls, func(a, b CPUCall) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Root, b.Root), cmp.Compare(a.Function, b.Function))
	})
	for _, timers := range t.timers {
		t.cpu.Timers = append(t.cpu.Timers, *timers)
	}
	slices.SortFunc(t.cpu.Timers, func(a, b CPUTimers) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), a.At.compare(b.At), cmp.Compare(a.Root, b.Root))
	})
	for line, spent := range t.slices {
		t.cpu.Slices = append(t.cpu.Slices, CPUSlices{At: line.at, Root: line.root, Time: spent})
	}
	slices.SortFunc(t.cpu.Slices, func(a, b CPUSlices) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), a.At.compare(b.At), cmp.Compare(a.Root, b.Root))
	})
	for at, spent := range t.spawns {
		t.cpu.Spawns = append(t.cpu.Spawns, CPUSpawn{At: at, Time: spent})
	}
	slices.SortFunc(t.cpu.Spawns, func(a, b CPUSpawn) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), a.At.compare(b.At))
	})
	return t.cpu
}
