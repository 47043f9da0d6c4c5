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

// Names of remedies, as the doctor says them. A scenario has those built that can be
// built for it, the tempting and useless ones too: what they give is measured.
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
	mutex           = "mutex" // sync.Mutex, and a slice or a map, in place of a channel
	block           = "block" // an operation that waits in place of polling
	reuseTimer      = "reuse timer"
	cancelWait      = "cancel"    // a way out for goroutines that wait for ever
	nothing         = "no change" // leave the channels as they are
)

// What else holds a service back, where channels do not, as the doctor says it.
const (
	syncMutex         = "sync.Mutex"
	garbageCollection = "garbage collection"
	downstreamIO      = "downstream I/O"
	slowStage         = "slow stage"
	cpuBound          = "CPU bound"
	idle              = "idle"
)

// Operations, as the doctor says them.
const (
	send        = "send"
	receive     = "receive"
	selecting   = "select"
	pollReceive = "poll receive"
)

// A scenario is a service and the right answers about it.
type scenario struct {
	Name  string `json:"name"`
	About string `json:"about"` // what the service does, and what is wrong with it
	// HeldOut is whether no rule may be tuned on it.
	HeldOut bool `json:"heldOut"`
	// Channels is whether channels are what holds it back; Instead is what does
	// if they are not.
	Channels bool   `json:"channels"`
	Instead  string `json:"instead,omitempty"`
	// Leak is whether it leaves goroutines blocked for ever.
	Leak bool `json:"leak,omitempty"`
	// Sites are operations of which any is a right answer to "where": both ends of
	// the channel in question. Empty where no channel is to blame.
	Sites []site `json:"sites,omitempty"`
	// Right are the remedies of which any is a right answer.
	Right []string `json:"right"`
	// Ask are profiles beside the usual that a capture is to have, "block" and
	// "trace": a few fixtures have them, for they are large.
	Ask []string `json:"ask,omitempty"`
	// Remedies are those that are built, asFound not among them.
	Remedies []string `json:"remedies"`
	builds   map[string]build
	// stretches may be given in place of builds: a test can then compare what
	// comes out of them.
	stretches map[string]stretch
}

// A site is an operation in a function.
type site struct {
	Op   string `json:"op"`
	Func string `json:"func"`
}

// A build starts the goroutines of a service and returns.
type build func(*service)

// A stretch runs a service until it has done that many items and everything that it
// started has ended, and returns a digest of what came out. A remedy changes how long
// it takes, and not the digest.
type stretch func(s *service, items int) (digest uint64)

// endless is more items than a process does before it ends.
const endless = math.MaxInt

// build is the service that nobody stops.
func (f stretch) build(s *service) {
	go f(s, endless)
}

var registered []scenario

// register makes a scenario known. The file of each calls it once, to initialize a
// variable that it does not otherwise need. Every scenario can be run with fewer Ps,
// which needs no building.
func register(v scenario) scenario {
	v.builds = maps.Clone(v.builds)
	if v.stretches != nil {
		v.builds = make(map[string]build)
	}
	for name, f := range v.stretches {
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

// all returns the scenarios by name, those for tuning first.
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
			return v, nil, fmt.Errorf("no remedy of %s is called %q; there are: %s, %s",
				name, remedy, asFound, strings.Join(v.Remedies, ", "))
		}
		return v, b, nil
	}
	return scenario{}, nil, fmt.Errorf("no scenario is called %q; there are: %s", name, strings.Join(names, ", "))
}
