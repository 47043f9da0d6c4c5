package callsite

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// functions returns the names of the functions on a stack, without their package.
func functions(stack Stack) string {
	var names []string
	for frames, more := runtime.CallersFrames(stack[:]), true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		names = append(names, f.Function[strings.LastIndexByte(f.Function, '.')+1:])
	}
	return strings.Join(names, " ")
}

//go:noinline
func here(s *Side, now time.Duration) { s.Sample(now) }

//go:noinline
func there(s *Side, now time.Duration) { s.Sample(now) }

// A sample is the stack of the caller, and there is at most one per period.
func TestSample(t *testing.T) {
	s := New().Send
	here(s, 0)
	here(s, period-1)
	there(s, period-1)
	here(s, period)
	sites := s.Sites()
	if len(sites) != 2 || sites[0].Weight != 1 || sites[1].Weight > 1 || sites[1].Weight < 0.99 { // two lines call here
		t.Fatalf("%+v, want two sites", sites)
	}
	for _, site := range sites {
		if got := functions(site.Stack); !strings.HasPrefix(got, "here TestSample tRunner") {
			t.Errorf("a stack of %s", got)
		}
	}
}

// Weights halve in each half-life, and a site that is used no more is forgotten, but not
// before another one is used.
func TestForget(t *testing.T) {
	s := New().Send
	for range 8 {
		s.last.Store(never)
		here(s, 0)
	}
	there(s, halfLife)
	sites := s.Sites()
	if len(sites) != 2 || sites[0].Weight != 4 || sites[1].Weight != 1 {
		t.Errorf("after a half-life: %+v, want weights of 4 and 1", sites)
	}
	if got := len(s.Sites()); got != 2 {
		t.Errorf("%d sites without another sample, want 2", got)
	}
	there(s, forget)
	sites = s.Sites()
	if len(sites) != 2 || !strings.HasPrefix(functions(sites[0].Stack), "there") {
		t.Errorf("after a minute: %+v, want two lines that call there", sites)
	}
}

//go:noinline
func deeper(n int, s *Side, now time.Duration) {
	if n > 0 {
		deeper(n-1, s, now)
		return
	}
	here(s, now)
}

// The number of sites is limited. A new one replaces the one with the least weight.
func TestLimit(t *testing.T) {
	s := New().Send
	for range 3 {
		s.last.Store(never)
		there(s, 0)
	}
	for n := range 2 * maxSites {
		s.last.Store(never)
		deeper(n, s, 0)
	}
	sites := s.Sites()
	if len(sites) != maxSites || sites[0].Weight != 3 {
		t.Errorf("%d sites, the first with weight %v; want %d and 3", len(sites), sites[0].Weight, maxSites)
	}
}

// A probe identifies the goroutine, and is not kept back by other samples.
func TestProbe(t *testing.T) {
	s := New().Send
	s.Sample(0)
	s.Probe(1)
	var others sync.WaitGroup
	for i := range 2 * maxGoroutines {
		others.Go(func() { s.Probe(time.Duration(i+1) * identified * 2) })
		others.Wait()
	}
	s.Probe(time.Duration(2*maxGoroutines)*identified*2 + 1) // too soon
	identifiedSites, most := 0, 0
	seen := map[uint64]bool{}
	for _, site := range s.Sites() {
		if len(site.Goroutines) > 0 {
			identifiedSites++
		}
		most = max(most, len(site.Goroutines))
		for _, g := range site.Goroutines {
			seen[g] = true
		}
	}
	if identifiedSites != 2 || most != maxGoroutines || len(seen) != maxGoroutines+1 || seen[0] {
		t.Errorf("%d sites, at most %d goroutines: %v", identifiedSites, most, seen)
	}
}

// A sampler never waits: while a reader holds the lock, the sample is dropped.
func TestContention(t *testing.T) {
	s := New().Send
	s.mu.Lock()
	here(s, 0)
	s.mu.Unlock()
	if len(s.Sites()) != 0 {
		t.Error("a sample was taken under another's lock")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 1000 {
				there(s, time.Duration(i)*period)
				_ = s.Sites()
			}
		})
	}
	all.Wait()
	if len(s.Sites()) == 0 {
		t.Error("no sample was taken")
	}
}

// A declared function is not declared twice, and the first ones are forgotten.
func TestDeclare(t *testing.T) {
	sites := New()
	for range 2 {
		sites.Receives(TestDeclare)
	}
	if got, _ := sites.Receive.Declared(); len(got) != 1 || functions(got[0]) != "TestDeclare" {
		t.Errorf("%d declared functions, want TestDeclare", len(got))
	}
	for i := range 2 * maxDeclared {
		sites.Send.declare(&sites.Send.declared, Stack{uintptr(i)})
	}
	if got, _ := sites.Send.Declared(); len(got) != maxDeclared || got[0][0] != 2*maxDeclared-1 {
		t.Errorf("declared: %v", got)
	}
	sites.Send.declared = nil
	sites.Sends()
	if got, _ := sites.Send.Declared(); len(got) != 1 || !strings.HasPrefix(functions(got[0]), "TestDeclare ") {
		t.Errorf("%d declared senders, want TestDeclare", len(got))
	}
	sites.Continues(nil)
	sites.Continues(TestLimit)
	_, onward := sites.Receive.Declared()
	if len(onward) != 2 || functions(onward[0]) != "TestLimit" || !strings.HasPrefix(functions(onward[1]), "TestDeclare ") {
		t.Errorf("results go to %d functions, want TestDeclare and TestLimit", len(onward))
	}
	var none *Sites // of a channel without a name
	none.Sends()
	none.Continues(nil)
	none.Receives(TestDeclare)
	none.Starts(true)
}
