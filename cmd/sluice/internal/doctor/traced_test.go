package doctor

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestTraceAlone reads traces of real services.
func TestTraceAlone(t *testing.T) {
	for name, want := range map[string]string{
		"held": "Unclear whether channels are the problem. Backpressure from a slow receiver: goroutines wait in send at " +
			"main.(*encoder).source (encoder.go:40) for the range at main.(*encoder).encode (encoder.go:45), which computes all the time. " + addCPU,
		"outside": "Unclear whether channels are the problem. Backpressure from a slow receiver: goroutines wait in send at " +
			"main.(*uploader).source (uploader.go:51) for the range at main.(*uploader).upload (uploader.go:63), " +
			"which itself waits mostly at the I/O at main.(*uploader).upload (uploader.go:68). " + addCPU,
		"leaving": "Unclear whether channels are the problem. Goroutines wait in send at main.(*quotes).ask (quotes.go:77), and no goroutine received from them. " + addCPU,
	} {
		capture, err := profile.Open(filepath.Join("testdata", name+".trace"))
		if err != nil {
			t.Fatal(err)
		}
		d := Diagnose(capture, Reference())
		if d.Verdict != Undetermined || d.Answer != want || len(d.Findings) != 1 || d.Findings[0].Confidence != Low || len(d.Findings[0].Remedies) > 0 {
			t.Errorf("%s: %s: %s\n%+v", name, d.Verdict, d.Answer, d.Findings)
		}
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
		"receiver with pauses":     {[]part{waited(send, 9, 500*ms), taken, runs(1499 * ms)}, "consume (q.go:7). "},
		"receiver in I/O":          {[]part{waited(outside, 9, 600*ms), waited(send, 9, 500*ms), taken, waited(receive, 9, 400*ms), runs(ms)}, "which itself waits mostly at the I/O at q.consume"},
		"receiver waits for sends": {[]part{waited(send, 9, 600*ms), taken, waited(receive, 9, 500*ms), waited(outside, 9, 400*ms), runs(ms)}, "consume (q.go:7). "},
		"with a CPU profile":       {[]part{waited(send, 9, 500*ms), taken, cpu(1, shares{profile.UserCode: 1})}, ""},
	} {
		d := diagnose(test.parts...)
		f := d.found(Backpressure)
		if (f != nil) != (test.text != "") || f != nil && (!strings.Contains(f.Text, test.text) || f.At.Function != send.At.Function || d.Verdict != Undetermined) {
			t.Errorf("%s: %s, %+v", name, d.Verdict, f)
		}
	}
	d := diagnose(waited(send, 9, 500*ms), taken, stagesOf(profile.Stage{Root: "consume", Count: 2, Running: 400 * ms, Runnable: 200 * ms, Waiting: 1200 * ms}))
	if text := evidence(d.found(Backpressure)); !strings.Contains(text, "0.50 goroutines wait there on average: 9 waits began, and 0 had not ended") ||
		!strings.Contains(text, "woke them 90 times") || !strings.Contains(text, "2 goroutines of q.consume: running for 20% of the trace, runnable for 10%, waiting for 60%") {
		t.Error(text)
	}
}

// TestAlternatingWaits: both ends wait, often.
func TestAlternatingWaits(t *testing.T) {
	of := func(wakeups, sends, receives int64) *Diagnosis {
		return diagnose(func(c *profile.Capture) {
			c.Trace = &profile.Trace{Window: time.Second, Pairs: []profile.Pair{{Waker: send, Sleeper: receive, Count: wakeups - 1}, {Waker: receive, Sleeper: send, Count: 1}}}
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
