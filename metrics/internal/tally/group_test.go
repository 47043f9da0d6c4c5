package tally

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice"
)

// At most limit names have series; the others are counted together, and how many
// they are is told.
func TestLimit(t *testing.T) {
	w := newWorld(2)
	w.sent("a", 1)
	w.sent("b", 10)
	if look := w.Look(); len(look.Series) != 2 || look.OtherNames != 0 {
		t.Fatalf("nobody is too many, but: %+v", look)
	}
	w.sent("c", 100)
	w.sent("d", 1000)
	w.sent("d", 10000)
	w.sent("a", 2)
	if got, want := w.sums(t), map[string]int64{"a": 3, "b": 10, Other: 11100}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	look := w.Look()
	if last := look.Series[2]; look.OtherNames != 2 || last.Open != 3 || last.Kind != Other {
		t.Errorf("%d others: %+v", look.OtherNames, last)
	}
}

// A name of several kinds takes a place for each.
func TestLimitIsOfNamesAndKinds(t *testing.T) {
	w := newWorld(2)
	for _, kind := range []string{"x", "y", "z"} {
		w.channel("a", kind, sluice.Stats{Sent: 1})
	}
	look := w.Look()
	if len(look.Series) != 3 || look.OtherNames != 1 || look.Series[2].Name != Other || look.Series[2].Sent != 1 {
		t.Errorf("%+v", look)
	}
}

// A place is taken from the name that has been without channels for longest, and only
// when another needs it; what it counted goes with it.
func TestEviction(t *testing.T) {
	w := newWorld(3)
	a, b := w.sent("a", 1), w.sent("b", 2)
	w.sent("c", 4)
	w.Look()
	w.garbage(b)
	w.Look()
	w.garbage(a)
	if got, want := w.sums(t), map[string]int64{"a": 1, "b": 2, "c": 4}; !maps.Equal(got, want) {
		t.Fatalf("all are dead, nobody needs a place: %v", got)
	}
	d := w.sent("d", 8)
	if got, want := w.sums(t), map[string]int64{"a": 1, "c": 4, "d": 8}; !maps.Equal(got, want) {
		t.Errorf("b is dead for longest: %v", got)
	}
	// In one look a channel dies and two names come: a goes, and d.
	w.garbage(d)
	w.sent("e", 16)
	w.sent("f", 32)
	w.sent("g", 64)
	if got, want := w.sums(t), map[string]int64{"e": 16, "c": 4, "f": 32, Other: 64}; !maps.Equal(got, want) {
		t.Errorf("two places for three: %v", got)
	}
	if len(w.groups) != 4 {
		t.Errorf("%d groups are remembered", len(w.groups))
	}
}

// That there was no place in one look says nothing of the next.
func TestPlaceInTheNextLook(t *testing.T) {
	w := newWorld(1)
	a := w.sent("a", 1)
	w.sent("b", 2)
	w.Look()
	w.garbage(a)
	w.sent("c", 4)
	if got, want := w.sums(t), map[string]int64{"c": 4, Other: 2}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A name that has channels stays where it is, also when there is a place again; when
// all of them are garbage and it comes back, it can have one, and begins at zero.
func TestNamesDoNotMove(t *testing.T) {
	w := newWorld(1)
	a, b := w.sent("a", 1), w.sent("b", 10)
	w.Look()
	w.garbage(a)
	b2 := w.sent("b", 20)
	if got, want := w.sums(t), map[string]int64{"a": 1, Other: 30}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	w.garbage(b)
	w.garbage(b2)
	w.Look()
	w.sent("b", 40)
	if got, want := w.sums(t), map[string]int64{"b": 40, Other: 30}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := w.Look().OtherNames; n != 0 {
		t.Errorf("%d others", n)
	}
}

// A name that lives again before its place was taken is not the next to go.
func TestNamesLiveAgain(t *testing.T) {
	w := newWorld(1)
	a := w.sent("a", 1)
	w.Look()
	w.garbage(a)
	w.Look()
	w.sent("a", 2)
	w.sent("b", 4)
	if got, want := w.sums(t), map[string]int64{"a": 3, Other: 4}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A name whose new channel comes in the same look as that of another name, which needs
// a place, is not the one to go: its counter would fall from one look to the next.
func TestNamesThatComeBackStay(t *testing.T) {
	w := newWorld(1)
	a := w.sent("a", 5)
	w.Look()
	w.garbage(a)
	w.sent("b", 4)
	w.sent("a", 2)
	if got, want := w.sums(t), map[string]int64{"a": 7, Other: 4}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Who is called as the others are is one of them, and takes no place.
func TestNameOfTheOthers(t *testing.T) {
	w := newWorld(1)
	f := w.sent(Other, 1)
	w.sent("a", 2)
	w.sent("b", 4)
	if got, want := w.sums(t), map[string]int64{"a": 2, Other: 5}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	w.garbage(f)
	if look := w.Look(); look.OtherNames != 1 || look.Series[1].Open != 1 {
		t.Errorf("%+v", look)
	}
}

// Channels are made, count, and die at random. Whatever they do: counters do not fall,
// nothing is counted twice or forgotten, there are no more series than the limit says,
// and nothing is remembered of what is neither alive nor in a series.
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
			counted -= unseen[f] // nobody can know
			delete(unseen, f)
		default:
			clear(unseen)
			now := w.sums(t)
			var told int64
			for name, sum := range now {
				told += sum
				if was, known := before[name]; known && sum < was {
					fail(step, "%s fell from %d to %d", name, was, sum)
				}
			}
			for name, was := range before {
				if _, stays := now[name]; !stays {
					gone += was
				}
			}
			if told+gone != counted {
				fail(step, "%d is told, %d went, of %d", told, gone, counted)
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
