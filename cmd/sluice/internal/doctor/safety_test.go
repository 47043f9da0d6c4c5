package doctor

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestHazards: each remedy has one entry, with the damage and the evidence. A new remedy without an entry would never be given.
func TestHazards(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "remedy.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "RemedyName" {
			return true
		}
		names++
		text := spec.Values[0].(*ast.BasicLit).Value
		entries := 0
		for _, h := range hazards {
			if `"`+string(h.remedy)+`"` == text {
				entries++
			}
		}
		if entries != 1 {
			t.Errorf("%s has %d entries in hazards, want 1", text, entries)
		}
		return true
	})
	if names != len(hazards) || names == 0 {
		t.Errorf("%d remedies, %d hazards", names, len(hazards))
	}
	for _, h := range hazards {
		// The first two have rules that look for nothing but their evidence.
		own := h.remedy == Promise || h.remedy == ReuseSlices || h.remedy == NoChange
		if h.breaks == "" || h.needs == "" || h.lacks == nil && !own {
			t.Errorf("incomplete: %+v", h)
		}
	}
}

// TestAdviceDocument: the document has the list.
func TestAdviceDocument(t *testing.T) {
	const name, begin, end = "../../../../docs/advice.md", "<!-- hazards -->\n", "<!-- /hazards -->\n"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s: want the list between %q and %q", name, begin, end)
	}
	table := "| remedy | what it can break | evidence without which it is not given | condition in its text |\n|---|---|---|---|\n"
	for _, h := range hazards {
		if h.remedy != NoChange {
			table += fmt.Sprintf("| %s | %s | %s | %s |\n", h.remedy, h.breaks, h.needs, cmp.Or(h.unless, "none"))
		}
	}
	want := before + begin + table + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Errorf("%s differs from hazards (rewrite it with -update)", name)
	} else if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		t.Error(err)
	}
}

// TestUnknownRemedy: a remedy that the list does not have is not given.
func TestUnknownRemedy(t *testing.T) {
	found := &Finding{Remedies: []Remedy{{Name: "reboot"}, {Name: NoChange}}}
	found.keepSafe(gather(service(), Reference()))
	if len(found.Remedies) != 1 || found.Remedies[0].Name != NoChange {
		t.Errorf("%+v", found.Remedies)
	}
}

// locked is a channel used as a lock beside another channel, which carries
// values.
func locked(waiting int) []part {
	acquire, release := at(profile.Send, "(*ledger).book"), at(profile.Receive, "(*ledger).book")
	release.At.Line += 3
	return []part{
		cpu(1.1, shares{profile.ChannelWork: 0.3, profile.ChannelLock: 0.05, profile.AfterPark: 0.27, profile.UserCode: 0.38},
			on{acquire, 0.17, 0.03, 0}, on{release, 0.08, 0.02, 0.02}, on{at(profile.Send, "emit"), 0.05, 0, 0.04}, on{at(profile.Range, "drain"), 0.05, 0, 0.04}),
		goroutinesAt(in(acquire, 15, waiting)), metrics(0.001, 3_000_000),
	}
}

// TestNoHarm: each remedy is given with its evidence, and in a similar program
// without it the reader learns why not.
func TestNoHarm(t *testing.T) {
	with := func(base []part, more ...part) []part { return append(slices.Clone(base), more...) }
	acquire := at(profile.Send, "(*ledger).book")
	guarded := profile.GoroutineSite{Site: at(profile.IO, "(*desk).look"), In: 1, Waiting: 1, Root: "example.com/q.(*desk).serve"}
	several := guarded
	several.In, several.Waiting = 4, 4
	queued := profile.GoroutineSite{Site: at(profile.Send, "(*desk).look"), In: 20, Waiting: 20, Root: guarded.Root}
	waiting := cpu(0.03, shares{profile.UserCode: 0.5, profile.SystemCalls: 0.5})
	future := cpu(1, shares{profile.ChannelWork: 0.2, profile.AfterPark: 0.11, profile.Allocating: 0.15, profile.Scheduling: 0.25, profile.UserCode: 0.29},
		on{send, 0.1, 0.04, 0.05}, on{receive, 0.1, 0.03, 0})
	ahead := profile.GoroutineSite{Site: at(profile.Other, "consume.func1"), Runnable: 8, CreatedBy: profile.Frame{Function: "example.com/q.consume"}}
	one := staged(stagePart{"(*Bus).Put", 1, 0.2, 0.2}, stagePart{"consume", 1, 0.2, 0.2})
	pool := staged(stagePart{"(*Bus).Put", 1, 0.2, 0.2}, stagePart{"consume", 3, 0.2, 0.2})
	reads := func(c *profile.Capture) { // the one goroutine of consume, at another moment
		for i := range c.Goroutines.Sites {
			if s := &c.Goroutines.Sites[i]; s.Site == receive {
				s.In, s.Runnable = 0, 0
			}
		}
		c.Goroutines.Sites = append(c.Goroutines.Sites, profile.GoroutineSite{Site: at(profile.IO, "consume"), Waiting: 1, Root: "example.com/q.consume"})
	}
	poll := at(profile.PollReceive, "poll")
	polled := cpu(1.9, shares{profile.ChannelWork: 0.3, profile.UserCode: 0.7}, on{poll, 0.3, 0, 0})
	loop := func(share float64) part {
		return func(c *profile.Capture) {
			c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: poll.At.Function, All: secs(share * c.CPU.Total.Seconds())})
		}
	}
	leaked := profile.GoroutineSite{Site: send, In: 300, Waiting: 300, Root: "example.com/q.ask"}
	proof := func(c *profile.Capture) {
		c.Leaks = &profile.Leaks{Total: 300, Sites: []profile.GoroutineSite{leaked}}
	}
	holder := profile.GoroutineSite{Site: at(profile.IO, "query"), In: 4, Waiting: 4, Root: leaked.Root}
	for name, test := range map[string]struct {
		remedy     RemedyName
		safe, harm []part
		why        string // the reason against it
	}{
		"slots for a lock":          {Buffer, pipelineService, locked(14), "may be a limit"},
		"batches of a lock":         {Batch, hotService, locked(14), "may be a lock"},
		"slots, no receiver known":  {Buffer, pipelineService, []part{pipelineService[0], metrics(0, 3_000_000), woke(profile.Pair{Waker: at(profile.Receive, "(*Bus).Put"), Sleeper: send, Count: 9})}, "number of concurrent holders"},
		"slots in a full channel":   {Buffer, pipelineService, []part{pipelineService[0], goroutinesAt(in(send, 3, 3)), woke(profile.Pair{Waker: receive, Sleeper: send, Count: 9}), metrics(0, 3_000_000)}, "no receive waits"},
		"a slot for a semaphore":    {Buffer, []part{waiting, goroutinesAt(leaked), proof}, []part{waiting, goroutinesAt(leaked, holder), proof}, "may limit how many"},
		"stages of a pool":          {Fuse, with(pipelineService, one), with(pipelineService, pool), "3 goroutines run the range at q.consume (q.go:7), at the same time"},
		"a stage that reads":        {Fuse, with(pipelineService, one), with(pipelineService, one, reads), "also waits at the I/O"},
		"calls that overlap":        {Fuse, []part{future, goroutinesAt(in(receive, 8, 3)), making(0.06, "consume")}, []part{future, goroutinesAt(in(receive, 1, 1), ahead), making(0.06, "consume")}, ""},
		"a lock held across I/O":    {LargerPool, []part{waiting, goroutinesAt(queued, several)}, []part{waiting, goroutinesAt(queued, guarded)}, "may be a lock"},
		"a loop with other work":    {Block, []part{polled, loop(0.6)}, []part{polled, loop(0.9)}, "other work between the attempts"},
		"a semaphore's mutex":       {Mutex, ledgerService(acquire, 0.4), ledgerService(acquire, 3), "it is a semaphore"},
		"shards of a single sender": {Shard, hotService, []part{hotService[0], goroutinesAt(in(send, 1, 0), in(receive, 2, 0)), hotService[2], hotService[3]}, "one goroutine sends"},
	} {
		gives := func(d *Diagnosis) bool {
			return slices.ContainsFunc(d.Findings, func(f Finding) bool {
				return slices.ContainsFunc(f.Remedies, func(r Remedy) bool { return r.Name == test.remedy })
			})
		}
		if d := diagnose(test.safe...); !gives(d) {
			t.Errorf("%s: not given where it is safe: %s\n%+v", name, d.Answer, d.Findings)
		}
		d := diagnose(test.harm...)
		said := test.why == "" || slices.ContainsFunc(d.Findings, func(f Finding) bool {
			return slices.ContainsFunc(f.RuledOut, func(n RuledOut) bool { return n.Name == test.remedy && strings.Contains(n.Why, test.why) })
		})
		if gives(d) || !said {
			t.Errorf("%s: %s\n%+v", name, d.Answer, d.Findings)
		}
	}
}

// TestLockBeside: a lock that costs as much as another channel is found if the
// trace shows that its users wake each other.
func TestLockBeside(t *testing.T) {
	acquire, release := at(profile.Send, "(*ledger).book"), at(profile.Receive, "(*ledger).book")
	release.At.Line += 3
	emit, drain := at(profile.Send, "emit"), at(profile.Range, "drain")
	own := woke(profile.Pair{Waker: release, Sleeper: acquire, Count: 9000}, profile.Pair{Waker: emit, Sleeper: drain, Count: 9000})
	other := woke(profile.Pair{Waker: drain, Sleeper: acquire, Count: 9000}, profile.Pair{Waker: emit, Sleeper: drain, Count: 9000})
	for name, test := range map[string]struct {
		trace part
		want  bool
	}{"wake each other": {own, true}, "woken by another function": {other, false}, "no trace": {metrics(0, 0), false}} {
		d := diagnose(append(locked(14), test.trace)...)
		f := d.found(UsedAsLock)
		if (f != nil) != test.want || f != nil && (f.Best().Name != Mutex || f.At.Line != acquire.At.Line) {
			t.Errorf("%s: %s %+v", name, d.Answer, f)
		}
	}
}

// TestPartOfAMutex: a mutex saves its own part of the channels' cost.
func TestPartOfAMutex(t *testing.T) {
	f := factsOf(locked(14)...)
	all, part := f.mutex("", guard{transfers: 1}).Gain, f.mutex("", guard{transfers: 1, part: 0.4}).Gain
	if part.Mid >= all.Mid || part.High >= all.High || part.Mid < 1 {
		t.Errorf("all of it %s, a part %s", all, part)
	}
}

// TestNoHarmBehindRules: rules do not suggest these remedies without the
// evidence today, and could not.
func TestNoHarmBehindRules(t *testing.T) {
	busy := cpu(1.9, shares{profile.ChannelWork: 0.5, profile.UserCode: 0.5}, on{send, 0.25, 0, 0}, on{receive, 0.25, 0, 0})
	light := cpu(1.2, shares{profile.ChannelWork: 0.9, profile.UserCode: 0.1}, on{send, 0.45, 0, 0}, on{receive, 0.45, 0, 0.1})
	selects := cpu(1.2, shares{profile.ChannelWork: 0.9, profile.UserCode: 0.1}, on{choose, 0.9, 0, 0.1}, on{receive, 0.1, 0, 0.1})
	for _, test := range []struct {
		remedy     RemedyName
		at         profile.Site
		safe, harm []part
	}{
		{LowerGOMAXPROCS, send, []part{light}, []part{busy}},
		{LowerGOMAXPROCS, send, []part{light}, nil},
		{Elastic, choose, []part{selects}, []part{cpu(1, shares{profile.ChannelWork: 1}, on{choose, 0.5, 0, 0}, on{receive, 0.5, 0, 0})}},
		{MergeChannels, choose, []part{selects}, []part{selects, goroutinesAt(in(choose, 9, 0))}},
		{MergeChannels, choose, []part{selects}, nil},
		{SeparateDone, choose, []part{selects}, []part{light}},
		{Block, at(profile.PollReceive, "poll"), []part{cpu(1, shares{profile.ChannelWork: 1}, on{at(profile.PollReceive, "poll"), 1, 0, 0})}, nil},
		{Mutex, send, []part{light}, nil},
		{Batch, send, []part{light}, nil},
	} {
		given := func(parts []part) bool {
			where := place(test.at)
			found := &Finding{At: &where, Remedies: []Remedy{{Name: test.remedy}}}
			found.keepSafe(gather(service(parts...), Reference()))
			return len(found.Remedies) == 1
		}
		if !given(test.safe) || given(test.harm) {
			t.Errorf("%s: given %v where it is safe, %v where it is not", test.remedy, given(test.safe), given(test.harm))
		}
	}
	found := &Finding{Remedies: []Remedy{{Name: HandOff}}}
	if found.keepSafe(gather(service(pipelineService...), Reference())); len(found.Remedies) != 0 || len(found.RuledOut) != 1 {
		t.Errorf("%+v", found)
	}
}

// ledgerService is a channel used as a lock, with cores of work behind it.
func ledgerService(acquire profile.Site, cores float64) []part {
	release := at(profile.Receive, "(*ledger).book")
	release.At.Line += 3
	return []part{
		cpu(1.1, shares{profile.ChannelWork: 0.23, profile.ChannelLock: 0.06, profile.AfterPark: 0.29, profile.UserCode: 0.42},
			on{acquire, 0.1, 0.01, 0}, on{release, 0.19, 0.05, 0.1}),
		goroutinesAt(in(acquire, 15, 14)),
		func(c *profile.Capture) {
			c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: acquire.At.Function, All: secs((cores + 0.32) * watched.Seconds())})
		},
	}
}

// TestNoHarmInFixtures goes through every rule and every capture of doctorlab:
// no remedy is given without its evidence and its condition, although the rules
// by themselves suggest some.
func TestNoHarmInFixtures(t *testing.T) {
	folders, err := filepath.Glob("../../../../bench/doctorlab/trial/testdata/*/*/capture.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d captures, %v", len(folders), err)
	}
	given, withheld := 0, 0
	for _, folder := range folders {
		capture, err := profile.Open(filepath.Dir(folder))
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		f := gather(capture, Reference())
		for _, r := range rules {
			if r.shares && !f.loaded {
				continue
			}
			found := r.look(f)
			if found == nil {
				continue
			}
			found.Kind = r.kind
			before := len(found.Remedies)
			found.finish(f)
			withheld += before - len(found.Remedies)
			for _, remedy := range found.Remedies {
				given++
				at := slices.IndexFunc(hazards, func(h hazard) bool { return h.remedy == remedy.Name })
				if at < 0 || !strings.Contains(remedy.How, hazards[at].unless) {
					t.Fatalf("%s: %s: %s is without its condition: %s", folder, found.Text, remedy.Name, remedy.How)
				}
				if lacks := hazards[at].lacks; lacks != nil && lacks(f, found) != "" {
					t.Errorf("%s: %s: %s, but %s", folder, found.Text, remedy.Name, lacks(f, found))
				}
			}
		}
	}
	if given < 30 || withheld < 3 {
		t.Errorf("%d remedies given, %d withheld: too few to show anything", given, withheld)
	}
}

// TestEnclosing: function literals belong to the function around them.
func TestEnclosing(t *testing.T) {
	for function, want := range map[string]string{
		"main.f":                  "main.f",
		"main.f.func1":            "main.f",
		"main.(*T).f.func2.3":     "main.(*T).f",
		"example.com/q.funcs":     "example.com/q.funcs",
		"example.com/v2.1/q.f":    "example.com/v2.1/q.f",
		"example.com/q.T.f.func1": "example.com/q.T.f",
	} {
		if got := enclosing(function); got != want {
			t.Errorf("%s: %s, want %s", function, got, want)
		}
	}
}
