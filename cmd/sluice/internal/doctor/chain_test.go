package doctor

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestChain: many stages that take turns on one core are one goroutine's work;
// two of them, or several cores, may gain from slots or slices.
func TestChain(t *testing.T) {
	best := func(stages int, cores float64) RemedyName {
		var sites []on
		var waiting []profile.GoroutineSite
		var rows []stagePart
		part := 1 / float64(stages)
		for i := range stages {
			name := fmt.Sprintf("stage%d", i)
			in, out := at(profile.Range, name), at(profile.Send, name)
			out.At.Line++
			sites = append(sites, on{in, 0.25 * part, 0, 0.1 * part}, on{out, 0.25 * part, 0, 0.1 * part})
			waiting = append(waiting, rooted(in, 1, 0, name))
			rows = append(rows, stagePart{name, 1, 0.25 * part, 0.5 * part})
		}
		f := diagnose(cpu(cores, shares{profile.ChannelWork: 0.5, profile.AfterPark: 0.25, profile.UserCode: 0.25}, sites...), goroutinesAt(waiting...), staged(rows...)).found(TransferCost)
		if f == nil || f.Best() == nil {
			return ""
		}
		return f.Best().Name
	}
	for _, test := range []struct {
		stages int
		cores  float64
		want   RemedyName
	}{{8, 1, Fuse}, {2, 1, Buffer}, {8, 1.8, Batch}} {
		if got := best(test.stages, test.cores); got != test.want {
			t.Errorf("%d stages on %v cores: %q, want %q", test.stages, test.cores, got, test.want)
		}
	}
}
