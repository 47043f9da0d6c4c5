package main

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

// complaints lists the mistakes in the description of a scenario.
func complaints(v scenario) (found []string) {
	complain := func(wrong bool, what string) {
		if wrong {
			found = append(found, what)
		}
	}
	remedies := []string{buffer, batch, shard, elastic, handOff, mergeChannels, separateDone, lowerGOMAXPROCS, moreReceivers,
		fuseStages, mutex, block, reuseTimer, cancelWait, largerPool, workerPool, balanceKeys, reuseSlices, removeHop, noChange}
	causes := []string{syncMutex, garbageCollection, downstreamIO, slowStage, cpuBound, idle, exhaustedPool, perValue, skew, growingQueue, droppedValues, shedSends}
	complain(!regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(v.Name), "the name is not lower-case words")
	complain(len(v.About) < 80, "the description is too short")
	complain(v.builds[asFound] == nil, "it has no build as found")
	complain(v.Channels && v.Instead != "", "both channels and another cause are at fault")
	complain(!v.Channels && !slices.Contains(causes, v.Instead), "there is no cause")
	complain(v.Channels && len(v.Sites) == 0, "channels are at fault, but there are no sites")
	complain(v.Leak && !v.Channels, "it leaks, but channels are not at fault")
	complain(len(v.Right) == 0, "no remedy is right")
	for _, right := range v.Right {
		complain(right != noChange && v.builds[right] == nil, "a right remedy is not built: "+right)
	}
	for _, harmful := range v.Harmful {
		complain(!slices.Contains(remedies, harmful) || slices.Contains(v.Right, harmful), "unknown or right, but called harmful: "+harmful)
	}
	for name := range v.builds {
		complain(name != asFound && !slices.Contains(remedies, name), "unknown remedy: "+name)
	}
	for _, s := range v.Sites {
		complain(!slices.Contains([]string{send, receive, selecting, pollReceive, pollSend}, s.Op), "unknown operation: "+s.Op)
	}
	for _, profile := range v.Ask {
		complain(profile != "block" && profile != "trace", "unknown profile: "+profile)
	}
	return found
}

func TestScenariosAreWellDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, v := range all() {
		for _, what := range complaints(v) {
			t.Errorf("%s: %s", v.Name, what)
		}
		if names[v.Name] {
			t.Errorf("%s: duplicate name", v.Name)
		}
		names[v.Name] = true
	}
}

// Each check detects its mistake.
func TestComplaints(t *testing.T) {
	good, _, err := find("gatherer", asFound)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*scenario){
		"the name is not lower-case words":                    func(v *scenario) { v.Name = "Gatherer 2" },
		"the description is too short":                        func(v *scenario) { v.About = "It is slow." },
		"it has no build as found":                            func(v *scenario) { delete(v.builds, asFound) },
		"both channels and another cause are at fault":        func(v *scenario) { v.Instead = cpuBound },
		"there is no cause":                                   func(v *scenario) { v.Channels = false },
		"channels are at fault, but there are no sites":       func(v *scenario) { v.Sites = nil },
		"it leaks, but channels are not at fault":             func(v *scenario) { v.Leak, v.Channels, v.Instead = true, false, cpuBound },
		"no remedy is right":                                  func(v *scenario) { v.Right = nil },
		"a right remedy is not built: separate done channels": func(v *scenario) { v.Right = []string{separateDone} },
		"unknown or right, but called harmful: batch":         func(v *scenario) { v.Harmful = []string{batch} },
		"unknown remedy: reboot":                              func(v *scenario) { v.builds["reboot"] = v.builds[batch] },
		"unknown operation: give":                             func(v *scenario) { v.Sites = []site{{"give", "main.main"}} },
		"unknown profile: heap":                               func(v *scenario) { v.Ask = []string{"heap"} },
	} {
		v := good
		v.builds = maps.Clone(good.builds)
		spoil(&v)
		if got := complaints(v); !slices.Equal(got, []string{what}) {
			t.Errorf("complaints %q, want %q", got, what)
		}
	}
}

func TestOrder(t *testing.T) {
	scenarios := all()
	for i := 1; i < len(scenarios); i++ {
		a, b := scenarios[i-1], scenarios[i]
		if a.HeldOut && !b.HeldOut || a.HeldOut == b.HeldOut && a.Name >= b.Name {
			t.Errorf("%s is before %s", a.Name, b.Name)
		}
	}
}

// The compiler can neither remove nor shorten the work.
func TestGrind(t *testing.T) {
	seen := map[uint64]bool{}
	for n := range 1000 {
		x := grind(42, n)
		if x == 0 || seen[x] {
			t.Fatalf("after %d steps: %d", n, x)
		}
		seen[x] = true
	}
	before := results.Load()
	sink(1)
	if results.Load() != before {
		t.Error("a result that is not 0 was stored")
	}
	sink(0)
	if results.Load() != before+1 {
		t.Error("a result that is 0 was not stored")
	}
}

func TestReading(t *testing.T) {
	s := &service{scenario: "v", remedy: "r"}
	for n := range 3 {
		s.counter().add(n + 1)
	}
	if r := s.reading(); r.Items != 6 || r.Scenario != "v" || r.Remedy != "r" {
		t.Errorf("reading %+v", r)
	}
}
