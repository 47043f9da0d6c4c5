package doctor

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestTraceAlone reads traces of real services. The gains of the remedies were
// measured: more receivers gave ×1.99 and ×3.75; see bench/doctorlab.
func TestTraceAlone(t *testing.T) {
	for name, want := range map[string]struct {
		verdict Verdict
		answer  string
		gain    float64 // measured; 0 if no remedy is expected
	}{
		"held": {No, "The receivers are the problem, not the channels. Backpressure from a slow receiver: goroutines wait in send at " +
			"main.(*encoder).source (encoder.go:40) for the range at main.(*encoder).encode (encoder.go:45), which computes all the time.", 1.99},
		"outside": {No, "The receivers are the problem, not the channels. Backpressure from a slow receiver: goroutines wait in send at " +
			"main.(*uploader).source (uploader.go:51) for the range at main.(*uploader).upload (uploader.go:63), " +
			"which itself waits mostly at the I/O at main.(*uploader).upload (uploader.go:68).", 3.75},
		"leaving": {Undetermined, "Unclear whether channels are the problem. Goroutines wait in send at main.(*quotes).ask (quotes.go:77), and no goroutine received from them. " + addCPU, 0},
	} {
		capture, err := profile.Open(filepath.Join("testdata", name+".trace"))
		if err != nil {
			t.Fatal(err)
		}
		d := Diagnose(capture, Reference())
		if d.Verdict != want.verdict || d.Answer != want.answer || len(d.Findings) != 1 {
			t.Fatalf("%s: %s: %s\n%+v", name, d.Verdict, d.Answer, d.Findings)
		}
		switch best := d.Findings[0].Best(); {
		case want.gain == 0 && (best != nil || d.Findings[0].Confidence != Low):
			t.Errorf("%s: %+v", name, d.Findings[0])
		case want.gain > 0 && (best == nil || best.Name != MoreReceivers || want.gain < best.Gain.Low || want.gain > best.Gain.High):
			t.Errorf("%s: measured x%.2f, predicted %+v", name, want.gain, best)
		}
	}
}

// TestTracedVerdict: a trace alone decides where it excludes the rest, and says
// so where it does not.
func TestTracedVerdict(t *testing.T) {
	alone := func(window, running time.Duration, wakeups int64) part {
		return func(c *profile.Capture) {
			c.Window, c.Trace = window, &profile.Trace{Window: window, Running: running, Wakeups: wakeups}
		}
	}
	for name, test := range map[string]struct {
		parts []part
		want  Verdict
		says  string
	}{
		"computes":           {[]part{alone(time.Second, 1900*ms, 900)}, No, "not the problem during this trace of 1 s: 1.90 cores were in use"},
		"waits to send":      {[]part{alone(time.Second, 1900*ms, 900), waited(send, 9, 100*ms)}, Undetermined, "does not show whether channels are the problem"},
		"wakes often":        {[]part{alone(time.Second, 1900*ms, 400_000)}, Undetermined, "wake-ups took 3% of the running time"},
		"wakes less often":   {[]part{alone(time.Second, 1900*ms, 370_000)}, No, "wake-ups took 3% of the running time"},
		"too short":          {[]part{alone(19*ms, 36*ms, 9)}, Undetermined, "does not show"},
		"long enough":        {[]part{alone(20*ms, 38*ms, 9)}, No, "not the problem"},
		"hardly runs":        {[]part{alone(time.Second, 90*ms, 9)}, Idle, "Too little load to tell from this trace"},
		"with a CPU profile": {[]part{alone(time.Second, 90*ms, 9), cpu(1.9, shares{profile.UserCode: 1})}, No, "CPU bound"},
	} {
		if d := diagnose(test.parts...); d.Verdict != test.want || !strings.Contains(strings.ToLower(d.Answer), strings.ToLower(test.says)) {
			t.Errorf("%s: %s: %s", name, d.Verdict, d.Answer)
		}
	}
}

// TestTracedGains: a remedy needs idle cores, or wake-ups that are a large part
// of the running time.
func TestTracedGains(t *testing.T) {
	behind := func(cores int, stage profile.Stage, waits profile.Op) *Remedy {
		d := diagnose(func(c *profile.Capture) {
			c.GOMAXPROCS, c.CPUs = cores, cores
			c.Trace = &profile.Trace{Window: time.Second, Running: stage.Running + 100*ms, Pairs: []profile.Pair{{Waker: receive, Sleeper: send, Count: 90}}}
		}, waited(at(waits, "consume"), 9, 900*ms), waited(send, 9, 600*ms), stagesOf(stage))
		return d.found(Backpressure).Best()
	}
	busy, idle := profile.Stage{Root: "consume", Count: 1, Running: 990 * ms}, profile.Stage{Root: "consume", Count: 1, Running: 50 * ms}
	if r := behind(4, busy, profile.Sleep); r == nil || r.Name != MoreReceivers || r.Gain.High < 3.6 || r.Gain.High > 4.8 || r.Gain.Low < 1.5 {
		t.Errorf("one core of four: %+v", r)
	}
	if r := behind(1, busy, profile.Sleep); r != nil {
		t.Errorf("no idle core: %+v", r)
	}
	if r := behind(2, profile.Stage{Root: "consume", Count: 2, Running: 1900 * ms}, profile.Sleep); r != nil {
		t.Errorf("a goroutine for each core: %+v", r)
	}
	if r := behind(2, idle, profile.IO); r == nil || r.Name != MoreReceivers || r.Gain.Mid != 4 {
		t.Errorf("in I/O: %+v", r)
	}
	if r := behind(2, idle, profile.Receive); r != nil {
		t.Errorf("waits for another channel: %+v", r)
	}
	turns := func(running time.Duration) *Diagnosis {
		return diagnose(func(c *profile.Capture) {
			c.Trace = &profile.Trace{Window: time.Second, Running: running, Pairs: []profile.Pair{{Waker: send, Sleeper: receive, Count: 1_000_000}}}
		}, waited(send, 2000, 100*ms), waited(receive, 2000, 200*ms))
	}
	// A million wake-ups per second take 0.152 cores.
	if d := turns(1010 * ms); d.Verdict != Yes || d.Findings[0].Best().Name != Batch || !(d.Findings[0].Best().Gain.Low > 1.05 && d.Findings[0].Best().Gain.High < 2) {
		t.Errorf("15%% in wake-ups: %s, %+v", d.Verdict, d.Findings)
	}
	if d := turns(1020 * ms); d.Verdict != Undetermined || d.Findings[0].Best() != nil {
		t.Errorf("less than 15%% in wake-ups: %s, %+v", d.Verdict, d.Findings)
	}
}

// stagesOf adds stages to a trace of one second.
func stagesOf(all ...profile.Stage) part {
	return func(c *profile.Capture) {
		for _, s := range all {
			s.Root = "example.com/q." + s.Root
			c.Trace.Stages = append(c.Trace.Stages, s)
		}
	}
}

// waited adds waits at a site to a trace of one second.
func waited(site profile.Site, parks int64, together time.Duration) part {
	return func(c *profile.Capture) {
		if c.Trace == nil {
			woke()(c)
		}
		c.Trace.Sites = append(c.Trace.Sites, profile.TraceSite{Site: site, Parks: parks, Waited: together})
	}
}

const ms = time.Millisecond

// TestBackpressure: on average half a goroutine waits to send, and the text
// reports what the receiver does meanwhile.
func TestBackpressure(t *testing.T) {
	taken := func(c *profile.Capture) {
		c.Trace.Pairs = []profile.Pair{{Waker: send, Sleeper: receive, Count: 900}, {Waker: receive, Sleeper: send, Count: 90}, {Waker: choose, Sleeper: send, Count: 9}}
	}
	selected := func(c *profile.Capture) { c.Trace.Pairs = []profile.Pair{{Waker: choose, Sleeper: send, Count: 9}} }
	runs := func(d time.Duration) part { return stagesOf(profile.Stage{Root: "consume", Count: 2, Running: d}) }
	ready := func(running, runnable time.Duration) part {
		return stagesOf(profile.Stage{Root: "consume", Count: 2, Running: running, Runnable: runnable})
	}
	outside := at(profile.IO, "consume")
	for name, test := range map[string]struct {
		parts []part
		text  string // "" for no finding
	}{
		"half":                     {[]part{waited(send, 9, 500*ms), taken}, "Backpressure from a slow receiver: goroutines wait in send at q.(*Bus).Put (q.go:10) for the range at q.consume (q.go:7). "},
		"less":                     {[]part{waited(send, 9, 499*ms), taken}, ""},
		"to receive":               {[]part{waited(receive, 9, 900*ms), taken}, ""},
		"by a select":              {[]part{waited(send, 9, 500*ms), selected}, "the select at q.(*hub).loop"},
		"no receiver":              {[]part{waited(send, 9, 500*ms)}, "no goroutine received from them"},
		"CPU-bound receiver":       {[]part{waited(send, 9, 500*ms), taken, runs(1500 * ms)}, "(q.go:7), which computes all the time"},
		"receiver with pauses":     {[]part{waited(send, 9, 500*ms), taken, runs(1499 * ms)}, "(q.go:7), which computes for 75% of the time."},
		"receiver without a core":  {[]part{waited(outside, 9, 600*ms), waited(send, 9, 500*ms), taken, ready(40*ms, 1240*ms)}, "(q.go:7), which is ready to run for 62% of the time, and gets no core."},
		"wait in the runtime":      {[]part{waited(at(profile.Other, "consume"), 9, 600*ms), waited(send, 9, 500*ms), taken, runs(ms)}, "consume (q.go:7). "},
		"receiver in I/O":          {[]part{waited(outside, 9, 600*ms), waited(send, 9, 500*ms), taken, waited(receive, 9, 400*ms), runs(ms)}, "which itself waits mostly at the I/O at q.consume"},
		"receiver waits for sends": {[]part{waited(send, 9, 600*ms), taken, waited(receive, 9, 500*ms), waited(outside, 9, 400*ms), runs(ms)}, "consume (q.go:7). "},
		"with a CPU profile":       {[]part{waited(send, 9, 500*ms), taken, cpu(1, shares{profile.UserCode: 1})}, ""},
	} {
		d := diagnose(test.parts...)
		f := d.found(Backpressure)
		if (f != nil) != (test.text != "") || f != nil && (!strings.Contains(f.Text, test.text) || f.At.Function != send.At.Function || f.Best() == nil && d.Verdict != Undetermined) {
			t.Errorf("%s: %s, %+v", name, d.Verdict, f)
		}
	}
	d := diagnose(waited(send, 9, 500*ms), taken, stagesOf(profile.Stage{Root: "consume", Count: 2, Running: 400 * ms, Runnable: 200 * ms, Waiting: 1200 * ms}))
	if text := evidence(d.found(Backpressure)); !strings.Contains(text, "0.50 goroutines wait there on average: 9 waits began, and 0 had not ended") ||
		!strings.Contains(text, "woke them 90 times") || !strings.Contains(text, "2 goroutines of q.consume: running for 20% of the trace, runnable for 10%, waiting for 60%") {
		t.Error(text)
	}
}

// TestBackpressureAtLittleLoad: if the service uses too few cores for its costs to
// matter, the trace explains the waits also beside a CPU profile, and comes first.
func TestBackpressureAtLittleLoad(t *testing.T) {
	taken := func(c *profile.Capture) { c.Trace.Pairs = []profile.Pair{{Waker: receive, Sleeper: send, Count: 90}} }
	for channels, want := range map[float64]Verdict{0.02: No, 0.4: Partly} {
		costs := cpu(0.3, shares{profile.ChannelWork: channels, profile.UserCode: 1 - channels}, on{send, channels / 2, 0, 0}, on{receive, channels / 2, 0, 0})
		d := diagnose(costs, waited(send, 9, 5*time.Second), taken)
		if d.Verdict != want || len(d.Findings) == 0 || d.Findings[0].Kind != Backpressure || strings.Contains(d.Answer, addCPU) {
			t.Errorf("%v: %s: %s\n%+v", channels, d.Verdict, d.Answer, d.Findings)
		}
	}
}

// TestAlternatingWaits: both ends wait, often.
func TestAlternatingWaits(t *testing.T) {
	of := func(wakeups, sends, receives int64) *Diagnosis {
		return diagnose(func(c *profile.Capture) {
			c.Trace = &profile.Trace{Window: time.Second, Running: 2 * time.Second, Pairs: []profile.Pair{{Waker: send, Sleeper: receive, Count: wakeups - 1}, {Waker: receive, Sleeper: send, Count: 1}}}
		}, waited(send, sends, 100*ms), waited(receive, receives, 200*ms))
	}
	for _, test := range []struct {
		wakeups, sends, receives int64
		want                     bool
	}{{4000, 2000, 2000, true}, {3999, 2000, 2000, false}, {4000, 2000, 100, true}, {4000, 2000, 99, false}, {4000, 99, 2000, false}} {
		d := of(test.wakeups, test.sends, test.receives)
		if f := d.found(AlternatingWaits); (f != nil) != test.want || d.Verdict != Undetermined {
			t.Errorf("%+v: %s, %+v", test, d.Verdict, f)
		}
	}
	d := of(1_000_000, 2000, 1000)
	if text := evidence(d.found(AlternatingWaits)); !strings.Contains(text, "1 M times per second, which takes 152 ns per wake-up and 0.15 cores") ||
		!strings.Contains(text, "2000 waits to send, 100 ms in total, and 1000 waits to receive, 200 ms in total") {
		t.Error(text)
	}
	if !strings.HasPrefix(d.Answer, "Unclear whether channels are the problem. Sender and receiver wait for each other alternately: send at") {
		t.Error(d.Answer)
	}
	if d := diagnose(func(c *profile.Capture) {
		c.Trace = &profile.Trace{Window: time.Second, Pairs: []profile.Pair{{Waker: send, Sleeper: receive, Count: 9000}}}
	}, waited(receive, 9000, 200*ms)); d.found(AlternatingWaits) != nil {
		t.Error("no goroutine waited to send")
	}
}
