package doctor

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/livepage"
)

// working is a service that uses this many cores, with this part of its CPU
// time in its own code, and the rest in a send.
func working(cores, own float64) *profile.Capture {
	return service(cpu(cores, shares{profile.UserCode: own, profile.ChannelWork: 1 - own}, on{send, 1 - own, 0, 0}))
}

// TestCompare: costs are per second of own code, so a different load alone is no
// difference.
func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		before, after *profile.Capture
		want          Change
		says          string
	}{
		"the same":         {working(1, 0.5), working(1, 0.5), Same, "about as much CPU time"},
		"twice the load":   {working(0.9, 0.5), working(1.8, 0.5), Same, "about as much CPU time as before; its own code runs ×2 as much, which is"},
		"cheaper channels": {working(1, 0.25), working(1, 0.9), Cheaper, "takes 72% less CPU time than before: less in channels; its own code runs ×3.6 as much, which is a higher throughput, or a higher load."},
		"dearer channels":  {working(1, 0.9), working(1, 0.25), Dearer, "takes ×3.6 the CPU time of before: more in channels."},
		"a fifth":          {working(1, 0.50), working(1, 0.59), Same, "about as much CPU time"},
		"idle":             {working(1, 0.5), working(0.01, 0.5), Unclear, "the one after has too little CPU time"},
		"nothing":          {service(), working(1, 0.5), Unclear, "the one before has too little CPU time"},
	} {
		c := Compare(test.before, test.after, Reference())
		if c.Change != test.want || !strings.Contains(c.Answer, test.says) {
			t.Errorf("%s: %s: %s", name, c.Change, c.Answer)
		}
	}
}

// TestCompareWakeups: a remedy for waits shows in wake-ups, also where it saves no CPU time.
func TestCompareWakeups(t *testing.T) {
	woken := func(n int64) *profile.Capture {
		c := working(1, 0.5)
		c.Glimpse = &profile.Trace{Window: secs(0.1), Running: secs(0.1), Wakeups: n}
		return c
	}
	var b strings.Builder
	if err := Compare(woken(43_600), woken(3_830), Reference()).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if want := "Goroutines were woken 436 k times per second before, and 38.3 k after."; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, &b)
	}
}

// TestCompareOperations: an operation is the same on another line, and a range is
// a receive.
func TestCompareOperations(t *testing.T) {
	moved, loop := send, receive
	moved.At.Line++
	loop.Op = profile.Receive
	of := func(sent, received profile.Site, s, r float64) *profile.Capture {
		return service(cpu(2, shares{profile.UserCode: 0.5, profile.ChannelWork: 0.5}, on{sent, s, 0, 0}, on{received, r, 0, 0}))
	}
	c := Compare(of(send, receive, 0.4, 0.1), of(moved, loop, 0.15, 0.1), Reference())
	if len(c.Operations) != 1 || c.Operations[0].Name != "send in q.(*Bus).Put" || c.Operations[0].After >= c.Operations[0].Before {
		t.Errorf("%+v", c.Operations)
	}
	sum := 0.0
	for _, cost := range c.Costs[1:] {
		sum += cost.Before
	}
	near(t, "the costs in total", &sum, c.Costs[0].Before)
	var text strings.Builder
	if err := c.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"send in q.(*Bus).Put", "-62%", "before: ", "after: ", "Own code used 1 cores before and 1 after (×1)"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if n := strings.Count(text.String(), "\n"); n > screenLines {
		t.Errorf("%d lines:\n%s", n, text.String())
	}
}

// TestCompareTooLittle: a capture without enough CPU time is named with the reason and
// what to do about it, and no diagnosis follows.
func TestCompareTooLittle(t *testing.T) {
	idle := service(cpu(0.03, shares{profile.UserCode: 1}))
	for name, test := range map[string]struct {
		before, after *profile.Capture
		want          string
	}{
		"little load":     {idle, working(1, 0.5), "The two captures cannot be compared: the one before has too little CPU time (0.03 cores in use, below the minimum of 0.10). Capture both under load."},
		"other processes": {working(1, 0.5), starvedBy(t, "few-samples"), "The two captures cannot be compared: the one after has too little CPU time (16 samples in the CPU profile, below the minimum of 30). Capture both for longer, or when other processes use less."},
		"no own code":     {service(cpu(1, shares{profile.ChannelWork: 1}, on{send, 1, 0, 0})), working(1, 0.5), "The two captures cannot be compared: the one before has too little CPU time (none of it in the program's own code). Capture both under load."},
	} {
		if c := Compare(test.before, test.after, Reference()); c.Answer != test.want || c.Change != Unclear {
			t.Errorf("%s: %s", name, c.Answer)
		}
	}
	if d := Diagnose(idle, Reference()); d.Sparse() != "0.03 cores in use, below the minimum of 0.10" {
		t.Error(d.Sparse())
	}
	if d := Diagnose(working(1, 0.5), Reference()); d.Sparse() != "" {
		t.Error(d.Sparse())
	}
}

// TestCompareParts: channels may cost clearly less although no operation has the
// samples to show it; then the operations are not said to be unchanged.
func TestCompareParts(t *testing.T) {
	of := func(channels float64) *profile.Capture {
		return service(cpu(0.2, shares{profile.UserCode: 1 - channels, profile.ChannelWork: channels}, on{send, channels / 2, 0, 0}, on{receive, channels / 2, 0, 0}))
	}
	var text strings.Builder
	c := Compare(of(0.1), of(0.025), Reference())
	if err := c.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(text.String()), " ")
	if !c.Costs[1].Clear || len(c.Operations) > 0 || strings.Contains(flat, "No clear change") || !strings.Contains(flat, "Too few samples to tell the change of each operation: ") {
		t.Errorf("channels %+v, operations %+v:\n%s", c.Costs[1], c.Operations, text.String())
	}
}

// TestCompareStrangers: two services have no operation in common.
func TestCompareStrangers(t *testing.T) {
	other := service(cpu(1, shares{profile.UserCode: 0.5, profile.ChannelWork: 0.5}, on{at(profile.Send, "elsewhere"), 0.5, 0, 0}))
	const doubt = "are they of the same service?"
	if c := Compare(working(1, 0.5), other, Reference()); !strings.Contains(c.Answer, doubt) {
		t.Error(c.Answer)
	}
	if c := Compare(working(1, 0.5), working(1, 0.6), Reference()); strings.Contains(c.Answer, doubt) {
		t.Error(c.Answer)
	}
}

// TestCompareChannels: rates of channels are compared by their names, unless a
// name is used twice.
func TestCompareChannels(t *testing.T) {
	flow := func(names ...string) *profile.Capture {
		c := working(1, 0.5)
		c.Flow = &livepage.Flow{}
		for i, name := range names {
			c.Flow.Channels = append(c.Flow.Channels, livepage.FlowChannel{Name: name, ReceivedRate: known(1000 * float64(i+1))})
		}
		return c
	}
	c := Compare(flow("lines", "events", "a", "a"), flow("events", "lines", "a"), Reference())
	if len(c.Channels) != 2 || c.Channels[0].Name != "lines" || value(c.Channels[0].Before) != 1000 || value(c.Channels[0].After) != 2000 {
		t.Errorf("%+v", c.Channels)
	}
	var text strings.Builder
	if err := c.WriteText(&text); err != nil || !strings.Contains(text.String(), "Channel lines: 1.00 k/s before, 2.00 k/s after.") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestCompareMoves: an operation in another function is said to have moved, if
// nothing else can be meant; one that disappeared is named with the part of the
// CPU time that rose.
func TestCompareMoves(t *testing.T) {
	type ops = map[string]float64 // sends, by function
	of := func(locking float64, sends ops) *profile.Capture {
		var sites []on
		work := 0.0
		for name, share := range sends {
			sites = append(sites, on{at(profile.Send, name), share, 0, 0})
			work += share
		}
		return service(cpu(2, shares{profile.UserCode: 0.3, profile.ChannelWork: work, profile.Locking: locking, profile.OtherRuntime: 0.7 - work - locking}, sites...))
	}
	for name, test := range map[string]struct {
		before, after *profile.Capture
		notes         []string
		unclear       int
	}{
		"renamed type":    {of(0, ops{"(*Bus).Put": 0.3}), of(0, ops{"(*Queue).Put": 0.31}), []string{"moved to send in q.(*Queue).Put"}, 0},
		"renamed method":  {of(0, ops{"(*Bus).Put": 0.3, "log": 0.1}), of(0, ops{"(*Bus).Give": 0.31, "log": 0.1}), []string{"moved to send in q.(*Bus).Give"}, 1},
		"two may be it":   {of(0, ops{"(*Bus).Put": 0.3, "log": 0.1}), of(0, ops{"give": 0.2, "hand": 0.2, "log": 0.1}), []string{"no longer seen", "not seen before", "not seen before"}, 1},
		"another cost":    {of(0, ops{"(*Bus).Put": 0.3, "log": 0.1}), of(0, ops{"give": 0.1, "log": 0.1}), []string{"no longer seen; its cost may have gone to rest of the runtime (0.67 s more)", "not seen before"}, 1},
		"a mutex instead": {of(0, ops{"(*Bus).Put": 0.3, "log": 0.1}), of(0.4, ops{"log": 0.1}), []string{"no longer seen; its cost may have gone to package sync (1.33 s more)"}, 1},
		"as before":       {of(0, ops{"(*Bus).Put": 0.3, "log": 0.1}), of(0, ops{"(*Bus).Put": 0.31, "log": 0.1}), nil, 2},
	} {
		c := Compare(test.before, test.after, Reference())
		var notes []string
		for _, one := range c.Operations {
			notes = append(notes, one.Note)
		}
		slices.Sort(notes)
		if !slices.Equal(notes, test.notes) || len(c.Unclear) != test.unclear {
			t.Errorf("%s: %q, unclear %+v", name, notes, c.Unclear)
		}
		var text strings.Builder
		if err := c.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(text.String()), " ")
		for _, note := range notes {
			if says := map[string]string{noLonger: " gone", notBefore: " new"}[note]; !strings.Contains(flat, cmp.Or(says, note)) {
				t.Errorf("%s: no %q in\n%s", name, note, text.String())
			}
		}
		if said := strings.Contains(flat, "No clear change: send in q.") && strings.Contains(flat, "send in q.log"); said != (test.unclear > 0) {
			t.Errorf("%s:\n%s", name, text.String())
		}
		if n := strings.Count(text.String(), "\n"); n > screenLines {
			t.Errorf("%s: %d lines:\n%s", name, n, text.String())
		}
		if strings.Contains(c.Answer, "are they of the same service") {
			t.Errorf("%s: %s", name, c.Answer)
		}
	}
}
