package batch_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/internal/engine"
)

// The timer of a Sender sends from no goroutine of the user's, so the first value declares the call site
// to the channel: for the map of the program, also if it sends on a level.
func TestTimerDeclaresItsUser(t *testing.T) {
	for _, level := range []bool{false, true} {
		p := sluice.NewPriority[int](2, 10, &sluice.PriorityOptions[int]{Name: "declared"})
		var to sluice.BatchSender[int] = p
		if level {
			to = p.Level(1)
		}
		b := batch.NewSender(to, 8, &batch.Options[int]{Linger: time.Hour})
		_ = b.Send(t.Context(), 1)
		if sites, _ := engine.SitesOf(p).Send.Declared(); len(sites) != 1 {
			t.Errorf("level %v: %d call sites are declared", level, len(sites))
		}
		_ = b.Close(t.Context())
	}
}
