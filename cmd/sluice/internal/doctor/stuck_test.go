package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// A goroutine of a dump: the functions of its stack, the innermost first, each with the
// line "file.go:1".
type goroutine struct {
	count   int
	state   string
	stack   string // "a.F f.go:1 < b.G g.go:2"
	created string // "a.New in goroutine 1"
}

// dump writes goroutines as a service does, with the main goroutine in front.
func dump(all ...goroutine) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [IO wait]:\ninternal/poll.(*FD).Accept(0xc000)\n\t/usr/local/go/src/internal/poll/fd_unix.go:613 +0x30\n" +
		"net/http.(*Server).Serve(0xc000)\n\t/usr/local/go/src/net/http/server.go:3424 +0x30c\nmain.main()\n\t/src/app/main.go:20 +0x1a\n\n")
	id := 10
	for _, g := range all {
		for range max(1, g.count) {
			id++
			fmt.Fprintf(&b, "goroutine %d [%s]:\n", id, g.state)
			for call := range strings.SplitSeq(g.stack, " < ") {
				function, line, _ := strings.Cut(call, " ")
				folder := "/src/"
				if first, _, _ := strings.Cut(function, "."); !strings.Contains(function, "example.com") && first != "main" {
					folder = "/usr/local/go/src/" + first[:strings.LastIndex("/"+first, "/")] + "/"
				}
				fmt.Fprintf(&b, "%s(0xc000)\n\t%s%s +0x1\n", function, folder, line)
			}
			if g.created != "" {
				fmt.Fprintf(&b, "created by %s\n\t/src/x.go:1 +0x1\n", strings.ReplaceAll(g.created, "#", fmt.Sprint(100_000+id)))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

const lock = "internal/sync.(*Mutex).lockSlow mutex.go:149 < sync.(*Mutex).Lock mutex.go:46 < "

// TestStuckKinds judges dumps in the likeness of public reports.
func TestStuckKinds(t *testing.T) {
	requests := goroutine{900, "sync.Mutex.Lock, 40 minutes", lock + "example.com/daemon.(*Daemon).List list.go:84 < example.com/api.(*Server).get server.go:12", "net/http.(*Server).Serve in goroutine 1"}
	kill := goroutine{1, "chan send, 41 minutes", "example.com/events.(*Events).Publish events.go:63 < example.com/daemon.(*Daemon).kill kill.go:51 < example.com/api.(*Server).post server.go:40", "net/http.(*Server).Serve in goroutine 1"}
	waiting := goroutine{60, "select, 55 minutes", "database/sql.(*DB).conn sql.go:1369 < database/sql.(*DB).Begin sql.go:1900 < example.com/orders.(*Store).Place store.go:52 < example.com/api.(*Server).post server.go:40", "net/http.(*Server).Serve in goroutine 1"}
	transactions := goroutine{16, "select, 61 minutes", "database/sql.(*Tx).awaitDone sql.go:2226", "database/sql.(*DB).beginDC in goroutine #"}
	idle := goroutine{200, "chan receive, 32 minutes", "example.com/pool.(*Pool).work pool.go:58", "example.com/pool.New in goroutine 1"}
	exporters := goroutine{150, "chan send, 12 minutes", "example.com/app.(*Exporter).push exporter.go:88 < example.com/app.(*Exporter).loop exporter.go:41", "example.com/app.NewExporter in goroutine 1"}
	asleep := "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\nmain.main()\n\t/src/main.go:9 +0x1\n\n" +
		"goroutine 7 [chan send]:\nmain.produce(0xc000)\n\t/src/main.go:20 +0x1\ncreated by main.main in goroutine 1\n\t/src/main.go:8 +0x1\n"
	actors := []goroutine{
		{1, "chan send, 3 minutes", "example.com/b.(*Writer).Post writer.go:5 < example.com/a.(*Reader).run reader.go:7", "main.main in goroutine 1"},
		{1, "chan send, 3 minutes", "example.com/a.(*Reader).Ack reader.go:30 < example.com/b.(*Writer).run writer.go:9", "main.main in goroutine 1"},
	}
	order := []goroutine{
		{4, "sync.Mutex.Lock", lock + "example.com/a.(*Index).add index.go:5 < example.com/b.(*Table).put table.go:7", "net/http.(*Server).Serve in goroutine 1"},
		{3, "sync.Mutex.Lock", lock + "example.com/b.(*Table).drop table.go:30 < example.com/a.(*Index).flush index.go:9", "main.main in goroutine 1"},
	}
	sending := goroutine{20, "chan send", "example.com/a.Stage stage.go:5", "net/http.(*Server).Serve in goroutine #"}
	sink := goroutine{1, "IO wait", "net.(*conn).Write net.go:1 < example.com/a.Sink sink.go:5", "main.main in goroutine 1"}
	grown := idle
	grown.count = 500
	const page = "example.com/a.(*Limit).acquire limit.go:5 < example.com/a.(*View).page view.go:7 < "
	nested := []goroutine{
		{4, "chan send", page + "example.com/a.handle handle.go:5", "net/http.(*Server).Serve in goroutine 1"},
		{4, "chan send", page + "example.com/a.(*View).page view.go:9 < example.com/a.handle handle.go:5", "net/http.(*Server).Serve in goroutine 1"},
	}
	fetch := func(state, wait string) string { // goroutine 11 started the senders
		return dump(goroutine{1, state, wait + "example.com/a.Fetch fetch.go:9", "net/http.(*Server).Serve in goroutine 1"},
			goroutine{3, "chan send", "example.com/a.Fetch.func1 fetch.go:5", "example.com/a.Fetch in goroutine 11"})
	}
	group, collector := fetch("sync.WaitGroup.Wait", "sync.(*WaitGroup).Wait waitgroup.go:1 < "), fetch("chan receive", "")
	upgrade := []goroutine{
		{1, "sync.RWMutex.Lock", "sync.(*RWMutex).Lock rwmutex.go:1 < example.com/a.(*Cache).create cache.go:9 < example.com/a.(*Cache).get cache.go:5", "main.main in goroutine 1"},
		{5, "sync.RWMutex.RLock", "sync.(*RWMutex).RLock rwmutex.go:1 < example.com/a.(*Cache).get cache.go:4 < example.com/b.(*Server).serve server.go:4", "main.main in goroutine 1"},
	}
	ring := []goroutine{
		{1, "chan send", "example.com/a.(*Lobby).Run lobby.go:5", "main.main in goroutine 1"}, {1, "chan send", "example.com/a.(*Match).Run match.go:5", "main.main in goroutine 1"},
		{1, "chan send", "example.com/a.(*Score).Run score.go:5", "main.main in goroutine 1"},
	}
	receiver := goroutine{1, "chan receive", "example.com/a.Collect collect.go:5", "main.main in goroutine 1"}
	stop := goroutine{1, "sync.WaitGroup.Wait", "sync.(*WaitGroup).Wait waitgroup.go:1 < example.com/a.(*Pool).Stop pool.go:9 < example.com/a.run a.go:4", "main.main in goroutine 1"}

	for name, test := range map[string]struct {
		dumps                  []string
		kind, missing, at      string
		count, explains        int
		probable               bool
		caller, evidence, text string
	}{
		"a lock holder in a send":          {[]string{dump(requests, kill)}, deadlock, "receiver", "events.go:63", 1, 900, true, "", "list.go:84", "41 minutes"},
		"a pool held by its waiters":       {[]string{dump(waiting, transactions)}, exhausted, "slot", "store.go:52", 60, 0, true, "server.go:40", "sql.go:2226", "16 goroutines wait in select at sql.(*Tx).awaitDone (sql.go:2226) for 61 minutes"},
		"an idle pool in one dump":         {[]string{dump(idle)}, idlePool, "", "pool.go:58", 200, 0, false, "", "", "two captures show which"},
		"an idle pool in two":              {[]string{dump(idle), dump(idle)}, idlePool, "", "pool.go:58", 200, 0, false, "", "", "200 before: an idle pool"},
		"goroutines that grow":             {[]string{dump(idle), dump(grown)}, leak, "sender", "pool.go:58", 500, 0, false, "", "", "200 before"},
		"senders without a receiver":       {[]string{dump(exporters)}, leak, "receiver", "exporter.go:88", 150, 0, true, "", "", "12 minutes"},
		"all asleep":                       {[]string{asleep}, deadlock, "receiver", "main.go:20", 1, 0, true, "", "", "in send"},
		"actors in each other's mailbox":   {[]string{dump(actors...)}, deadlock, "receiver", "writer.go:5", 1, 0, true, "", "", "its receiver waits in turn to send to it"},
		"locks in two orders":              {[]string{dump(order...), dump(order...)}, deadlock, "lock order", "index.go:5", 4, 3, true, "", "table.go:30", ""},
		"locks in one moment":              {[]string{dump(order...)}, "", "", "", 0, 0, false, "", "", ""},
		"senders in two dumps":             {[]string{dump(sending), dump(sending)}, leak, "receiver", "stage.go:5", 20, 0, true, "", "", ""},
		"senders with a receiver outside":  {[]string{dump(sending, sink), dump(sending, sink)}, leak, "receiver", "stage.go:5", 20, 0, false, "", "", ""},
		"a limit held by its waiters":      {[]string{dump(nested...), dump(nested...)}, exhausted, "slot", "limit.go:5", 8, 0, true, "view.go:7", "", ""},
		"senders whose group is awaited":   {[]string{group, group}, leak, "receiver", "fetch.go:5", 3, 0, true, "", "", ""},
		"senders whose creator receives":   {[]string{collector, collector}, leak, "receiver", "fetch.go:5", 3, 0, false, "", "", "a generator at rest"},
		"a read lock that is upgraded":     {[]string{dump(upgrade...), dump(upgrade...)}, deadlock, "unlock", "cache.go:9", 1, 5, true, "cache.go:5", "cache.go:4", ""},
		"senders whose receiver moves":     {[]string{dump(sending, receiver), dump(sending, idle, receiver)}, leak, "receiver", "stage.go:5", 20, 0, false, "", "", ""},
		"only senders":                     {[]string{dump(ring...), dump(ring...)}, deadlock, "receiver", "lobby.go:5", 1, 0, true, "", "", "none is left"},
		"a stop that does not end":         {[]string{dump(stop, idle), dump(stop, idle)}, leak, "done", "pool.go:9", 1, 0, true, "a.go:4", "", ""},
		"a main goroutine without workers": {[]string{dump()}, "", "", "", 0, 0, false, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var files []capture.File
			for i, d := range test.dumps {
				files = append(files, capture.File{Name: fmt.Sprintf("%d.txt", i), Data: []byte(d)})
			}
			all := stuck(observationOf(t, readFiles(t, files)))
			if test.kind == "" {
				if b := mostSure(all); b != nil {
					t.Fatalf("%s: %s", b.Kind, b.Text)
				}
				return
			}
			if len(all) == 0 {
				t.Fatal("nothing")
			}
			b := all[0]
			if at := fmt.Sprintf("%s:%d", b.At.File[strings.LastIndex(b.At.File, "/")+1:], b.At.Line); b.Kind != test.kind || b.Missing != test.missing || at != test.at ||
				b.Count != test.count || b.Explains != test.explains || (b.Probability >= sure) != test.probable {
				t.Errorf("%.2f %s, %q missing at %s, %d and %d: %s", b.Probability, b.Kind, b.Missing, at, b.Count, b.Explains, b.Text)
			}
			if !strings.Contains(b.Text, test.text) || test.caller != "" && (b.At.Caller == nil || !strings.HasSuffix(fmt.Sprintf("%s:%d", b.At.Caller.File, b.At.Caller.Line), test.caller)) ||
				test.evidence != "" && !strings.Contains(fmt.Sprint(b.Evidence), test.evidence) {
				t.Errorf("text %q, caller %v, evidence %v", b.Text, b.At.Caller, b.Evidence)
			}
		})
	}
}

// TestApart judges by the time between two dumps: a lock that is held for seconds, though
// other goroutines of the package move, and goroutines that increase by many a second.
func TestApart(t *testing.T) {
	waiting := goroutine{3, "sync.Mutex.Lock", lock + "example.com/a.(*Index).add index.go:5", "main.main in goroutine 1"}
	moving := goroutine{1, "IO wait", "net.(*conn).Read net.go:1 < example.com/a.serve serve.go:5", "main.main in goroutine 1"}
	conns := func(n int) goroutine {
		return goroutine{n, "select", "net/http.(*persistConn).readLoop transport.go:1", "net/http.(*Transport).dialConn in goroutine 1"}
	}
	for name, test := range map[string]struct {
		dumps         [2]string
		apart, traced time.Duration
		want          string // what is missing; "" if nothing is sure
	}{
		"a lock at one moment":  {[2]string{dump(waiting, moving), dump(waiting, moving)}, 0, time.Second, ""},
		"a lock for seconds":    {[2]string{dump(waiting, moving), dump(waiting, moving)}, 3 * time.Second, time.Second, "unlock"},
		"without a trace":       {[2]string{dump(waiting, moving), dump(waiting, moving)}, 3 * time.Second, 0, ""},
		"connections that come": {[2]string{dump(conns(20)), dump(conns(40))}, 5 * time.Second, 0, ""},
		"responses not closed":  {[2]string{dump(conns(20)), dump(conns(400))}, 5 * time.Second, 0, "close"},
		"a leak of minutes":     {[2]string{dump(conns(20)), dump(conns(400))}, time.Hour, 0, "close"},
	} {
		o := observationOf(t, readFiles(t, []capture.File{{Name: "1.txt", Data: []byte(test.dumps[0])}, {Name: "2.txt", Data: []byte(test.dumps[1])}}))
		o.Sources.Apart, o.Sources.Trace = test.apart, test.traced
		missing := ""
		if b := mostSure(stuck(o)); b != nil {
			missing = b.Missing
		}
		if missing != test.want {
			t.Errorf("%s: %q is missing, not %q", name, missing, test.want)
		}
	}
}

// TestReleases has a change for everything that can be missing.
func TestReleases(t *testing.T) {
	for _, missing := range append(slices.Collect(maps.Values(ends)), "lock order", "unlock", "close") {
		if text := release(missing, observe.Line{})[0].text; !strings.Contains(text, "unknown line") {
			t.Errorf("%s: %s", missing, text)
		}
	}
}
