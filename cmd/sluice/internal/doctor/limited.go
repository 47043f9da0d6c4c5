package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// cpuLimit reports the limit beside whatever takes the CPU time that is left:
// the shares are valid, because a limit slows all work alike. With too few
// samples for shares, the limit is all that is known.
func cpuLimit(f *facts) *Finding {
	if !f.squeezed {
		return nil
	}
	lost := 1 - f.cores/max(f.running, f.cores)
	// The limit slows channels too, and there a remedy helps on a limit as well.
	found := &Finding{Share: known(lost * (1 - f.channelCPU())), Confidence: Medium}
	found.Text = fmt.Sprintf("The service gets %s cores and needs more: a CPU limit or other processes hold it back.", format.Number(f.cores))
	if f.busy {
		found.Text += fmt.Sprintf(" Its own code takes %s of that CPU time, channels %s.", format.Percent(f.share(profile.UserCode)), format.Percent(f.channelCPU()))
	}
	from := profile.KindMetrics
	text := fmt.Sprintf("%s goroutines waited a millisecond or longer for a core on average", format.Number(f.starved))
	if t, kind := f.squeezedIn(); t != nil {
		from = kind
		text = fmt.Sprintf("on average %s goroutines ran and %s were ready to run, each of which needs a core", format.Number(f.running), format.Number(f.queued))
	}
	found.addEvidence(from, text)
	g := f.capture.Goroutines
	found.addEvidence(profile.KindGoroutine, fmt.Sprintf("goroutines that run or are ready to: %d at the start, %d at the end",
		g.AwakeBefore, max(g.Awake, g.States["runnable"])))
	found.addEvidence(profile.KindCPU, format.Number(f.cores)+" cores in use")
	found.RuledOut = []RuledOut{{MoreReceivers, "as long as CPU time is the limit, more goroutines do not get more of it."}}
	found.Next = f.afterLimit()
	return found
}

// squeezedIn returns the trace that shows how many goroutines are ready to run:
// the glimpse, or else the trace; or nil.
func (f *facts) squeezedIn() (*profile.Trace, profile.Kind) {
	for _, t := range []struct {
		trace *profile.Trace
		kind  profile.Kind
	}{{f.capture.Glimpse, profile.KindGlimpse}, {f.capture.Trace, profile.KindTrace}} {
		if t.trace != nil && t.trace.Window > 0 {
			return t.trace, t.kind
		}
	}
	return nil, ""
}

// nextStage is the smallest part of the CPU time of the stage that limits the
// service once it gets the CPU time that it needs.
const nextStage = 0.25

// afterLimit names what limits the service with enough CPU time, and the command
// that shows who waits for it.
func (f *facts) afterLimit() string {
	text := "raise its CPU limit, or end what else uses the machine"
	if !f.busy {
		return text + ", then observe it again: the CPU profile has too few samples to show what the service does"
	}
	s := f.stageAfterLimit()
	if s == nil {
		return text + f.waitsShown()
	}
	text += f.nextLimit(s)
	if t := f.capture.Trace; t != nil {
		if send := sendTo(t, s.root); send != nil {
			return text + fmt.Sprintf(". %s goroutines wait for it in %s", format.Number(send.Waited.Seconds()/t.Window.Seconds()), send.Site)
		}
	}
	return text + f.waitsShown()
}

// nextLimit names a stage that limits the service later, in a sentence after a step.
func (f *facts) nextLimit(s *stage) string {
	busy := s.work + s.channel
	return fmt.Sprintf(". The next limit is %s, %s with %s of the CPU time%s%s", profile.Frame{Function: s.root}, format.Plural(s.n, "goroutine"),
		format.Percent(busy/f.cores), f.callsOf(s.root), f.filledAt(s, f.cores*float64(s.n)/busy))
}

// filledAt says from how many cores in use on the goroutines of a stage compute all
// the time: each runs on one core.
func (f *facts) filledAt(s *stage, cores float64) string {
	if cores >= limitsAt {
		return ""
	}
	computes := "it computes"
	if s.n > 1 {
		computes = "they compute"
	}
	text := fmt.Sprintf(": %s all the time once the service uses %.1f cores", computes, cores)
	if f.procs > 0 && cores > float64(f.procs)+0.05 {
		return text + fmt.Sprintf(", more than GOMAXPROCS (%d) allows", f.procs)
	}
	return text + "; more than that takes more goroutines for its work"
}

// limitsAt is a number of cores that machines have: a stage that limits the
// service above it is no limit.
const limitsAt = 16

// waitsShown ends a step with the command that shows who waits for whom, if there
// was no trace.
func (f *facts) waitsShown() string {
	if command := f.command("-trace "); f.capture.Trace == nil && command != "" {
		return ". Who waits for whom: " + command
	}
	return ""
}

// sendTo returns the send with the longest waits that goroutines with this start
// function end, or nil.
func sendTo(t *profile.Trace, root string) *profile.TraceSite {
	for i := range t.Sites { // the longest waits first
		s := &t.Sites[i]
		if s.Op != profile.Send {
			continue
		}
		if from, _ := receiverOf(t, s.Site); from != nil {
			if stage := stageOf(t, *from); stage != nil && stage.Root == root {
				return s
			}
		}
	}
	return nil
}

// stageAfterLimit returns the stage whose goroutines each use the largest part
// of the CPU time, or nil if that is small.
func (f *facts) stageAfterLimit() (most *stage) {
	for i := range f.stages {
		s := &f.stages[i]
		if s.n == 0 || ofRuntime(s.root) || ofNetwork(s.root) || s.work+s.channel < nextStage*f.cores {
			continue
		}
		if most == nil || (s.work+s.channel)*float64(most.n) > (most.work+most.channel)*float64(s.n) {
			most = s
		}
	}
	return most
}
