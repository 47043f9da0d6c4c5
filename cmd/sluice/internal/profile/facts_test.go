package profile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// listed is the number of lines that WriteFacts writes per list.
const listed = 8

// WriteFacts writes the content of c as text.
func (c *Capture) WriteFacts(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n", c.Target)
	fmt.Fprintf(out, "  observed %s, %s, GOMAXPROCS %s, CPUs %s\n",
		known(c.Window > 0, c.Window.Round(time.Millisecond)), known(c.GoVersion != "", c.GoVersion),
		known(c.GOMAXPROCS > 0, c.GOMAXPROCS), known(c.CPUs > 0, c.CPUs))
	c.CPU.write(out)
	c.Metrics.write(out)
	c.Mutex.write(out, "mutex profile: releases of contended locks")
	c.Block.write(out, "block profile: waits")
	c.Goroutines.write(out)
	if c.Leaks != nil {
		fmt.Fprintf(out, "\nleaked goroutines: %d\n", c.Leaks.Total)
		for _, s := range head(c.Leaks.Sites) {
			fmt.Fprintf(out, "  %8d  %s\n", s.In, s.line())
		}
	}
	c.Trace.write(out)
	if len(c.Missing) > 0 {
		fmt.Fprintf(out, "\nmissing\n")
		for _, m := range c.Missing {
			fmt.Fprintf(out, "  %s: %s\n", m.Kind, m.Reason)
		}
	}
	return out.Flush()
}

func known[T any](ok bool, v T) string {
	if !ok {
		return "unknown"
	}
	return fmt.Sprint(v)
}

func head[T any](list []T) []T { return list[:min(len(list), listed)] }

// line formats a Site with its caller.
func (s Site) line() string {
	if s.Caller.Function == "" {
		return s.String()
	}
	return s.String() + ", for " + s.Caller.String()
}

func (c *CPU) write(out io.Writer) {
	if c == nil {
		return
	}
	fmt.Fprintf(out, "\nCPU: %.2f s", c.Total.Seconds())
	if c.Window > 0 {
		fmt.Fprintf(out, ", %.2f cores", c.Cores())
	}
	fmt.Fprintln(out)
	for _, category := range []Category{
		ChannelWork, ChannelLock, AfterPark, Scheduling, Locking, Collecting, Allocating,
		SystemCalls, UserCode, Profiling, OtherRuntime,
	} {
		if d := c.By[category]; d > 0 {
			fmt.Fprintf(out, "  %7.1f%%  %s\n", 100*c.Share(category), category)
		}
	}
	for _, s := range head(c.Sites) {
		fmt.Fprintf(out, "  %7.2f s  %s\n", s.Time.Seconds(), s.line())
	}
}

func (m *Metrics) write(out io.Writer) {
	if m == nil {
		return
	}
	fmt.Fprintf(out, "\nmetrics, %s\n", within(m.Window()))
	if d, ok := m.MutexWait(); ok {
		fmt.Fprintf(out, "  %10.3f s  waited for mutexes and locks of the runtime\n", d.Seconds())
	}
	if n, ok := m.Wakeups(); ok {
		fmt.Fprintf(out, "  %12.0f  goroutines went from runnable to running\n", n)
	}
	if n, ok := m.Cycles(); ok {
		fmt.Fprintf(out, "  %12.0f  collections\n", n)
	}
}

func within(d time.Duration) string {
	if d <= 0 {
		return "since the process started"
	}
	return "in " + d.Round(time.Millisecond).String()
}

func (c *Contentions) write(out io.Writer, title string) {
	if c == nil {
		return
	}
	fmt.Fprintf(out, "\n%s, %s\n", title, within(c.Window))
	for _, s := range head(c.Sites) {
		fmt.Fprintf(out, "  %10.3f s  %9d times  %s\n", s.Delay.Seconds(), s.Count, s.line())
	}
}

func (g *Goroutines) write(out io.Writer) {
	if g == nil {
		return
	}
	fmt.Fprintf(out, "\ngoroutines: %d", g.Total)
	if g.GrowthKnown {
		fmt.Fprintf(out, ", %d before", g.Earlier)
	}
	fmt.Fprintln(out)
	for _, s := range head(g.Sites) {
		var remarks []string
		if g.InKnown && s.In > 0 && g.StatesKnown && s.Waiting != s.In {
			remarks = append(remarks, fmt.Sprintf("%d of them waiting", s.Waiting))
		}
		if s.Longest > 0 {
			remarks = append(remarks, fmt.Sprintf("longest %.0f min", s.Longest.Minutes()))
		}
		text := s.line()
		if len(remarks) > 0 {
			text += ": " + strings.Join(remarks, ", ")
		}
		fmt.Fprintf(out, "  %8d  %s\n", max(s.Count(), s.Runnable), text)
	}
}

func (t *Trace) write(out io.Writer) {
	if t == nil {
		return
	}
	fmt.Fprintf(out, "\ntrace of %s: %d goroutines woken by another\n", t.Window.Round(time.Millisecond), t.Wakeups)
	if t.Truncated {
		fmt.Fprintf(out, "  the file is truncated: figures of the part before the end\n")
	}
	for _, p := range head(t.Pairs) {
		fmt.Fprintf(out, "  %9d times  %s\n%18swoke %s\n", p.Count, p.Waker.line(), "", p.Sleeper.line())
	}
}

func facts(t *testing.T, c *Capture) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.WriteFacts(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// All parts are written, and unknown parts are marked.
func TestFacts(t *testing.T) {
	f := serve(t, nil)
	text := facts(t, watch(t, f.at(t), KindBlock, KindTrace))
	for _, want := range []string{
		f.URL, "observed 1s, go1.26.8, GOMAXPROCS 2, CPUs 2",
		"CPU: 1.00 s, 1.00 cores", "100.0%  channel", "1.00 s  send at main.(*Queue).Put (hot.go:17), for main.producer (hot.go:21)",
		"metrics, in 1s", "1.000 s  waited for mutexes", "8000  goroutines went from runnable",
		"mutex profile", "block profile", "5 times  send at main.(*Queue).Put",
		"goroutines: 7, 10 before", "20  send at main.(*Queue).Put (hot.go:17), for main.producer (hot.go:21): 1 of them waiting, longest 3 min",
		"trace of", "woke ", "missing\n  goroutineleak: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text = facts(t, &Capture{Target: "x", Leaks: &Leaks{Total: 2, Sites: []GoroutineSite{{Site: sendSite, In: 2}}}, Trace: &Trace{Truncated: true}})
	for _, want := range []string{"observed unknown, unknown, GOMAXPROCS unknown, CPUs unknown", "leaked goroutines: 2", "the file is truncated"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestShortName: the version of a module is no package.
func TestShortName(t *testing.T) {
	for function, want := range map[string]string{
		"example.com/cache/v2.(*Cache).Get": "cache.(*Cache).Get", "example.com/v2cache.New": "v2cache.New",
		"gopkg.in/yaml.v3.Unmarshal": "yaml.v3.Unmarshal", "main.main": "main.main", "v2.New": "v2.New", "a/v10.F.func1": "a.F.func1",
	} {
		if got := (Frame{Function: function}).String(); got != want {
			t.Errorf("%s is %s, want %s", function, got, want)
		}
	}
}
