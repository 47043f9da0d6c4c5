package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestWorkersMove: 64 workers that a service starts once are at work in one
// snapshot, and wait for a pool in the next one, beside goroutines that are
// started for each wait. No worker is new, so none leaks.
func TestWorkersMove(t *testing.T) {
	acquire, helper := at(profile.Select, "acquire"), at(profile.Wait, "acquire.func2")
	leaks := func(was int) bool {
		return diagnose(func(c *profile.Capture) {
			c.Goroutines = &profile.Goroutines{StatesKnown: true, InKnown: true, GrowthKnown: true, Total: 100, Earlier: 70,
				EarlierOf: map[string]int{"example.com/q.client": was}, Sites: []profile.GoroutineSite{
					{Site: acquire, In: 41, Waiting: 52, Root: "example.com/q.client"}, {Site: at(profile.Other, "client"), In: 23, Root: "example.com/q.client"},
					{Site: helper, In: 30, Waiting: 30, Root: "example.com/q.acquire.func2"}}}
		}).found(Leak) != nil
	}
	if leaks(64) {
		t.Error("workers that moved to another operation leak")
	}
	if !leaks(20) {
		t.Error("44 more clients, in the select, are no leak")
	}
}

// TestLeakBeforeFewWaiters: goroutines that leak come before the few that wait
// for a mutex where the CPU is idle, and after it where as many wait.
func TestLeakBeforeFewWaiters(t *testing.T) {
	stuck := at(profile.Send, "flush.func1")
	for waiting, want := range map[int]Kind{5: Leak, 90: SyncMutex} {
		d := diagnose(cpu(0.07, shares{profile.UserCode: 1}), metrics(float64(waiting), 1000), func(c *profile.Capture) {
			c.Goroutines = &profile.Goroutines{StatesKnown: true, InKnown: true, GrowthKnown: true, Total: 400, Earlier: 100,
				States: map[string]int{"sync.Mutex.Lock": waiting}, Sites: []profile.GoroutineSite{
					{Site: stuck, In: 332, Waiting: 332, Earlier: 80, Root: "example.com/q.flush.func1"}, {Site: unlock, In: waiting, Waiting: waiting, Root: "example.com/q.main"}}}
		})
		if len(d.Findings) != 2 || d.Findings[0].Kind != want {
			t.Errorf("%d goroutines wait for a mutex: %s, %d findings", waiting, d.Answer, len(d.Findings))
		}
	}
}
