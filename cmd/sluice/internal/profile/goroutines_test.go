package profile

import (
	"strings"
	"testing"
	"time"
)

// hotText has 3 goroutines in a send, two of them runnable, and others.
const hotText = `goroutine 5 [runnable]:
main.(*Queue[...]).Put(...)
	hot.go:17
main.producer(...)
	hot.go:21
created by main.main in goroutine 1
	hot.go:40 +0xb1

goroutine 6 [running]:
main.(*Queue[...]).Put(...)
	hot.go:17 +0x1
main.producer(0xc000012345, {0x1, 0x2})
	hot.go:21 +0x20
created by main.main in goroutine 1
	hot.go:40 +0xb1

goroutine 7 [chan send, 3 minutes]:
main.(*Queue[...]).Put(0x1)
	hot.go:17
main.producer(...)
	hot.go:21
created by main.main in goroutine 1
	hot.go:40 +0xb1

goroutine 8 [chan receive (nil chan), 12 minutes, locked to thread]:
main.stuck()
	hot.go:50 +0x1d
created by main.main in goroutine 1
	hot.go:41 +0xb1

goroutine 9 gp=0xc000 m=3 mp=0x1 [chan receive]:
runtime.gopark(0x1)
	runtime/proc.go:1
runtime.chanrecv2(0x1)
	runtime/chan.go:1
main.consumer()
	hot.go:60 +0x1d

goroutine 10 [IO wait]:
internal/poll.runtime_pollWait(0x7fcdab68ae00, 0x72)
	runtime/netpoll.go:351 +0x85
net.(*conn).Read(0x0)
	net/net.go:1
main.serve()
	hot.go:70 +0x1

goroutine 21 [running]:
runtime/pprof.writeGoroutineStacks({0x7ad9c0, 0x22f688f854a0})
	runtime/pprof/pprof.go:819 +0x6b
`

func readText(t *testing.T, text string) *Goroutines {
	t.Helper()
	g, err := readGoroutineText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func find(t *testing.T, sites []GoroutineSite, op Op, function string) GoroutineSite {
	t.Helper()
	for _, s := range sites {
		if s.Op == op && s.At.Function == function {
			return s
		}
	}
	t.Fatalf("no %q at %s in %+v", op, function, sites)
	return GoroutineSite{}
}

func TestText(t *testing.T) {
	g := readText(t, hotText)
	if g.Total != 7 || g.States["running"] != 2 || g.States["chan receive"] != 2 || !g.StatesKnown || g.InKnown {
		t.Errorf("%d goroutines in states %v", g.Total, g.States)
	}
	waiting := find(t, g.Sites, Send, "main.(*Queue).Put")
	if waiting.Site != sendSite || waiting.Waiting != 1 || waiting.Longest != 3*time.Minute || waiting.Root != "main.producer" {
		t.Errorf("%+v", waiting)
	}
	if want := (Frame{"main.main", "hot.go", 40}); waiting.CreatedBy != want {
		t.Errorf("created by %v, want %v", waiting.CreatedBy, want)
	}
	forever := readText(t, "goroutine 1 [select (no cases), 7 minutes]:\nmain.main()\n\tm.go:1 +0x1\n")
	if s := find(t, forever.Sites, Forever, "main.main"); s.Waiting != 1 || s.Op.Channel() {
		t.Errorf("%+v", s)
	}
	// A runnable goroutine shows no frames of the runtime; only the other form
	// has its operation.
	if s := find(t, g.Sites, Other, "main.(*Queue).Put"); s.Runnable != 2 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
	if s := find(t, g.Sites, Receive, "main.stuck"); !s.NilChan || s.Longest != 12*time.Minute {
		t.Errorf("%+v", s)
	}
	if s := find(t, g.Sites, IO, "main.serve"); s.Waiting != 1 {
		t.Errorf("%+v", s)
	}
	for _, s := range g.Sites {
		if strings.HasPrefix(s.At.Function, "runtime") {
			t.Errorf("the goroutine that takes the profile is listed: %+v", s)
		}
	}
}

// All goroutines with chansend in their stacks may be runnable.
func TestInIsNotWaiting(t *testing.T) {
	stacks, err := readGoroutines(goroutineDrawing(
		there(64, append([]string{"runtime.gopark", "runtime.chansend"}, sendStack...)...),
		there(1, "runtime.gopark", "runtime.chanrecv", "runtime.chanrecv2", "main.consumer hot.go:60"),
	).profile())
	if err != nil {
		t.Fatal(err)
	}
	if s := stacks.Sites[0]; s.In != 64 || s.Waiting != 0 || s.Runnable != 0 {
		t.Errorf("by stacks %+v", s)
	}
	runnable := strings.Repeat("goroutine 5 [runnable]:\nmain.(*Queue[...]).Put(...)\n\thot.go:17\nmain.producer(...)\n\thot.go:21\n\n", 64)
	text := readText(t, runnable+"goroutine 9 [chan receive, 2 minutes]:\nmain.consumer()\n\thot.go:60 +0x1\n")
	g := stacks.join(text)
	if s := find(t, g.Sites, Send, "main.(*Queue).Put"); s.In != 64 || s.Waiting != 0 || s.Runnable != 64 {
		t.Errorf("joined %+v", s)
	}
	// The state is receive, the stack shows a range loop.
	if s := find(t, g.Sites, Range, "main.consumer"); s.In != 1 || s.Waiting != 1 || s.Longest != 2*time.Minute {
		t.Errorf("joined %+v", s)
	}
	if len(g.Sites) != 2 || !g.InKnown || !g.StatesKnown {
		t.Errorf("%+v", g)
	}
	if stacks.join(nil) != stacks || (*Goroutines)(nil).join(text) != text {
		t.Error("a single form was changed")
	}
}

func TestGrowth(t *testing.T) {
	read := func(n int64) *Goroutines {
		g, err := readGoroutines(goroutineDrawing(there(n, sendStack...)).profile())
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := read(30)
	g.since(read(10), time.Second)
	if s := g.Sites[0]; s.Earlier != 10 || s.Count() != 30 || g.Earlier != 10 || !g.GrowthKnown || g.Apart != time.Second {
		t.Errorf("%+v of %+v", s, g)
	}
}

func TestHeaders(t *testing.T) {
	for line, want := range map[string]string{
		"goroutine 1 [running]:":                                                 "running",
		"goroutine 1 [chan send (scan)]:":                                        "chan send",
		"goroutine 1 [chan receive (leaked)]:":                                   "chan receive",
		"goroutine 1 [select (no cases), 2 minutes]:":                            "select",
		"goroutine 1 [select (durable), synctest bubble 4]:":                     "select",
		"goroutine 18446744073709551615 [select, 99999999999999999999 minutes]:": "select",
	} {
		g, ok := parseHeader(line)
		if !ok || g.state != want || g.waited < 0 || g.waited > 2*time.Minute {
			t.Errorf("%s: %+v, %v", line, g, ok)
		}
	}
	for _, line := range []string{"", "goroutine", "goroutine x [running]:", "goroutine 1 [running", "goroutine 1 running]:", "goroutine 1 [running]", "goroutine profile: total 7"} {
		if _, ok := parseHeader(line); ok {
			t.Errorf("%q was parsed as a header", line)
		}
	}
}

// Text that no service writes is read safely.
func TestHostileText(t *testing.T) {
	long := "goroutine 1 [select]:\nmain.f(" + strings.Repeat("x", 10*maxLine) + ")\n\tm.go:99999999999999999999\nmain.g()\n\tm.go\ncreated by\n" +
		strings.Repeat("main.deep()\n", 2*maxFrames) + "\t\n)\n(\n"
	g := readText(t, long)
	if s := find(t, g.Sites, Select, "main.g"); g.Total != 1 || s.At.Line != 0 {
		t.Errorf("%+v", s)
	}
	if _, err := readGoroutineText(strings.NewReader("nothing\n")); err == nil {
		t.Error("a text without goroutines was accepted")
	}
}

func TestImpossibleGoroutines(t *testing.T) {
	for name, d := range map[string]drawing{
		"negative": goroutineDrawing(there(-1, sendStack...)),
		"too many": goroutineDrawing(there(maxGoroutines, sendStack...), there(1, sendStack...)),
		"huge":     goroutineDrawing(there(1<<62, sendStack...)),
	} {
		if _, err := readGoroutines(d.profile()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
