package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestNext: a finding has a remedy, or says what to do without one.
func TestNext(t *testing.T) {
	for _, r := range rules {
		for name, found := range map[string]*Finding{
			"nothing":        {Kind: r.kind},
			"a withheld one": {Kind: r.kind, RuledOut: []RuledOut{{Mutex, "it is a semaphore, not a lock."}}},
		} {
			found.complete()
			if found.Next == "" || strings.HasSuffix(found.Next, ".") || nextSteps[r.kind] == "" && name != "nothing" && !strings.HasSuffix(found.Next, ": not mutex, because it is a semaphore, not a lock") {
				t.Errorf("%s, %s: %q", r.kind, name, found.Next)
			}
		}
	}
	for kind := range nextSteps {
		found := &Finding{Kind: kind, Remedies: []Remedy{{Name: Batch}}}
		if found.complete(); found.Next != "" {
			t.Errorf("%s with a remedy: %q", kind, found.Next)
		}
	}
	own := &Finding{Kind: CPUBound, Next: "its own"}
	if own.complete(); own.Next != "its own" {
		t.Errorf("replaced by %q", own.Next)
	}
	minor := diagnose(cpu(1.9, shares{profile.Collecting: 0.4, profile.UserCode: 0.6})).Findings
	for _, found := range minor {
		if (found.Next == "") != found.Minor {
			t.Errorf("%+v", found)
		}
	}
}

// TestDivideWork names what a receiver spends its time on.
func TestDivideWork(t *testing.T) {
	calls := func(c *profile.Capture) {
		c.CPU.Calls = []profile.CPUCall{
			{Root: "example.com/q.consume", Function: "encoding/json.Marshal", Time: secs(4)}, {Root: "example.com/q.other", Function: "io.Copy", Time: secs(3)},
			{Root: "example.com/q.consume", Function: "crypto/sha256.Sum256", Time: secs(1)}, {Root: "example.com/q.consume", Function: "sort.Ints", Time: secs(0.9)},
		}
	}
	f := factsOf(cpu(1, shares{profile.UserCode: 1}), calls)
	if got, want := f.divideWork("example.com/q.consume"), "move its work (json.Marshal 40% and sha256.Sum256 10% of CPU time) into"; !strings.Contains(got, want) {
		t.Error(got)
	}
	if got := f.divideWork("example.com/q.idle"); !strings.Contains(got, "move its work into the goroutines that send") {
		t.Error(got)
	}
}
