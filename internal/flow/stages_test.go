package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The tests of this package have call sites as text. Those of programs with channels and stages are
// in internal/stage/flow_test.go, where the tests of all stages are.

// operationOf parses a call site: functions with the lines of their calls, from the
// goroutine's function inwards, and what is done: "main.main:3 main.read:7 send lines".
// A "^" before a function means that it was called back. A function of another module may
// come first. Numbers after "by" are goroutines.
func operationOf(t *testing.T, text string, channels map[string]uint64) *operation {
	t.Helper()
	text, goroutines, _ := strings.Cut(text, " by ")
	words := strings.Fields(text)
	o := &operation{weight: 1}
	for _, g := range strings.Fields(goroutines) {
		var number uint64
		_, _ = fmt.Sscan(g, &number)
		o.goroutines = append(o.goroutines, number)
	}
	o.name, o.side = words[len(words)-1], words[len(words)-2]
	if channels[o.name] == 0 {
		channels[o.name] = uint64(len(channels) + 1)
	}
	o.channel = channels[o.name]
	for i, w := range words[:len(words)-2] {
		function, line, _ := strings.Cut(w, ":")
		f := frame{function: strings.TrimPrefix(function, "^"), file: "m.go", gap: function[0] == '^'}
		_, _ = fmt.Sscan(line, &f.line)
		if i == 0 {
			o.path.root = f
		}
		if ownerOf(f.function) == theProgram {
			o.path.frames = append(o.path.frames, f)
		}
	}
	return o
}

// drawn returns the edges of a map, with the names of stages: "read -> lines".
func drawn(t *testing.T, sites ...string) []string {
	t.Helper()
	ids, channels := map[string]uint64{}, map[uint64]string{}
	var operations []*operation
	for _, s := range sites {
		o := operationOf(t, s, ids)
		channels[o.channel] = o.name
		operations = append(operations, o)
	}
	stages, edges := learn(operations)
	names := map[string]string{}
	for _, s := range stages {
		names[s.ID] = s.Name
	}
	var list []string
	for _, e := range edges {
		if c := channels[e.Channel]; e.Side == Send {
			list = append(list, names[e.Stage]+" -> "+c)
		} else {
			list = append(list, c+" -> "+names[e.Stage])
		}
	}
	slices.Sort(list)
	return list
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the map has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestGoroutineIsStage(t *testing.T) {
	expect(t, drawn(t,
		"main.read:1 send lines",
		"main.parse:2 receive lines",
		"main.parse:3 main.handle:4 main.emit:5 send events",
		"main.write:6 receive events",
	), "read -> lines", "lines -> parse", "parse -> events", "events -> write")
}

// A wrapper around Send is not a stage, whether one stage calls it or several do.
func TestHelperOfStages(t *testing.T) {
	expect(t, drawn(t,
		"main.read:1 main.(*queue).put:9 send lines",
		"main.poll:2 main.(*queue).put:9 send lines",
		"main.main:1 main.run:2 main.load:3 main.(*queue).put:9 send lines",
	), "read -> lines", "poll -> lines", "load -> lines")
}

// A closure that only calls a function gives way to it, and one that does more is a stage
// under the name of the function around it.
func TestClosure(t *testing.T) {
	expect(t, drawn(t,
		"main.run.func1:1 main.read:1 send lines",
		"main.run.func2:2 receive lines",
		"main.run.func2:3 main.emit:3 send events",
		"main.(*server).start.func1.2:4 receive events",
	), "read -> lines", "lines -> run", "run -> events", "events -> server.start")
	expect(t, drawn(t,
		"main.run.func1:1 send lines",
		"main.run.func2:2 receive lines",
	), "run (m.go:1) -> lines", "lines -> run (m.go:2)")
}

// Wrappers that start or call different functions at one place are not stages.
func TestDispatcher(t *testing.T) {
	expect(t, drawn(t,
		"main.goSafe.func1:1 main.read:1 send lines",
		"main.goSafe.func1:1 main.parse:2 receive lines",
		"main.goSafe.func1:1 main.parse:3 send events",
		"main.goSafe.func1:1 main.write:4 main.flush:5 receive events",
	), "read -> lines", "lines -> parse", "parse -> events", "events -> write")
	expect(t, drawn(t, // of another module
		"golang.org/x/sync/errgroup.(*Group).Go.func1:1 main.run.func1:1 main.read:2 send lines",
		"golang.org/x/sync/errgroup.(*Group).Go.func1:1 main.run.func2:2 main.write:3 receive lines",
	), "read -> lines", "lines -> write")
}

func TestRequestHandlers(t *testing.T) {
	const server = "net/http.(*conn).serve:1 "
	expect(t, drawn(t,
		server+"main.log.func1:5 ^main.(*auth).ServeHTTP:6 ^main.(*api).upload:1 main.put:2 send uploads",
		server+"main.log.func1:5 ^main.(*auth).ServeHTTP:6 ^main.(*api).remove:3 send removals",
	), "api.upload -> uploads", "api.remove -> removals")
	expect(t, drawn(t, // one of them is known
		server+"main.log.func1:5 ^main.(*auth).ServeHTTP:6 ^main.(*api).upload:1 main.put:2 send uploads",
	), "api.upload -> uploads")
}

// The goroutine of main calls stages one after another.
func TestMainGoroutine(t *testing.T) {
	expect(t, drawn(t,
		"main.main:1 main.run:2 main.read:3 send lines",
		"main.worker:4 receive lines",
		"main.worker:5 send results",
		"main.main:1 main.run:6 main.collect:7 receive results",
	), "read -> lines", "lines -> worker", "worker -> results", "results -> collect")
	expect(t, drawn(t,
		"main.main:1 main.read:3 send lines",
		"main.worker:4 receive lines",
		"main.worker:5 send results",
		"main.main:7 receive results",
	), "read -> lines", "lines -> worker", "worker -> results", "results -> main")
	expect(t, drawn(t, // the loop of a stage is in run
		"main.main:1 main.run:2 main.next:3 receive lines",
		"main.main:1 main.run:4 main.emit:5 send events",
	), "lines -> run", "run -> events")
}

// A stage that receives from two channels, and sends into two.
func TestSeveralChannels(t *testing.T) {
	expect(t, drawn(t,
		"main.route:1 main.next:1 receive a",
		"main.route:1 main.next:1 receive b",
		"main.route:2 main.emit:4 send c",
		"main.route:3 main.emit:4 send d",
	), "a -> route", "b -> route", "route -> c", "route -> d")
}

// A stage that sends into its own input stays one.
func TestRetry(t *testing.T) {
	expect(t, drawn(t,
		"main.work:1 receive jobs",
		"main.work:2 main.retry:9 send jobs",
		"main.work:3 send results",
	), "jobs -> work", "work -> jobs", "work -> results")
}

// A function that several closures start is a stage.
func TestStartedTwice(t *testing.T) {
	expect(t, drawn(t,
		"main.run.func1:1 main.poll:2 send lines",
		"main.run.func2:1 main.poll:2 send lines",
	), "poll -> lines")
}

// Two goroutines of one function that work on different channels are two stages, once
// their numbers are known.
func TestInstances(t *testing.T) {
	expect(t, drawn(t,
		"main.copy:1 receive a by 7 8",
		"main.copy:2 send b by 8 9",
		"main.copy:1 receive b by 11",
		"main.copy:2 send c by 11",
	), "a -> copy (a)", "copy (a) -> b", "b -> copy (b)", "copy (b) -> c")
	expect(t, drawn(t,
		"main.copy:1 receive a by 7",
		"main.copy:2 send b by 7",
		"main.copy:1 receive b",
		"main.copy:2 send c by 11",
	), "a -> copy", "copy -> b", "b -> copy", "copy -> c")
	expect(t, drawn(t, // handlers of requests share nothing, and are one stage
		"main.handle:1 send a by 7",
		"main.handle:2 send b by 8",
	), "handle -> a", "handle -> b")
}

// Functions of other modules are stages only where no function of the program is.
func TestPackages(t *testing.T) {
	for function, want := range map[string]owner{
		"main.run": theProgram,
		"github.com/sluice-go/sluice/livepage_test.(*s).run":  theProgram,
		"github.com/sluice-go/sluice/examples/logcount.parse": theProgram,
		"github.com/sluice-go/sluice.(*Values).All.func1":     library,
		"github.com/sluice-go/sluice/internal/park.Next":      library,
		"github.com/sluice-go/sluice/workers.Run":             library,
		"github.com/sluice-go/sluicegate.Run":                 anotherModule,
		"gopkg.in/yaml%2ev3.Run":                              anotherModule,
		"net/http.(*conn).serve":                              standard,
		"sync.(*WaitGroup).Go.func1":                          standard,
	} {
		if got := ownerOf(function); got != want {
			t.Errorf("%s belongs to %d, want %d", function, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for function, want := range map[string][3]string{
		"main.stage[...]":                     {"main.stage", "main.stage", "stage"},
		"main.(*Stage[...]).run-fm":           {"main.(*Stage).run", "main.(*Stage).run", "Stage.run"},
		"main.(*Stage[...]).run.func1-range2": {"main.(*Stage).run.func1", "main.(*Stage).run", "Stage.run.func1"},
		"example.com/app/parser.Run.func2.1":  {"example.com/app/parser.Run.func2.1", "example.com/app/parser.Run", "parser.Run.func2.1"},
		"example.com/app.functional":          {"example.com/app.functional", "example.com/app.functional", "app.functional"},
		"main.Run.gowrap1":                    {"main.Run.gowrap1", "main.Run", "Run.gowrap1"},
		"main.parse.(*Values[...]).All.func1": {"main.parse.(*Values).All.func1", "main.parse.(*Values).All", "parse.Values.All.func1"},
		"main.F-range1-range2":                {"main.F", "main.F", "F"},
		"github.com/a/b%2ec.F":                {"github.com/a/b%2ec.F", "github.com/a/b%2ec.F", "b%2ec.F"},
	} {
		p := plain(function)
		if got := [3]string{p, Enclosing(p), shortName(p)}; got != want {
			t.Errorf("%s: %q, want %q", function, got, want)
		}
	}
}
