package profile

import (
	"bytes"
	"strings"
	"testing"
)

func facts(t *testing.T, c *Capture) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.WriteFacts(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What is there is written, part by part; what is not known is said so.
func TestFacts(t *testing.T) {
	f := serve(t, nil)
	text := facts(t, watch(t, f.at(t), KindBlock, KindTrace))
	for _, want := range []string{
		f.URL, "watched 1s, go1.26.8, GOMAXPROCS 2, CPUs 2",
		"CPU: 1.00 s, 1.00 cores", "100.0 %  channel", "1.00 s  send at main.(*Queue).Put (hot.go:17), for main.producer (hot.go:21)",
		"metrics, in 1s", "1.000 s  waited for mutexes", "8000  goroutines went from runnable",
		"mutex profile", "block profile", "5 times  send at main.(*Queue).Put",
		"goroutines: 7, 10 before", "20  send at main.(*Queue).Put (hot.go:17), for main.producer (hot.go:21): 1 of them waiting, longest 3 min",
		"trace of", "woke ", "not there\n  goroutineleak: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text = facts(t, &Capture{Target: "x", Leaks: &Leaks{Total: 2, Sites: []GoroutineSite{{Site: sendSite, In: 2}}}, Trace: &Trace{Truncated: true}})
	for _, want := range []string{"watched not known, not known, GOMAXPROCS not known, CPUs not known", "leaked goroutines: 2", "was cut off"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
