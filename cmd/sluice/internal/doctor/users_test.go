package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestOneGoroutineInTwoSnapshots: the stacks and the states are two snapshots. A
// goroutine that sends in one and receives in the other is one goroutine.
func TestOneGoroutineInTwoSnapshots(t *testing.T) {
	const root = "example.com/q.stage"
	f := factsOf(cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.5, 0, 0}), goroutinesAt(
		profile.GoroutineSite{Site: send, In: 1, Root: root}, profile.GoroutineSite{Site: receive, Waiting: 1, Root: root}))
	if n, known := f.users(f.operationAt(send)); n != 1 || !known {
		t.Errorf("%d goroutines, %v", n, known)
	}
}
