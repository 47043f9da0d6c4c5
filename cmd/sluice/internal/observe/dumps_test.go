package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// framesOf makes frames of "function:line" words, the innermost first.
func framesOf(calls ...string) (s capture.Stack) {
	for _, c := range calls {
		f := capture.Frame{Function: c, File: "/src/a.go"}
		if function, line, ok := strings.Cut(c, ":"); ok {
			f.Function = function
			fmt.Sscan(line, &f.Line)
		}
		s = append(s, f)
	}
	return s
}

func goroutineOf(id, creator uint64, state, by string, calls ...string) capture.Goroutines {
	g := capture.Goroutines{Count: 1, ID: id, Creator: creator, State: state, Stack: framesOf(calls...)}
	if by != "" {
		g.CreatedBy = framesOf(by)[0]
	}
	return g
}

func stood(t *testing.T, c *capture.Capture) map[string]Standing {
	t.Helper()
	o, err := Of(c)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Standing{}
	for _, r := range o.Stood {
		rows[fmt.Sprintf("%s %s:%d", r.Op, r.At.Function, r.At.Line)] = r
	}
	return rows
}

func TestTwoDumps(t *testing.T) {
	main := goroutineOf(1, 0, "sync.WaitGroup.Wait", "", "sync.(*WaitGroup).Wait", "main.main:9")
	own := goroutineOf(90, 1, "running", "main.main:3", "runtime/pprof.writeGoroutine", "main.dump")
	before := capture.Dump{States: true, Groups: []capture.Goroutines{
		main, own,
		goroutineOf(10, 1, "chan receive", "main.main:8", "main.(*pool).work:20"),
		goroutineOf(11, 1, "chan receive", "main.main:8", "main.(*pool).work:20"),
		goroutineOf(12, 1, "chan send", "main.main:7", "main.produce:30"),
	}}
	after := capture.Dump{States: true, Groups: []capture.Goroutines{
		main, own,
		goroutineOf(11, 1, "chan receive", "main.main:8", "main.(*pool).work:20"),
		goroutineOf(12, 1, "chan send", "main.main:7", "main.produce:30"),
		goroutineOf(13, 50, "chan send", "main.request:40", "main.request.func1:41"),
		goroutineOf(14, 12, "select", "main.produce:29", "main.watch:50"),
		goroutineOf(15, 1, "IO wait", "main.main:6", "internal/poll.runtime_pollWait", "net.(*conn).Read", "main.read:60"),
		goroutineOf(16, 1, "IO wait", "main.main:5", "internal/poll.runtime_pollWait", "internal/poll.(*FD).Accept", "main.listen:70"),
	}}
	after.Groups[2].Waited = 3 * time.Minute
	rows := stood(t, &capture.Capture{Dumps: []capture.Dump{before, after}})

	if r := rows["receive main.(*pool).work:20"]; r.Count != 1 || r.Before != 2 || r.Same != 1 || r.Longest != 3*time.Minute || r.Orphans != 0 || r.Moves {
		t.Errorf("worker: %+v", r)
	}
	if r := rows["send main.request.func1:41"]; r.Orphans != 1 || r.Before != 0 || r.Same != 0 {
		t.Errorf("request: %+v", r)
	}
	// Its creator is in a send: it will not receive.
	if r := rows["select main.watch:50"]; r.Orphans != 1 {
		t.Errorf("watch: %+v", r)
	}
	if r := rows["wait group main.main:9"]; !r.Main {
		t.Errorf("main: %+v", r)
	}
	if r := rows["network main.read:60"]; !r.Moves {
		t.Errorf("reader: %+v", r)
	}
	if r := rows["network main.listen:70"]; r.Moves {
		t.Errorf("listener: %+v", r)
	}
	for at := range rows {
		if strings.Contains(at, "main.dump") {
			t.Error("the goroutine that writes the dump has a row")
		}
	}
}

func TestHolds(t *testing.T) {
	o, err := Of(&capture.Capture{Dumps: []capture.Dump{{States: true, Groups: []capture.Goroutines{
		goroutineOf(10, 1, "sync.Mutex.Lock", "main.main:8", "sync.(*Mutex).Lock", "main.(*cache).get:20"),
		goroutineOf(11, 1, "chan send", "main.main:8", "main.(*log).write:30", "main.(*cache).put:25"),
		goroutineOf(12, 1, "chan send", "main.main:8", "main.(*log).write:30"),
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range o.Stood {
		if held := len(r.Holds) == 1 && o.Nodes[r.Holds[0].Node].Kind == Mutex && r.Holds[0].At.Line == 25; held != (len(r.Through) == 2) {
			t.Errorf("%s holds %+v", r.At.Function, r.Holds)
		}
	}
}

// A profile has counts and no states, a leak profile what the collector proved.
func TestCountsAndLeaks(t *testing.T) {
	work := framesOf("runtime.gopark", "runtime.chanrecv", "runtime.chanrecv2", "main.(*pool).work:20")
	forever := framesOf("runtime.gopark", "runtime.block", "main.main:5")
	c := &capture.Capture{
		Dumps: []capture.Dump{{Groups: []capture.Goroutines{{Count: 3, Stack: work}}}, {Groups: []capture.Goroutines{{Count: 8, Stack: work}}}},
		Leaks: &capture.Profile{Samples: []capture.Sample{{Stack: work, Value: 5}, {Stack: forever, Value: 1}}},
	}
	rows := stood(t, c)
	if r := rows["receive main.(*pool).work:20"]; r.Count != 8 || r.Before != 3 || r.Same != -1 || r.Leaked != 5 {
		t.Errorf("counts: %+v", r)
	}
	if r := rows["select main.main:5"]; !r.Forever || r.Leaked != 1 {
		t.Errorf("main: %+v", r)
	}
}

// A program that was installed by its version is in the module cache, and so are its libraries.
func TestInstalledProgram(t *testing.T) {
	lib := strings.NewReplacer("prog/v2@v2", "lib@v1", `prog\v2@v2`, "lib@v1")
	for _, root := range []string{"/home/ann/go/pkg/mod/example.com/prog/v2@v2.1.0/", "example.com/prog/v2@v2.1.0/", `C:\go\pkg\mod\example.com\prog\v2@v2.1.0\`} {
		c := &capture.Capture{Dumps: []capture.Dump{{Groups: []capture.Goroutines{
			{Count: 1, Stack: stackOf("runtime.gopark\nruntime.chanrecv1\nmain.main " + root + "cmd/main.go:9")},
			{Count: 4, Stack: stackOf("runtime.gopark\nruntime.chanrecv1\nexample.com/prog/v2/internal/pool.(*Pool).work " + root + "internal/pool/pool.go:20")},
			{Count: 2, Stack: stackOf("runtime.gopark\nruntime.chanrecv1\nexample.com/lib.(*Client).read " + lib.Replace(root) + "client.go:5")},
		}}}}
		o, err := Of(c)
		if err != nil {
			t.Fatal(err)
		}
		programs := map[string]bool{}
		for _, r := range o.Roles {
			if !r.Runtime {
				programs[r.Start.Function] = true
			}
		}
		if len(programs) != 2 || !programs["example.com/prog/v2/internal/pool.(*Pool).work"] || !programs["main.main"] {
			t.Errorf("%s: the program's roles are %v", root, programs)
		}
	}
}
