package tally

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// seriesOf returns the series of each name.
func (w *world) seriesOf(t *testing.T, names ...string) (found []Series) {
	t.Helper()
	all := w.Collect().Series
	for _, name := range names {
		at := slices.IndexFunc(all, func(s Series) bool { return s.Name == name })
		if at < 0 {
			t.Fatalf("no series %q in %+v", name, all)
		}
		found = append(found, all[at])
	}
	return found
}

// missing returns the instruments that have no figure for s.
func missing(s Series) (names []string) {
	for i := range Instruments {
		if Instruments[i].Missing(&s) {
			names = append(names, Instruments[i].Name)
		}
	}
	return names
}

// TestStuck: a channel whose Stats block takes the gauges of its name with it, and nothing
// else. Counters stay, and catch up once it answers. However many collections there are, one
// call is under way, and only the first collection waits.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		bad, twin, beside := w.sent("a", 100), w.sent("a", 10), w.sent("b", 1)
		w.Collect()
		unblock := bad.block()
		for i := range 50 {
			twin.send(1)
			beside.send(1)
			begun := time.Now()
			got := w.seriesOf(t, "a", "b")
			if waited := time.Since(begun); (i == 0) != (waited == answerWithin) || waited > answerWithin {
				t.Errorf("collection %d waited %v", i, waited)
			}
			if a := got[0]; a.Unanswered != 1 || a.Sent != int64(111+i) || len(missing(a)) == 0 {
				t.Fatalf("collection %d: %+v", i, a)
			}
			if b := got[1]; b.Unanswered != 0 || b.Sent != int64(2+i) || b.Open != 1 || len(missing(b)) != 0 {
				t.Fatalf("collection %d: another name: %+v", i, b)
			}
			if n := bad.under.Load(); n != 1 {
				t.Fatalf("collection %d: %d calls are under way", i, n)
			}
			time.Sleep(15 * time.Second)
		}
		unblock()
		bad.send(7)
		synctest.Wait()
		if a := w.seriesOf(t, "a")[0]; a.Unanswered != 0 || a.Sent != 167 || a.Open != 2 || len(missing(a)) != 0 {
			t.Errorf("it answers again: %+v", a)
		}
	})
}

// TestStuckFromTheBeginning: a channel that never answered has a series, with its counters at
// zero, and leaves it as garbage does.
func TestStuckFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		bad := w.sent("a", 100)
		unblock := bad.block()
		if a := w.seriesOf(t, "a")[0]; a.Unanswered != 1 || a.Sent != 0 {
			t.Errorf("%+v", a)
		}
		w.garbage(bad)
		w.sent("b", 1)
		if b := w.seriesOf(t, "b")[0]; b.Sent != 1 || b.Unanswered != 0 {
			t.Errorf("in its place: %+v", b)
		}
		unblock()
	})
}

// TestPanics: a Stats that panics is a channel that does not answer.
func TestPanics(t *testing.T) {
	w := newWorld(10)
	bad := new(panicking)
	inspect.Register("a", "panicking", bad)
	listed := inspect.Channels()
	w.alive = append(w.alive, &fake{id: listed[len(listed)-1].ID})
	if a := w.seriesOf(t, "a")[0]; a.Unanswered != 1 || a.Open != 0 {
		t.Errorf("%+v", a)
	}
	runtime.KeepAlive(bad)
}

type panicking struct{ _ int }

func (p *panicking) Stats() sluice.Stats { panic("out of order") }

// TestMissing: counters, and the number of channels that do not answer, are never missing.
func TestMissing(t *testing.T) {
	for i := range Instruments {
		in := &Instruments[i]
		if in.Missing(new(Series)) {
			t.Errorf("%s is missing though all channels answer", in.Name)
		}
		if got, want := in.Missing(&Series{Unanswered: 1}), in.Type != Counter && in.Name != unanswered; got != want {
			t.Errorf("%s: missing is %v", in.Name, got)
		}
	}
}
