package tally

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice"
)

// TestLimit: at most limit names have series; the others are added up and counted.
func TestLimit(t *testing.T) {
	w := newWorld(2)
	w.sent("a", 1)
	w.sent("b", 10)
	if look := w.Collect(); len(look.Series) != 2 || look.OtherNames != 0 {
		t.Fatalf("below the limit: %+v", look)
	}
	w.sent("c", 100)
	w.sent("d", 1000)
	w.sent("d", 10000)
	w.sent("a", 2)
	if got, want := w.sums(t), map[string]int64{"a": 3, "b": 10, Other: 11100}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	look := w.Collect()
	if last := look.Series[2]; look.OtherNames != 2 || last.Open != 3 || last.Kind != Other {
		t.Errorf("%d others: %+v", look.OtherNames, last)
	}
}

// TestLimitIsOfNamesAndKinds: a name takes a place for each of its kinds.
func TestLimitIsOfNamesAndKinds(t *testing.T) {
	w := newWorld(2)
	for _, kind := range []string{"x", "y", "z"} {
		w.channel("a", kind, sluice.Stats{Sent: 1})
	}
	look := w.Collect()
	if len(look.Series) != 3 || look.OtherNames != 1 || look.Series[2].Name != Other || look.Series[2].Sent != 1 {
		t.Errorf("%+v", look)
	}
}

// TestEviction: the name that has had no channels for the longest time loses its place,
// with its counts, only when another name needs it.
func TestEviction(t *testing.T) {
	w := newWorld(3)
	a, b := w.sent("a", 1), w.sent("b", 2)
	w.sent("c", 4)
	w.Collect()
	w.garbage(b)
	w.Collect()
	w.garbage(a)
	if got, want := w.sums(t), map[string]int64{"a": 1, "b": 2, "c": 4}; !maps.Equal(got, want) {
		t.Fatalf("without new names: %v", got)
	}
	d := w.sent("d", 8)
	if got, want := w.sums(t), map[string]int64{"a": 1, "c": 4, "d": 8}; !maps.Equal(got, want) {
		t.Errorf("b was without channels for the longest time: %v", got)
	}
	// In one look a channel dies and two names come: a goes, and d.
	w.garbage(d)
	w.sent("e", 16)
	w.sent("f", 32)
	w.sent("g", 64)
	if got, want := w.sums(t), map[string]int64{"e": 16, "c": 4, "f": 32, Other: 64}; !maps.Equal(got, want) {
		t.Errorf("three names, limit 2: %v", got)
	}
	if len(w.groups) != 4 {
		t.Errorf("%d groups are kept", len(w.groups))
	}
}

// TestPlaceInTheNextCollection: a collection without a free place does not affect the next
// one.
func TestPlaceInTheNextCollection(t *testing.T) {
	w := newWorld(1)
	a := w.sent("a", 1)
	w.sent("b", 2)
	w.Collect()
	w.garbage(a)
	w.sent("c", 4)
	if got, want := w.sums(t), map[string]int64{"c": 4, Other: 2}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNamesDoNotMove: a name with channels does not change series, even if a place
// becomes free. When all of its channels are garbage and it comes back, it can get a
// place, and begins at zero.
func TestNamesDoNotMove(t *testing.T) {
	w := newWorld(1)
	a, b := w.sent("a", 1), w.sent("b", 10)
	w.Collect()
	w.garbage(a)
	b2 := w.sent("b", 20)
	if got, want := w.sums(t), map[string]int64{"a": 1, Other: 30}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	w.garbage(b)
	w.garbage(b2)
	w.Collect()
	w.sent("b", 40)
	if got, want := w.sums(t), map[string]int64{"b": 40, Other: 30}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := w.Collect().OtherNames; n != 0 {
		t.Errorf("%d others", n)
	}
}

// TestNamesLiveAgain: a name that gets a channel before it loses its place is not the
// next to lose it.
func TestNamesLiveAgain(t *testing.T) {
	w := newWorld(1)
	a := w.sent("a", 1)
	w.Collect()
	w.garbage(a)
	w.Collect()
	w.sent("a", 2)
	w.sent("b", 4)
	if got, want := w.sums(t), map[string]int64{"a": 3, Other: 4}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNamesThatComeBackStay: a name that gets a new channel in the same collection in
// which another name needs a place keeps its place; otherwise its counter would fall.
func TestNamesThatComeBackStay(t *testing.T) {
	w := newWorld(1)
	a := w.sent("a", 5)
	w.Collect()
	w.garbage(a)
	w.sent("b", 4)
	w.sent("a", 2)
	if got, want := w.sums(t), map[string]int64{"a": 7, Other: 4}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNameOfTheOthers: a channel with the name _OTHER is added to the other names, and
// takes no place.
func TestNameOfTheOthers(t *testing.T) {
	w := newWorld(1)
	f := w.sent(Other, 1)
	w.sent("a", 2)
	w.sent("b", 4)
	if got, want := w.sums(t), map[string]int64{"a": 2, Other: 5}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	w.garbage(f)
	if look := w.Collect(); look.OtherNames != 1 || look.Series[1].Open != 1 {
		t.Errorf("%+v", look)
	}
}

// TestRandomLives creates, uses and drops channels at random. Counters never fall, no
// count is added twice or lost, the number of series stays within the limit, and the
// memory is bounded by the channels and series.
func TestRandomLives(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	const limit, names, steps = 4, 9, 3000
	w := newWorld(limit)
	var counted, gone int64      // what all channels counted; what went with series
	unseen := map[*fake]int64{}  // counted since the last look
	before := map[string]int64{} // of each series
	fail := func(step int, format string, args ...any) {
		t.Fatalf("seed %d, step %d: %s", seed, step, fmt.Sprintf(format, args...))
	}
	for step := range steps {
		switch n := random.IntN(10); {
		case n < 3:
			f := w.sent(fmt.Sprint(random.IntN(names)), 1)
			unseen[f]++
			counted++
		case n < 6 && len(w.alive) > 0:
			f := w.alive[random.IntN(len(w.alive))]
			f.send(5)
			unseen[f] += 5
			counted += 5
		case n < 8 && len(w.alive) > 0:
			f := w.alive[random.IntN(len(w.alive))]
			w.garbage(f)
			counted -= unseen[f] // counts after the last collection are lost
			delete(unseen, f)
		default:
			clear(unseen)
			now := w.sums(t)
			var exported int64
			for name, sum := range now {
				exported += sum
				if was, known := before[name]; known && sum < was {
					fail(step, "%s fell from %d to %d", name, was, sum)
				}
			}
			for name, was := range before {
				if _, stays := now[name]; !stays {
					gone += was
				}
			}
			if exported+gone != counted {
				fail(step, "%d exported and %d evicted of %d", exported, gone, counted)
			}
			alive := map[string]bool{}
			for i := range w.last {
				alive[w.last[i].group.key.name] = true
			}
			if len(w.own) > limit || len(now) > limit+1 || len(w.last) != len(w.alive) || len(w.groups) > limit+len(alive) {
				fail(step, "%d series, %d of %d channels, %d groups of %d names", len(now), len(w.last), len(w.alive), len(w.groups), len(alive))
			}
			before = now
		}
	}
}
