package park

import (
	"testing"
	"testing/synctest"
	"time"
)

// noToken asserts that c's parker is empty.
func noToken(t *testing.T, c *Choice, when string) {
	t.Helper()
	if n := len(c.parker.token); n != 0 {
		t.Fatalf("%d tokens %s", n, when)
	}
}

// TestChoiceStates walks through the states: who may choose, and who is told to
// put a token down.
func TestChoiceStates(t *testing.T) {
	type attempt struct{ may, unpark bool }
	for name, state := range map[string]struct {
		to           func(c *Choice)
		serve, line  attempt
		servable     bool
		opens, dozes bool
	}{
		"awake":   {func(*Choice) {}, attempt{}, attempt{}, false, false, true},
		"looking": {func(c *Choice) { c.Look() }, attempt{}, attempt{true, false}, false, true, true},
		"open":    {func(c *Choice) { c.Look(); c.Open() }, attempt{true, false}, attempt{true, false}, true, false, true},
		"asleep":  {func(c *Choice) { c.Look(); c.Doze() }, attempt{true, true}, attempt{true, true}, true, false, true},
		"chosen":  {func(c *Choice) { c.Look(); c.Doze(); c.Serve(3) }, attempt{}, attempt{}, false, false, false},
	} {
		made := func() *Choice { c := new(Choice); state.to(c); return c }
		if may, unpark := made().Serve(2); (attempt{may, unpark}) != state.serve {
			t.Errorf("%s: an engine may choose: %v, and is to unpark: %v", name, may, unpark)
		}
		if may, unpark := made().choose(2, looking); (attempt{may, unpark}) != state.line {
			t.Errorf("%s: a line may choose: %v, and is to unpark: %v", name, may, unpark)
		}
		if got := made().Servable(); got != state.servable {
			t.Errorf("%s: Servable is %v", name, got)
		}
		if got := made().Open(); got != state.opens {
			t.Errorf("%s: Open is %v", name, got)
		}
		if got := made().Doze(); got != state.dozes {
			t.Errorf("%s: Doze is %v", name, got)
		}
	}
	c := new(Choice)
	c.Look()
	if c.Open(); c.Chosen() != 0 {
		if may, _ := c.Serve(5); !may || c.Chosen() != 5 {
			t.Errorf("place 5 was chosen, not %d", c.Chosen())
		}
	}
}

// TestChoiceSleeps: a sleep ends by the token of whoever has chosen, or by done;
// if by both, the token is taken.
func TestChoiceSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(Choice)
		for _, chosen := range []bool{true, false} {
			for range 300 {
				done := make(chan struct{})
				c.Look()
				c.Doze()
				go func() {
					time.Sleep(time.Second)
					may := false
					if chosen {
						if may, _ = c.Serve(1); !may {
							t.Error("not to be chosen")
						}
					}
					close(done)
					if may {
						time.Sleep(time.Second) // it has chosen, and the token is late
						c.Parker().Unpark()
					}
				}()
				if woken, _ := c.Sleep(done); woken != chosen {
					t.Fatalf("woken %v, want %v", woken, chosen)
				}
				noToken(t, c, "after a sleep")
				if may, _ := c.Serve(1); may {
					t.Fatal("chosen when awake")
				}
			}
		}
	})
}

// TestLineOfChoices: a line wakes whom it may, passes over whom it may not, and
// keeps the place of either.
func TestLineOfChoices(t *testing.T) {
	var l Line
	var a, b Choice
	var wa, wb, wb2 waiter
	a.Look()
	b.Look()
	l.enter(&wa, &a, 1)
	l.enter(&wb, &b, 2)
	l.enter(&wb2, &b, 3)
	expect(t, &l, wanted, "with three places in line")
	a.Serve(0)
	a.Open()
	a.Serve(0) // elsewhere
	l.Wake()
	expect(t, &l, waking, "with one passed over")
	if b.Chosen() != 2 || a.Chosen() != 0 {
		t.Fatalf("chosen: %d and %d", a.Chosen(), b.Chosen())
	}
	noToken(t, &b, "for one that is awake")
	b.Look()
	l.enter(&wb, &b, 2) // in vain
	l.enter(&wb2, &b, 3)
	a.Look()
	l.enter(&wa, &a, 1)
	expect(t, &l, wanted, "after a wake-up in vain")
	b.Doze()
	l.Wake()
	if waiting := l.Look(0, nil).Waiting; b.Chosen() != 2 || waiting != 2 {
		t.Fatalf("one that was woken in vain is not the first: %d chosen, %d wait", b.Chosen(), waiting)
	}
	b.sleep(nil)
	w := l.join()
	l.exit(&wb)
	l.exit(&wb2)
	expect(t, &l, wanted, "after its end")
	a.Open()
	a.Serve(0)
	l.Wake()
	if !l.park(w, nil) {
		t.Fatal("an ordinary waiter was not woken in its place")
	}
	l.exit(&wa)
	expect(t, &l, waking, "while another holds the wake-up")
	l.leave(w, true)
	expect(t, &l, nobody, "at the end")
}

// TestWakeAllOfChoices: whoever sleeps gets one token, for one of its places.
func TestWakeAllOfChoices(t *testing.T) {
	var l, m Line
	var a, b Choice
	var places [5]waiter
	a.Look()
	b.Look()
	l.enter(&places[0], &a, 0)
	m.enter(&places[1], &a, 1)
	l.enter(&places[2], &a, 2)
	l.enter(&places[3], &b, 0)
	m.enter(&places[4], &b, 1)
	w := l.join()
	a.Doze()
	l.WakeAll()
	m.WakeAll()
	if len(a.parker.token) != 1 || !a.sleep(nil) {
		t.Error("not one token for one that slept")
	}
	noToken(t, &b, "for one that was awake")
	if b.Doze() {
		t.Error("one that was awake is not told")
	}
	l.leave(w, l.park(w, nil))
	for i := range places {
		l.exit(&places[i])
		m.exit(&places[i])
	}
	expect(t, &l, nobody, "at the end")
	expect(t, &m, nobody, "at the end")
}
