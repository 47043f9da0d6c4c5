package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestNoCoreIdles: more receivers are for cores that idle; where hardly one does, a
// stage that is full of work is no fault.
func TestNoCoreIdles(t *testing.T) {
	for cores, want := range map[float64]bool{1.6: true, 1.8: false} {
		d := diagnose(cpu(cores, shares{profile.UserCode: 0.97, profile.ChannelWork: 0.03}, on{send, 0.03, 0, 0}), goroutinesAt(in(send, 8, 6)),
			staged(stagePart{"(*Bus).Put", 8, 1 - 1/cores, 0.01}, stagePart{"consume", 1, 1 / cores, 0}))
		if (d.found(SlowStage) != nil) != want {
			t.Errorf("with %v cores in use: %s", cores, d.Answer)
		}
	}
}

// TestOutside: who waits for something outside spends nothing on channels, and is in the
// network rather than asleep, however many sleep.
func TestOutside(t *testing.T) {
	pace := rooted(at(profile.Sleep, "pace"), 9, 9, "pace")
	waiting := goroutinesAt(in(send, 8, 8), rooted(sink, 2, 2, "sink"), pace)
	f := diagnose(quiet, waiting).found(Downstream)
	if f == nil || !strings.Contains(f.Text, sink.At.Function[len("example.com/"):]) {
		t.Errorf("outside is %+v", f)
	}
	for channels, want := range map[float64]bool{0.80: true, 0.95: false} { // of 0.45 cores of two: 0.18 and 0.21
		d := diagnose(cpu(0.45, shares{profile.ChannelWork: channels, profile.UserCode: 1 - channels}, on{send, channels, 0, 0}), waiting)
		if (d.found(Downstream) != nil) != want {
			t.Errorf("with %v of it in channels: %s", channels, d.Answer)
		}
	}
}
