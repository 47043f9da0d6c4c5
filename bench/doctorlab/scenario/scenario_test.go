package main

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

// complaints says what is wrong with how a scenario describes itself.
func complaints(v scenario) (found []string) {
	complain := func(wrong bool, what string) {
		if wrong {
			found = append(found, what)
		}
	}
	remedies := []string{buffer, batch, shard, elastic, handOff, mergeChannels, separateDone, lowerGOMAXPROCS, moreReceivers,
		fuseStages, mutex, block, reuseTimer, cancelWait, nothing}
	causes := []string{syncMutex, garbageCollection, downstreamIO, slowStage, cpuBound, idle}
	complain(!regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(v.Name), "the name is no word")
	complain(len(v.About) < 80, "its story is not told")
	complain(v.builds[asFound] == nil, "it cannot be run as found")
	complain(v.Channels && v.Instead != "", "channels are the problem and something else is")
	complain(!v.Channels && !slices.Contains(causes, v.Instead), "nobody knows what holds it back")
	complain(v.Channels && len(v.Sites) == 0, "channels are the problem, and no operation is")
	complain(v.Leak && !v.Channels, "it leaks, and not by channels")
	complain(len(v.Right) == 0, "no answer is right")
	for _, right := range v.Right {
		complain(right != nothing && v.builds[right] == nil, "a right remedy is not built: "+right)
	}
	for name := range v.builds {
		complain(name != asFound && !slices.Contains(remedies, name), "the doctor knows no such remedy: "+name)
	}
	for _, s := range v.Sites {
		complain(!slices.Contains([]string{send, receive, selecting, pollReceive}, s.Op), "no such operation: "+s.Op)
	}
	for _, profile := range v.Ask {
		complain(profile != "block" && profile != "trace", "no such profile: "+profile)
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
			t.Errorf("%s: there are two", v.Name)
		}
		names[v.Name] = true
	}
}

// Each check of the description fails where it should.
func TestComplaints(t *testing.T) {
	good, _, err := find("gatherer", asFound)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*scenario){
		"the name is no word":                            func(v *scenario) { v.Name = "Gatherer 2" },
		"its story is not told":                          func(v *scenario) { v.About = "It is slow." },
		"it cannot be run as found":                      func(v *scenario) { delete(v.builds, asFound) },
		"channels are the problem and something else is": func(v *scenario) { v.Instead = cpuBound },
		"nobody knows what holds it back":                func(v *scenario) { v.Channels = false },
		"channels are the problem, and no operation is":  func(v *scenario) { v.Sites = nil },
		"it leaks, and not by channels":                  func(v *scenario) { v.Leak, v.Channels, v.Instead = true, false, cpuBound },
		"no answer is right":                             func(v *scenario) { v.Right = nil },
		"a right remedy is not built: own done":          func(v *scenario) { v.Right = []string{separateDone} },
		"the doctor knows no such remedy: prayer":        func(v *scenario) { v.builds["prayer"] = v.builds[batch] },
		"no such operation: give":                        func(v *scenario) { v.Sites = []site{{"give", "main.main"}} },
		"no such profile: heap":                          func(v *scenario) { v.Ask = []string{"heap"} },
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
			t.Errorf("%s stands before %s", a.Name, b.Name)
		}
	}
}

// Work is as long as it is said to be: it can be neither left out nor shortened.
func TestGrind(t *testing.T) {
	seen := map[uint64]bool{}
	for n := range 1000 {
		x := grind(42, n)
		if x == 0 || seen[x] {
			t.Fatalf("after %d steps: %d", n, x)
		}
		seen[x] = true
	}
	sink(1)
	if results.Load() != 0 {
		t.Error("a result that is not 0 was stored")
	}
	sink(0)
	if results.Load() != 1 {
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
