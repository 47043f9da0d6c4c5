package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
)

// Remedies, with the doctor's names. A scenario builds all remedies that fit
// it, including plausible but useless ones, so that their gains can be
// measured.
const (
	asFound         = "none" // no remedy
	buffer          = "buffer"
	batch           = "batch"
	shard           = "shard"
	elastic         = "elastic"
	handOff         = "hand-off"
	mergeChannels   = "merge channels"
	separateDone    = "separate done channels"
	lowerGOMAXPROCS = "lower GOMAXPROCS"
	moreReceivers   = "more receivers"
	fuseStages      = "fuse stages"
	mutex           = "mutex" // sync.Mutex with a slice or a map instead of a channel
	block           = "block" // a blocking operation instead of polling
	reuseTimer      = "reuse timer"
	cancelWait      = "cancel" // an end for goroutines that wait forever
	largerPool      = "larger pool"
	workerPool      = "worker pool"  // long-lived goroutines instead of one per value
	balanceKeys     = "balance keys" // values spread over all shards
	reuseSlices     = "reuse slices"
	removeHop       = "remove the hop" // one goroutine less between two others
	noChange        = "no change"      // leave the channels as they are
)

// Causes other than channels, with the doctor's names.
const (
	syncMutex         = "sync.Mutex"
	garbageCollection = "garbage collection"
	downstreamIO      = "downstream I/O"
	slowStage         = "slow stage"
	cpuBound          = "CPU bound"
	idle              = "idle"
	exhaustedPool     = "exhausted pool"
	perValue          = "goroutine per value"
	skew              = "skewed shards"
	growingQueue      = "growing queue"
	droppedValues     = "dropped values"
	shedSends         = "dropping"
)

// Operations, with the doctor's names.
const (
	send        = "send"
	receive     = "receive"
	selecting   = "select"
	pollReceive = "non-blocking receive"
	pollSend    = "non-blocking send"
)

// A scenario is a service with a known bottleneck and the right answers about
// it.
type scenario struct {
	Name  string `json:"name"`
	About string `json:"about"` // the service and its problem
	// HeldOut excludes the scenario from the tuning of rules.
	HeldOut bool `json:"heldOut"`
	// Channels reports whether channels are the bottleneck; if not, Instead is
	// the bottleneck.
	Channels bool   `json:"channels"`
	Instead  string `json:"instead,omitempty"`
	// Leak reports whether goroutines are blocked forever.
	Leak bool `json:"leak,omitempty"`
	// Sites are the right answers to "where": operations at both ends of the
	// channel. It is empty if no channel is at fault.
	Sites []site `json:"sites,omitempty"`
	// Right are the right remedies.
	Right []string `json:"right"`
	// Harmful are the remedies that would break the service, so that the doctor
	// must not suggest them.
	Harmful []string `json:"harmful,omitempty"`
	// Ask are additional profiles to capture, "block" and "trace". They are
	// large, so only a few fixtures have them.
	Ask []string `json:"ask,omitempty"`
	// Remedies are the remedies that are built, without asFound.
	Remedies []string `json:"remedies"`
	builds   map[string]build
	// finite replaces builds for a scenario whose output can be compared.
	finite map[string]finiteRun
}

// A site is an operation in a function.
type site struct {
	Op   string `json:"op"`
	Func string `json:"func"`
}

// A build starts the goroutines of a service and returns.
type build func(*service)

// A finiteRun runs a service until it has processed that many items and all its
// goroutines have ended. It returns a digest of the output, which remedies do
// not change.
type finiteRun func(s *service, items int) (digest uint64)

// endless is more items than a process handles.
const endless = math.MaxInt

// build returns the service without an end.
func (f finiteRun) build(s *service) {
	go f(s, endless)
}

var registered []scenario

// register registers a scenario. The file of each scenario calls it to
// initialize an otherwise unused variable. Every scenario gets a build with a
// lower GOMAXPROCS.
func register(v scenario) scenario {
	v.builds = maps.Clone(v.builds)
	if v.finite != nil {
		v.builds = make(map[string]build)
	}
	for name, f := range v.finite {
		v.builds[name] = f.build
	}
	found := v.builds[asFound]
	v.builds[lowerGOMAXPROCS] = func(s *service) {
		runtime.GOMAXPROCS(1)
		found(s)
	}
	for name := range v.builds {
		if name != asFound {
			v.Remedies = append(v.Remedies, name)
		}
	}
	slices.Sort(v.Remedies)
	registered = append(registered, v)
	return v
}

// all returns the scenarios by name, the tuning set first.
func all() []scenario {
	scenarios := slices.Clone(registered)
	slices.SortFunc(scenarios, func(a, b scenario) int {
		if a.HeldOut != b.HeldOut {
			if a.HeldOut {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return scenarios
}

// find returns the named scenario and its build with the named remedy.
func find(name, remedy string) (scenario, build, error) {
	var names []string
	for _, v := range all() {
		names = append(names, v.Name)
		if v.Name != name {
			continue
		}
		b, ok := v.builds[remedy]
		if !ok {
			return v, nil, fmt.Errorf("unknown remedy %[2]q of %[1]s (want %[3]s, %[4]s)",
				name, remedy, asFound, strings.Join(v.Remedies, ", "))
		}
		return v, b, nil
	}
	return scenario{}, nil, fmt.Errorf("unknown scenario %q (want %s)", name, strings.Join(names, ", "))
}
