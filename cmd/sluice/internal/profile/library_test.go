package profile

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/workers"
)

// Operations of this module are at the program's line, in every form of profile.
func TestPlaceLibrary(t *testing.T) {
	const (
		parked = "runtime.gopark|runtime.chanrecv|runtime.chanrecv1|" + Module + "/internal/park.Parker.Park park.go:33|" + Module + "/internal/park.(*Tally).Park park.go:105|"
		send   = Module + "/internal/segqueue.(*Engine[...]).sendSlow send.go:100|" + Module + "/internal/segqueue.(*Engine[...]).Send send.go:20|" + Module + ".(*channel[...]).Send channel.go:61|"
		pool   = "|" + Module + "/internal/workpool.(*worker[...]).run worker.go:9|" + Module + "/workers.(*group[...]).start.func2 group.go:69|sync.(*WaitGroup).Go.func1 wg.go:1"
		all    = "main.report.(*Values[...]).All.func1 values.go:48|main.report m.go:20"
	)
	for _, test := range []struct{ name, stack, want, root string }{
		{"a send that parks", parked + send + "main.accept m.go:44|main.main m.go:9", "send main.accept:44 < main.main (Send)", "main.main"},
		{"the clock of a send", "time.Since t.go:1|" + Module + "/internal/park.Now since.go:1|" + send + "main.accept m.go:44", "send main.accept:44 <  (Send)", "main.accept"},
		{"a wake-up in a send", "runtime.goready|runtime.chansend|runtime.chansend1|" + Module + "/internal/park.Parker.Unpark park.go:46|" + send + "main.accept m.go:44", "send main.accept:44 <  (Send)", "main.accept"},
		{"an inlined loop over values", parked + Module + "/internal/shard.(*Engine[...]).Recv recv.go:1|" + all, "range main.report:20 <  (All)", "main.report"},
		{"a loop over values", parked + Module + ".(*Values[...]).All.func1 values.go:48|main.report m.go:20|main.main m.go:9", "range main.report:20 < main.main (All)", "main.main"},
		{"the body of a loop", "main.grind m.go:7|main.report-range1 m.go:21|" + all, " main.grind:7 < main.report ()", "main.report"},
		{"a send in the body of a loop", parked + send + "main.report-range1 m.go:22|" + all + "|main.main m.go:9", "send main.report:22 < main.main (Send)", "main.main"},
		{"a loop that is inlined into the function that loops", parked + "main.report.(*Values[...]).All.func2 values.go:48|main.report m.go:20|main.main m.go:9", "range main.report:20 < main.main (All)", "main.main"},
		{"a type of the program with the same name", "runtime.chanrecv1|main.report.(*Values[...]).All.func1 mine.go:3|main.report m.go:20", "receive main.report.(*Values).All.func1:3 < main.report ()", "main.report"},
		{"Select", parked + Module + ".(*attempt).park s.go:1|" + Module + ".Select select.go:2|main.both m.go:30", "select main.both:30 <  (Select)", "main.both"},
		{"TryRecvBatch", Module + "/internal/segqueue.(*Engine[...]).RecvBatch recv.go:65|" + Module + ".(*channel[...]).TryRecvBatch channel.go:130|main.poll m.go:40", "non-blocking receive main.poll:40 <  (TryRecvBatch)", "main.poll"},
		{"SendKey", Module + "/internal/shard.(*Engine[...]).SendKey send.go:41|" + Module + ".(*Sharded[...]).SendKey sharded.go:1|main.put m.go:41", "send main.put:41 <  (SendKey)", "main.put"},
		{"SendAfter", Module + "/internal/priority.(*Timed[...]).SendAfter timed.go:41|" + Module + ".(*Delay[...]).SendAfter delay.go:1|main.retry m.go:41", "send main.retry:41 <  (SendAfter)", "main.retry"},
		{"Send to a hub", Module + "/internal/broadcast.(*Hub[...]).Send send.go:41|" + Module + "/hub.(*Hub[...]).Send hub.go:1|main.publish m.go:41", "send main.publish:41 <  (Send)", "main.publish"},
		{"Close of a batch.Sender", parked + send + Module + "/batch.(*Sender[...]).Close sender.go:1|main.put m.go:42", "send main.put:42 <  (Close)", "main.put"},
		{"f of a worker", "main.grind m.go:7|main.work m.go:8|" + Module + "/workers.Run[...].func1 run.go:60" + pool, " main.grind:7 < main.work ()", "main.work"},
		{"a worker that waits", parked + Module + ".(*channel[...]).RecvBatch channel.go:120" + pool, "receive " + Module + "/workers.(*group).start.func2:69 <  (RecvBatch)", Module + "/workers.(*group).start.func2"},
		{"the caller of Run", "runtime.gopark|sync.(*WaitGroup).Wait wg.go:1|" + Module + "/workers.(*group[...]).wait group.go:80|" + Module + "/workers.Run[...] run.go:63|main.main m.go:9", "wait main.main:9 <  ()", "main.main"},
		{"a file of a spill", "syscall.Syscall|internal/poll.(*FD).Write fd.go:1|os.(*File).Write f.go:1|" + Module + "/spill.(*Elastic[...]).Send elastic_send.go:1|main.put m.go:43", "send main.put:43 <  (Send)", "main.put"},
		{"a store of a spill", Module + "/spill/internal/logstore.(*Store).Write write.go:1|" + Module + "/spill.(*Durable[...]).Send durable_send.go:1|main.put m.go:44", "send main.put:44 <  (Send)", "main.put"},
		{"a client of a jetstream", "github.com/nats-io/nats.go.(*Conn).publish nats.go:1|" + Module + "/jetstream.(*Sender[...]).Send sender.go:1|main.put m.go:44", "send main.put:44 <  (Send)", "main.put"},
		{"the program's own client", "github.com/nats-io/nats.go.(*Conn).publish nats.go:1|main.save m.go:45|main.f m.go:9|" + Module + "/workers.Run[...].func1 run.go:60" + pool, " github.com/nats-io/nats.go.(*Conn).publish:1 < main.save ()", "main.f"},
		{"a benchmark of this module", "runtime.chansend1|" + Module + "/bench/contender.put c.go:5|main.main m.go:1", "send " + Module + "/bench/contender.put:5 < main.main ()", "main.main"},
		{"another module", "runtime.chansend1|" + Module + "gate.Send s.go:5|main.main m.go:1", "send " + Module + "gate.Send:5 < main.main ()", "main.main"},
		{"a codec of the program", "main.encode m.go:50|" + Module + "/spill.(*Elastic[...]).Send elastic_send.go:1|main.put m.go:43", " main.encode:50 < main.put ()", "main.put"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := place(frames(strings.Split(test.stack, "|")...))
			if got := described(p.site); got != test.want || p.root != test.root {
				t.Errorf("%s, root %s; want %s, root %s", got, p.root, test.want, test.root)
			}
		})
	}
}

// described formats all of a site.
func described(s Site) string {
	at := s.At
	at.File = ""
	var b strings.Builder
	b.WriteString(string(s.Op) + " " + at.Function + ":")
	for n, digits := at.Line, ""; ; {
		digits = string(rune('0'+n%10)) + digits
		if n /= 10; n == 0 {
			b.WriteString(digits)
			break
		}
	}
	b.WriteString(" < " + s.Caller.Function + " (" + s.Call + ")")
	return b.String()
}

// Cost inside of this module belongs to the operation: its locks, its yields, its
// wake-ups, its allocations. Cost of the program inside of this module does not.
func TestLibraryCPU(t *testing.T) {
	const unit = 10 * time.Millisecond
	in := func(inner ...string) []string {
		return append(inner, Module+"/internal/segqueue.(*Engine[...]).Send send.go:20", Module+".(*channel[...]).Send channel.go:61", "main.accept m.go:44")
	}
	c, err := readCPU(cpuDrawing(
		spent(1*unit, in(Module+"/internal/segqueue.(*side[...]).lockTaken engine.go:180")...),
		spent(2*unit, in("sync/atomic.(*Uint32).Load a.go:1", Module+"/internal/spin.(*BusyLock).wait lock.go:80")...),
		spent(3*unit, in("runtime.Gosched", Module+"/internal/waitq.(*Wait).Step wait.go:9")...),
		spent(4*unit, in("runtime.ready", "runtime.goready", "runtime.chansend1", Module+"/internal/park.Parker.Unpark park.go:46")...),
		spent(5*unit, in("runtime.mallocgc", "runtime.makechan", Module+"/internal/park.NewParker park.go:32")...),
		spent(6*unit, in("runtime.lock2", "runtime.chansend", "runtime.chansend1", Module+"/internal/park.Parker.Unpark park.go:46")...),
		spent(7*unit, "main.grind m.go:7", "main.report-range1 m.go:21", Module+".(*Values[...]).All.func1 values.go:50", "main.report m.go:20"),
		spent(8*unit, "runtime.cas", Module+"/livepage.(*handler).serveFlow flow.go:1", "net/http.(*conn).serve s.go:1"),
	).profile())
	if err != nil {
		t.Fatal(err)
	}
	want := map[Category]time.Duration{ChannelLock: 3 * unit, ChannelWork: 18 * unit, UserCode: 7 * unit, Profiling: 8 * unit}
	for category, d := range want {
		if c.By[category] != d {
			t.Errorf("%s %v, want %v", category, c.By[category], d)
		}
	}
	if len(c.Sites) != 1 || c.Sites[0].Time != 21*unit || c.Sites[0].Lock != 3*unit || c.Sites[0].Wake != 4*unit {
		t.Errorf("sites %+v, want one send", c.Sites)
	}
	for _, u := range c.Users {
		if u.Makes > 0 || strings.HasPrefix(u.Function, Module) {
			t.Errorf("%+v: the channel of a parked goroutine, or a function of this module, counts as the program's", u)
		}
	}
}

// Workers that wait are adopted: by the line that calls the pool, as goroutines
// of the function that it calls. A second pool keeps its own.
func TestAdopt(t *testing.T) {
	const (
		run    = "sync.(*WaitGroup).Wait(0x1)\n\twg.go:1\n" + Module + "/workers.Run[...](0x1)\n\trun.go:63\n"
		worker = Module + "/workers.(*group[...]).start.func2()\n\tgroup.go:69\nsync.(*WaitGroup).Go.func1()\n\twg.go:2\n" +
			"created by sync.(*WaitGroup).Go in goroutine "
		recv = Module + "/internal/park.Parker.Park()\n\tpark.go:33\n" + Module + ".(*channel[...]).RecvBatch()\n\tchannel.go:120\n"
	)
	text := "goroutine 5 [sync.WaitGroup.Wait]:\n" + run + "created by main.main in goroutine 1\n\tm.go:40\n\n" +
		"goroutine 6 [chan receive]:\n" + recv + worker + "5\n\twg.go:2\n\n" +
		"goroutine 7 [chan receive]:\n" + recv + worker + "5\n\twg.go:2\n\n" +
		"goroutine 8 [sleep]:\ntime.Sleep(0x1)\n\ts.go:1\nmain.work(0x1)\n\tm.go:50\n" + Module + "/workers.Run[...].func1(0x1)\n\trun.go:60\n" + worker + "5\n\twg.go:2\n"
	other := "\ngoroutine 15 [sync.WaitGroup.Wait]:\n" + run + "main.serve(0x1)\n\tm.go:60\n\n" +
		"goroutine 16 [chan receive]:\n" + recv + worker + "15\n\twg.go:2\n"
	parked := []string{"runtime.chanrecv1", Module + "/internal/park.Parker.Park park.go:33", Module + ".(*channel[...]).RecvBatch channel.go:120",
		Module + "/workers.(*group[...]).start.func2 group.go:69", "sync.(*WaitGroup).Go.func1 wg.go:2"}
	// The text is later: this worker waits by then.
	working := append([]string{"runtime.gopark", "time.Sleep", "main.work m.go:51", Module + "/workers.Run[...].func1 run.go:60"}, parked[len(parked)-2:]...)
	for _, test := range []struct {
		name, text string
		want       map[string]int // waiting in a receive, by line and start function
		cpu        string         // the site in the CPU profile
	}{
		{"one pool", text, map[string]int{"main.main:40 of main.work": 2}, "main.main"},
		{"two pools", text + other, map[string]int{"main.main:40 of main.work": 2, "main.serve:60 of main.work": 1}, Module + "/workers.(*group).start.func2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p parts
			for name, data := range map[string][]byte{
				"goroutine.txt": []byte(test.text), "goroutine.pprof": goroutineDrawing(there(2, parked...), there(1, working...)).bytes(t),
				"cpu.pprof": cpuDrawing(spent(time.Second, parked...)).bytes(t),
			} {
				if err := p.read(name, bytes.NewReader(data)); err != nil {
					t.Fatal(err)
				}
			}
			c, err := p.capture()
			if err != nil {
				t.Fatal(err)
			}
			got, workers := map[string]int{}, 0
			for _, s := range c.Goroutines.Sites {
				if s.Root == "main.work" {
					workers += s.In
				}
				if s.Op == Receive {
					got[strings.Replace(described(Site{At: s.At}), " <  ()", "", 1)[1:]+" of "+s.Root] += s.Waiting
					if s.Waiting != s.In {
						t.Errorf("%d in %v, %d waiting", s.In, s.Site, s.Waiting)
					}
				}
			}
			for key, n := range test.want {
				if got[key] != n {
					t.Errorf("goroutines %v, want %v", got, test.want)
				}
			}
			if len(got) != len(test.want) || c.CPU.Sites[0].At.Function != test.cpu {
				t.Errorf("goroutines %v, want %v; CPU at %v, want %s", got, test.want, c.CPU.Sites[0].At, test.cpu)
			}
			if want := strings.Count(test.text, "group.go:69"); workers != want {
				t.Errorf("%d workers, want %d", workers, want)
			}
			if stage := c.CPU.Stages[0].Root; stage != "main.work" {
				t.Errorf("CPU of %s, want main.work", stage)
			}
		})
	}
}

// The names of this module's functions are those that its own goroutines have.
func TestLibraryLive(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	full, empty := sluice.NewBounded[int](1, nil), sluice.NewBounded[int](64, nil)
	elastic, sharded := sluice.NewElastic[int](64, nil), sluice.NewSharded[int](64, nil)
	if err := full.Send(ctx, 1); err != nil {
		t.Fatal(err)
	}
	out := sluice.NewBounded[int](1, nil)
	want := map[string]Op{}
	start := func(name string, op Op, f func()) { want[name] = op; go f() }
	start("liveSend", Send, func() { liveSend(ctx, full) })
	start("liveRecv", Receive, func() { liveRecv(ctx, empty) })
	start("liveValues", Range, func() { liveValues(ctx, sharded) })
	start("liveBatches", Range, func() { liveBatches(ctx, elastic) })
	start("liveSelect", Select, func() { liveSelect(ctx, empty, sharded) })
	start("liveFan", Select, func() { liveFan(ctx, out, empty) })
	start("liveRun", Wait, func() { liveRun(ctx, empty) })
	deadline := time.Now().Add(20 * time.Second)
	for {
		missing := liveMissing(t, want)
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s", missing)
		}
		time.Sleep(time.Millisecond)
	}
}

//go:noinline
func liveSend(ctx context.Context, c *sluice.Bounded[int]) { _ = c.Send(ctx, 1) }

//go:noinline
func liveRecv(ctx context.Context, c *sluice.Bounded[int]) { _, _ = c.Recv(ctx) }

//go:noinline
func liveValues(ctx context.Context, c *sluice.Sharded[int]) {
	for range c.Values(ctx).All() {
	}
}

//go:noinline
func liveBatches(ctx context.Context, c *sluice.Elastic[int]) {
	for range batch.Receive(ctx, c, 8, &batch.Options[int]{Linger: time.Hour}).All() {
	}
}

//go:noinline
func liveSelect(ctx context.Context, a *sluice.Bounded[int], b *sluice.Sharded[int]) {
	_, _ = sluice.Select(ctx, sluice.OnRecv(a), sluice.OnRecv(b))
}

//go:noinline
func liveFan(ctx context.Context, out, in *sluice.Bounded[int]) { _, _ = fan.In(ctx, out, in) }

//go:noinline
func liveRun(ctx context.Context, c *sluice.Bounded[int]) {
	_ = workers.Run(ctx, sluice.LeaveOpen(c), 2, func(context.Context, int) error { return nil }, nil)
}

// liveMissing returns what the profiles of this process lack.
func liveMissing(t *testing.T, want map[string]Op) string {
	var packed, text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&packed, 0); err != nil {
		t.Fatal(err)
	}
	if err := pprof.Lookup("goroutine").WriteTo(&text, 2); err != nil {
		t.Fatal(err)
	}
	var p parts
	for name, data := range map[string][]byte{"goroutine.pprof": packed.Bytes(), "goroutine.txt": text.Bytes()} {
		if err := p.read(name, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := p.capture()
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for name, op := range want {
		found := ""
		for _, s := range c.Goroutines.Sites {
			if strings.HasSuffix(s.At.Function, "profile."+name) {
				found += " " + string(s.Op) + ","
				if s.Op == op && s.In > 0 && s.Waiting > 0 {
					found = ""
					break
				}
			}
		}
		if found != "" || !placedIn(c, name) {
			missing = append(missing, name+" is not in "+string(op)+", but in"+found)
		}
	}
	for _, s := range c.Goroutines.Sites {
		if strings.HasPrefix(s.At.Function, Module+"/internal") {
			missing = append(missing, "a line of this module: "+s.String())
		}
	}
	return strings.Join(missing, "\n")
}

func placedIn(c *Capture, name string) bool {
	for _, s := range c.Goroutines.Sites {
		if strings.HasSuffix(s.At.Function, "profile."+name) {
			return true
		}
	}
	return false
}
