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

// named returns the channels with the given name.
func named(name string) (found []inspect.Channel) {
	for _, c := range inspect.Channels() {
		if c.Name == name {
			found = append(found, c)
		}
	}
	return found
}

// unique returns a name for the channels of t: those of an earlier run may still be listed.
func unique(t *testing.T) string { return fmt.Sprint(t.Name(), rand.Uint64()) }

// TestChannelsOfEachKind: Channels lists each kind, on each of its engines, with its
// kind and its Stats.
func TestChannelsOfEachKind(t *testing.T) {
	name := unique(t)
	bounded := &sluice.BoundedOptions[int]{Name: name}
	elastic := &sluice.ElasticOptions[int]{Name: name}
	sized := &sluice.ElasticOptions[int]{Name: name, MaxBytes: 100, Size: func(int) int { return 1 }}
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
	found := named(name)
	if len(found) != len(all) {
		t.Fatalf("%d of %d channels are listed", len(found), len(all))
	}
	for i, c := range found {
		stats, ok := c.Stats()
		direct := all[i].Stats()
		for _, s := range []*sluice.Stats{&stats, &direct} { // the clock has advanced
			s.OldestValue, s.OldestAtLeast, s.OldestAtMost = 0, 0, 0
		}
		if !ok || c.Kind != want[i] || stats != direct {
			t.Errorf("%d: %s, %v, %+v; want %s, %+v", i, c.Kind, ok, stats, want[i], direct)
		}
		if i > 0 && c.ID <= found[i-1].ID {
			t.Errorf("ID %d follows %d", c.ID, found[i-1].ID)
		}
	}
	runtime.KeepAlive(all)
}

func TestChannelsOmitsUnnamed(t *testing.T) {
	before := len(inspect.Channels())
	c := sluice.NewBounded[int](64, nil)
	d := sluice.NewSharded[int](64, &sluice.ShardedOptions[int]{})
	if after := len(inspect.Channels()); after > before {
		t.Errorf("%d channels are listed after two without a name, %d before", after, before)
	}
	if _, ok := (inspect.Channel{}).Stats(); ok {
		t.Error("the zero Channel has Stats")
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(d)
}

// TestChannelsOmitsGarbage: the list keeps no channel alive. A channel that is garbage
// leaves it, and the order of the others does not change.
func TestChannelsOmitsGarbage(t *testing.T) {
	const made, kept = 100, 7
	name := unique(t)
	var channels, referenced []*sluice.Bounded[int]
	for i := range made {
		c := sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: name})
		if err := c.TrySend(i); err != nil { // it still holds a value
			t.Fatal(err)
		}
		channels = append(channels, c)
		if i%(made/kept) == 0 && len(referenced) < kept {
			referenced = append(referenced, c)
		}
	}
	all := named(name)
	runtime.KeepAlive(channels) // until they are listed
	runtime.GC()
	alive := slices.DeleteFunc(slices.Clone(all), func(c inspect.Channel) bool { _, ok := c.Stats(); return !ok })
	if len(all) != made || len(alive) != kept {
		t.Fatalf("%d of %d channels were listed; %d are alive, want %d", len(all), made, len(alive), kept)
	}
	for len(named(name)) > kept { // until the test times out
		runtime.GC()
		runtime.Gosched()
	}
	for i, c := range named(name) {
		if c.ID != alive[i].ID {
			t.Errorf("%d: ID %d, want %d", i, c.ID, alive[i].ID)
		}
	}
	runtime.KeepAlive(referenced)
}

// TestChannelsListsChannelOfLane: a channel to which only a Lane refers is still in use
// and listed.
func TestChannelsListsChannelOfLane(t *testing.T) {
	name := unique(t)
	lane := sluice.NewSharded[int](64, &sluice.ShardedOptions[int]{Name: name}).Lane()
	runtime.GC()
	runtime.GC()
	if err := lane.Send(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	found := named(name)
	if len(found) != 1 {
		t.Fatalf("%d channels are listed, want 1", len(found))
	}
	if stats, ok := found[0].Stats(); !ok || stats.Len != 1 {
		t.Errorf("%+v, %v", stats, ok)
	}
	runtime.KeepAlive(lane)
}

// A tank is a channel of a foreign kind. It contains a pointer, because the tiny
// allocator would combine it with other small objects, and so extend its life.
type tank struct {
	fill int
	_    []int
}

func (t *tank) Stats() sluice.Stats {
	s := sluice.Stats{Len: t.fill}
	s.Disk.Bytes, s.Disk.Warning = 7, "leaks"
	return s
}

// TestRegister: a registered channel is listed with its name and kind after the older
// channels, and is not kept alive. Without a name it is not listed.
func TestRegister(t *testing.T) {
	name := unique(t)
	first := sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: name})
	mine := &tank{fill: 3}
	inspect.Register(name, "Tank", mine)
	inspect.Register("", "Tank", &tank{fill: 5})
	found := named(name)
	if len(found) != 2 || found[0].Kind != "Bounded" || found[1].Kind != "Tank" {
		t.Fatalf("listed: %v", found)
	}
	if stats, ok := found[1].Stats(); !ok || stats != mine.Stats() {
		t.Errorf("Stats: %+v, %v", stats, ok)
	}
	for _, c := range inspect.Channels() {
		if c.Name == "" {
			t.Errorf("listed without a name: %+v", c)
		}
	}
	runtime.KeepAlive(mine)
	runtime.KeepAlive(first)
	mine = nil
	for range 100 {
		if runtime.GC(); len(named(name)) == 1 {
			break
		}
		runtime.Gosched()
	}
	if _, ok := found[1].Stats(); ok {
		t.Error("the list keeps a registered channel alive")
	}
	runtime.KeepAlive(first)
}

func TestRegisterNil(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Register of nil did not panic")
		}
	}()
	inspect.Register[tank](t.Name(), "Tank", nil)
}
