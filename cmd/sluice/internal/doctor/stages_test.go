package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestNoCoreIdles: more receivers need idle cores; without them a saturated
// stage is not a fault.
func TestNoCoreIdles(t *testing.T) {
	for cores, want := range map[float64]bool{1.6: true, 1.8: false} {
		d := diagnose(cpu(cores, shares{profile.UserCode: 0.97, profile.ChannelWork: 0.03}, on{send, 0.03, 0, 0}), goroutinesAt(in(send, 8, 6)),
			staged(stagePart{"(*Bus).Put", 8, 1 - 1/cores, 0.01}, stagePart{"consume", 1, 1 / cores, 0}))
		if (d.found(SlowStage) != nil) != want {
			t.Errorf("%v cores in use: %s", cores, d.Answer)
		}
	}
}

// TestWaitingForIO: a service that waits for I/O spends nothing on channels,
// and its goroutines are in the network rather than asleep, however many sleep.
func TestWaitingForIO(t *testing.T) {
	pace := rooted(at(profile.Sleep, "pace"), 9, 9, "pace")
	waiting := goroutinesAt(in(send, 8, 8), rooted(sink, 2, 2, "sink"), pace)
	f := diagnose(quiet, waiting).found(Downstream)
	if f == nil || !strings.Contains(f.Text, sink.At.Function[len("example.com/"):]) {
		t.Errorf("I/O is %+v", f)
	}
	for channels, want := range map[float64]bool{0.80: true, 0.95: false} { // of 0.45 cores of two: 0.18 and 0.21
		d := diagnose(cpu(0.45, shares{profile.ChannelWork: channels, profile.UserCode: 1 - channels}, on{send, channels, 0, 0}), waiting)
		if (d.found(Downstream) != nil) != want {
			t.Errorf("with %v of it in channels: %s", channels, d.Answer)
		}
	}
}
