package inspect_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// listedAs returns what Channels lists under a name.
func listedAs(name string) (found []inspect.Channel) {
	for _, n := range inspect.Channels() {
		if n.Name == name {
			found = append(found, n)
		}
	}
	return found
}

// Each kind, over each of its engines, is listed as what it is, with its figures.
func TestChannelsListsKinds(t *testing.T) {
	name := t.Name()
	bounded := &sluice.BoundedOptions[int]{Name: name}
	elastic := &sluice.ElasticOptions[int]{Name: name}
	sized := &sluice.ElasticOptions[int]{Name: name, LimitBytes: 100, Size: func(int) int { return 1 }}
	all := []sluice.Channel[int]{
		sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Name: name}),
		sluice.NewBounded(4, bounded), sluice.NewBounded(64, bounded), sluice.NewBounded(1<<20, bounded),
		sluice.NewElastic(64, elastic), sluice.NewElastic(64, sized),
		sluice.NewSharded(64, &sluice.ShardedOptions[int]{Name: name}),
		sluice.NewBounded(64, &sluice.BoundedOptions[int]{Name: name, SingleSender: true}),
	}
	want := []string{"Rendezvous", "Bounded", "Bounded", "Bounded", "Elastic", "Elastic", "Sharded", "Bounded"}
	for i, c := range all {
		for range min(i, c.Cap()) {
			if err := c.TrySend(1); err != nil {
				t.Fatal(err)
			}
		}
	}
	found := listedAs(name)
	if len(found) != len(all) {
		t.Fatalf("%d are listed of %d", len(found), len(all))
	}
	for i, n := range found {
		stats, ok := n.Stats()
		direct := all[i].Stats()
		stats.OldestValue, direct.OldestValue = 0, 0 // the clock has advanced
		if !ok || n.Kind != want[i] || stats != direct {
			t.Errorf("%d: %s, %v, %+v; want %s, %+v", i, n.Kind, ok, stats, want[i], direct)
		}
		if i > 0 && n.ID <= found[i-1].ID {
			t.Errorf("ID %d follows %d", n.ID, found[i-1].ID)
		}
	}
	runtime.KeepAlive(all)
}

func TestChannelsWithoutNameAreNotListed(t *testing.T) {
	before := len(inspect.Channels())
	c := sluice.NewBounded[int](64, nil)
	d := sluice.NewSharded[int](64, &sluice.ShardedOptions[int]{})
	if after := len(inspect.Channels()); after > before {
		t.Errorf("%d channels are listed, before it were %d", after, before)
	}
	if _, ok := (inspect.Channel{}).Stats(); ok {
		t.Error("the zero Named has Stats")
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(d)
}

// The list keeps nothing alive, and what is garbage leaves it; the others stay,
// in order.
func TestChannelsForgetsGarbage(t *testing.T) {
	const made, kept = 100, 7
	name := t.Name()
	var stay []*sluice.Bounded[int]
	for i := range made {
		c := sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: name})
		if err := c.TrySend(i); err != nil { // not drained
			t.Fatal(err)
		}
		if i%(made/kept) == 0 && len(stay) < kept {
			stay = append(stay, c)
		}
	}
	all := listedAs(name)
	runtime.GC()
	alive := slices.DeleteFunc(slices.Clone(all), func(n inspect.Channel) bool { _, ok := n.Stats(); return !ok })
	if len(all) != made || len(alive) != kept {
		t.Fatalf("%d were listed, %d are alive, %d are referred to", len(all), len(alive), kept)
	}
	for len(listedAs(name)) > kept { // the test's deadline ends it if they stay
		runtime.GC()
		runtime.Gosched()
	}
	for i, n := range listedAs(name) {
		if n.ID != alive[i].ID {
			t.Errorf("%d: ID %d, want %d", i, n.ID, alive[i].ID)
		}
	}
	runtime.KeepAlive(stay)
}

// A Lane keeps its channel in use, so it stays listed when nothing else does.
func TestChannelsListsWhatALaneKeeps(t *testing.T) {
	lane := sluice.NewSharded[int](64, &sluice.ShardedOptions[int]{Name: t.Name()}).Lane()
	runtime.GC()
	runtime.GC()
	if err := lane.Send(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	found := listedAs(t.Name())
	if len(found) != 1 {
		t.Fatalf("%d are listed", len(found))
	}
	if stats, ok := found[0].Stats(); !ok || stats.Len != 1 {
		t.Errorf("%+v, %v", stats, ok)
	}
	runtime.KeepAlive(lane)
}

// A tank is a channel of somebody else's kind.
type tank struct {
	fill int
	_    []int // with a pointer: what has none shares its memory with others while small, and lives as long
}

func (t *tank) Stats() sluice.Stats {
	return sluice.Stats{Len: t.fill, BytesOnDisk: 7, Warning: "leaks"}
}

// What is enlisted is listed as it was told, after those made before, and not kept
// alive; without a name it is not listed.
func TestRegister(t *testing.T) {
	name := fmt.Sprint(t.Name(), rand.Uint64()) // what runs before listed may live on
	first := sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: name})
	mine := &tank{fill: 3}
	inspect.Register(name, "Tank", mine)
	inspect.Register("", "Tank", &tank{fill: 5})
	found := listedAs(name)
	if len(found) != 2 || found[0].Kind != "Bounded" || found[1].Kind != "Tank" {
		t.Fatalf("listed are %v", found)
	}
	if stats, ok := found[1].Stats(); !ok || stats != mine.Stats() {
		t.Errorf("Stats are %+v, %v", stats, ok)
	}
	for _, n := range inspect.Channels() {
		if n.Name == "" {
			t.Errorf("listed without a name: %+v", n)
		}
	}
	runtime.KeepAlive(mine)
	runtime.KeepAlive(first)
	mine = nil
	for range 100 {
		if runtime.GC(); len(listedAs(name)) == 1 {
			break
		}
		runtime.Gosched()
	}
	if _, ok := found[1].Stats(); ok {
		t.Error("an enlisted channel is kept alive")
	}
	runtime.KeepAlive(first)
}

func TestRegisterRefusesNil(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Enlist of nil did not panic")
		}
	}()
	inspect.Register[tank](t.Name(), "Tank", nil)
}
