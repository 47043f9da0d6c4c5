package profile

import (
	"strings"
	"testing"
	"time"
)

func TestPlain(t *testing.T) {
	for name, want := range map[string]string{
		"main.producer":                                 "main.producer",
		"main.(*Queue[go.shape.int]).Put":               "main.(*Queue).Put",
		"main.(*Queue[...]).Put":                        "main.(*Queue).Put",
		"main.Map[go.shape.[]uint8,go.shape.int].func1": "main.Map.func1",
		"main.broken[":                                  "main.broken",
		"main.(*Queue[...]).Put-range1":                 "main.(*Queue).Put",
		"main.read.func2-range12":                       "main.read.func2",
		"main.read-ranger":                              "main.read-ranger",
		"":                                              "",
		"main.a]b[int]c":                                "main.abc",
	} {
		if got := plain(name); got != want {
			t.Errorf("plain(%q) = %q, want %q", name, got, want)
		}
	}
}

// Every operation in each form of profile.
func TestPlace(t *testing.T) {
	put := "example.com/q.(*Queue).Put q.go:7"
	for _, test := range []struct {
		name  string
		stack []string
		want  string // op at function < caller
		root  string
	}{
		{"send, CPU", []string{"runtime.procyieldAsm", "runtime.procyield", "runtime.lock2", "runtime.chansend", "runtime.chansend1", put, "main.main m.go:1", "runtime.main", "runtime.goexit"}, "send example.com/q.(*Queue).Put < main.main", "main.main"},
		{"send, parked", []string{"runtime.gopark", "runtime.chansend", "runtime.chansend1", put}, "send example.com/q.(*Queue).Put < ", "example.com/q.(*Queue).Put"},
		{"receive", []string{"runtime.chanrecv", "runtime.chanrecv1", "main.f m.go:1"}, "receive main.f < ", "main.f"},
		{"range", []string{"runtime.chanrecv2", "main.f m.go:1"}, "range main.f < ", "main.f"},
		{"select", []string{"runtime.sellock", "runtime.selectgo", "main.f m.go:1"}, "select main.f < ", "main.f"},
		{"select of no cases", []string{"runtime.gopark", "runtime.block", "main.f m.go:1"}, "forever main.f < ", "main.f"},
		{"reflect.Select", []string{"runtime.selectgo", "runtime.reflect_rselect", "reflect.rselect v.go:1", "reflect.Select v.go:2", "main.f m.go:1"}, "select main.f < ", "main.f"},
		{"non-blocking send", []string{"runtime.chansend", "runtime.selectnbsend", "main.f m.go:1"}, "non-blocking send main.f < ", "main.f"},
		{"non-blocking receive", []string{"runtime.chanrecv", "runtime.selectnbrecv", "main.f m.go:1"}, "non-blocking receive main.f < ", "main.f"},
		{"close", []string{"runtime.closechan", "main.f m.go:1"}, "close main.f < ", "main.f"},
		{"the outermost counts", []string{"runtime.chanrecv1", "runtime.selectgo", "main.f m.go:1"}, "select main.f < ", "main.f"},
		{"mutex", []string{"internal/sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).Lock", "sync.(*Mutex).Lock", "main.f m.go:1"}, "lock main.f < ", "main.f"},
		{"read lock", []string{"sync.(*RWMutex).RLock", "main.f m.go:1"}, "lock main.f < ", "main.f"},
		{"wait group", []string{"runtime.gopark", "sync.runtime_SemacquireWaitGroup", "sync.(*WaitGroup).Wait", "main.f m.go:1"}, "wait main.f < ", "main.f"},
		{"sleep", []string{"runtime.gopark", "time.Sleep", "main.f m.go:1"}, "sleep main.f < ", "main.f"},
		{"I/O is the caller's", []string{"internal/poll.runtime_pollWait", "internal/poll.(*FD).Read", "net.(*netFD).Read", "net.(*conn).Read", "bufio.(*Reader).fill", "main.f m.go:1", "main.main m.go:9"}, "I/O main.f < main.main", "main.main"},
		{"I/O of a library alone", []string{"internal/poll.runtime_pollWait", "net.(*conn).Read n.go:1"}, "I/O net.(*conn).Read < ", "net.(*conn).Read"},
		{"wrappers of go statements", []string{"runtime.chansend1", "main.f m.go:1", "main.main.gowrap12"}, "send main.f < ", "main.f"},
		{"method values", []string{"runtime.chansend1", "main.T.f m.go:1", "main.T.f-fm"}, "send main.T.f < ", "main.T.f"},
		{"no operation", []string{"main.f m.go:1", "main.main m.go:2"}, " main.f < main.main", "main.main"},
		{"assembly", []string{"memeqbody", "main.f m.go:1"}, " main.f < ", "main.f"},
		{"a timer that fired", []string{"runtime.chansend", "runtime.selectnbsend", "time.sendTime sleep.go:187", "runtime.(*timer).unlockAndRun", "runtime.(*timers).run", "runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall"}, "non-blocking send  < ", ""},
		{"a receive from a timer", []string{"runtime.chansend", "runtime.selectnbsend", "time.sendTime sleep.go:187", "runtime.(*timer).unlockAndRun", "runtime.(*timer).maybeRunChan", "runtime.chanrecv", "runtime.chanrecv1", "main.f m.go:1"}, "receive main.f < ", "main.f"},
		{"no function of the program", []string{"runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall"}, "  < ", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := place(frames(test.stack...))
			got := string(p.site.Op) + " " + p.site.At.Function + " < " + p.site.Caller.Function
			if got != test.want || p.root != test.root {
				t.Errorf("%q, root %q\nwant %q, %q", got, p.root, test.want, test.root)
			}
		})
	}
}

// A function of the program with the name of a runtime function is not an
// operation.
func TestNamesakes(t *testing.T) {
	for _, line := range []string{"main.chansend1 m.go:1", "example.com/runtime.selectgo m.go:1", "main.gowrapper m.go:1", "main.gowrap m.go:1"} {
		if got := place(frames(line)).site; got.Op != Other || got.At.Function == "" {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// The same operation is the same Site in each form.
func TestSameSite(t *testing.T) {
	profile := place(frames(sendStack...)).site
	trace := place(frames("runtime.chansend1 chan.go:161", "main.(*Queue[...]).Put hot.go:17", "main.producer hot.go:21")).site
	if profile != sendSite || trace != sendSite {
		t.Errorf("in a profile %v, in a trace %v, want %v", profile, trace, sendSite)
	}
}

func TestDeep(t *testing.T) {
	s := frames(sendStack...)
	for range 10 * maxFrames {
		s = append(s, Frame{Function: "main.recurse"})
	}
	if got := place(s); got.site != sendSite || got.root != "main.recurse" {
		t.Errorf("%v, root %s", got.site, got.root)
	}
	silent := make(stack, 10*maxFrames)
	for i := range silent {
		silent[i] = Frame{Function: "runtime.deep"}
	}
	if got := place(append(silent, s...)); got.site.At.Function != "" {
		t.Errorf("%v, beyond %d frames", got.site, maxFrames)
	}
}

func TestOwn(t *testing.T) {
	serving := frames("runtime.selectgo", "net/http/pprof.sleep p.go:118", "net/http/pprof.Profile p.go:140")
	if !own(serving) {
		t.Error("a handler of net/http/pprof was attributed to the service")
	}
	if own(frames("runtime.selectgo", "main.pprof m.go:1")) {
		t.Error("a function of the service was taken for a handler of net/http/pprof")
	}
}

func TestStrings(t *testing.T) {
	for got, want := range map[string]string{
		sendSite.String():  "send at main.(*Queue).Put (hot.go:17)",
		sendSite.line():    "send at main.(*Queue).Put (hot.go:17), for main.producer (hot.go:21)",
		(Frame{}).String(): "?",
		(Site{At: Frame{"example.com/a/b.F", `C:\src\b.go`, 3}}).String(): "b.F (b.go:3)",
		(Frame{Function: "example.com/a.b/c.F"}).Package():                "example.com/a.b/c",
		(Frame{Function: "main.(*T).M"}).Package():                        "main",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestOps(t *testing.T) {
	channel, sends, receives := "", "", ""
	for _, op := range []Op{Send, Receive, Range, Select, PollSend, PollReceive, Close, Lock, Wait, Sleep, IO, Other} {
		if op.Channel() {
			channel += string(op) + ","
		}
		if op.Sends() {
			sends += string(op) + ","
		}
		if op.Receives() {
			receives += string(op) + ","
		}
	}
	got := strings.Join([]string{channel, sends, receives}, "|")
	if want := "send,receive,range,select,non-blocking send,non-blocking receive,close,|send,non-blocking send,|receive,range,non-blocking receive,"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Impossible line numbers are dropped, and not confused with others.
func TestImpossibleLines(t *testing.T) {
	c, err := readCPU(cpuDrawing(spent(time.Second, "runtime.chansend1", "main.f m.go:-7")).profile())
	if err != nil || len(c.Sites) != 1 || c.Sites[0].String() != "send at main.f (m.go)" {
		t.Errorf("%v, %v", c.Sites, err)
	}
	for n, want := range map[int64]int{-1: 0, 0: 0, 17: 17, 1 << 40: 0} {
		if got := lineOf(n); got != want {
			t.Errorf("line %d is %d", n, got)
		}
	}
}

// A listener waits for nothing in the program.
func TestAccept(t *testing.T) {
	for want, function := range map[Op]string{Accept: "internal/poll.(*FD).Accept", IO: "internal/poll.(*FD).Read"} {
		p := place(frames("internal/poll.runtime_pollWait", function, "net.(*netFD).any net.go:1", "main.serve m.go:3"))
		if p.site.Op != want || p.site.At.Function != "main.serve" {
			t.Errorf("%s: %+v", function, p.site)
		}
	}
	text := "goroutine 7 [IO wait]:\ninternal/poll.runtime_pollWait(0x1)\n\tnetpoll.go:345 +0x1\ninternal/poll.(*FD).Accept(0x1)\n\tfd.go:1 +0x1\n" +
		"net.(*netFD).accept(0x1)\n\tfd.go:1 +0x1\nmain.serve()\n\tm.go:3 +0x1\n"
	g, err := readGoroutineText(strings.NewReader(text))
	if err != nil || len(g.Sites) != 1 || g.Sites[0].Op != Accept || g.Sites[0].Waiting != 1 {
		t.Errorf("%+v, %v", g, err)
	}
}
