package jetstream

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
)

// The changes of a record: each is idempotent, and a generation becomes current only if it
// is planned, not abandoned, and based on the current one.
func TestRecordChanges(t *testing.T) {
	t.Parallel()
	r := &record{}
	change := func(what string, err, want error) {
		t.Helper()
		if err != want {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	change("the first plan", r.plan(generation{ID: "a", Streams: 2}), nil)
	change("again", r.plan(generation{ID: "a", Streams: 2}), errNoChange)
	change("its commit", r.commit("a", ""), nil)
	change("again", r.commit("a", ""), errNoChange)
	change("a plan of a current one", r.plan(generation{ID: "a"}), errNoChange)
	change("a commit without a plan", r.commit("x", "a"), errOvertaken)
	for _, id := range []string{"b", "c", "d"} {
		change("a plan", r.plan(generation{ID: id, Streams: 3}), nil)
	}
	change("abandon", r.abandon("b"), nil)
	change("again", r.abandon("b"), errNoChange)
	change("the commit of an abandoned plan", r.commit("b", "a"), errOvertaken)
	change("a commit", r.commit("c", "a"), nil)
	change("the commit of another plan with the same base", r.commit("d", "a"), errOvertaken)
	change("abandon a current one", r.abandon("c"), errNoChange)
	change("settle", r.settle([]string{"a"}), nil)
	change("again", r.settle([]string{"a", "c"}), errNoChange)
	change("forget an abandoned plan", r.forget("b"), nil)
	change("forget a drained generation", r.forget("a"), nil)
	change("again", r.forget("a"), errNoChange)
	change("a late commit of it", r.commit("a", "c"), errOvertaken)
	r.Closed = true
	change("a plan after Close", r.plan(generation{ID: "e"}), sluice.ErrClosed)
	change("a commit after Close", r.commit("d", "c"), sluice.ErrClosed)
	if r.Current.ID != "c" || r.Current.Streams != 3 || len(r.Prior) != 0 || len(r.Planned) != 1 {
		t.Errorf("the record is %+v", r)
	}
}

// A record of a newer version is rejected, and a compare-and-swap with an old revision.
func TestRecordStore(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 1, Options[string]{Log: mute()})
	store := &c.core.records
	last, revision, err := store.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.swap(t.Context(), &last, revision-1); err == nil {
		t.Error("an old revision is accepted")
	}
	last.Version++
	if _, err := store.swap(t.Context(), &last, revision); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.read(t.Context()); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("reading another version: %v", err)
	}
}

// A value is not sent to a new stream before the old one is settled: a sender that does
// not know of the change, and sends to the old stream meanwhile, comes first.
func TestResizeSettles(t *testing.T) {
	t.Parallel()
	o := keyedOptions(t)
	c, deaf, died := openByKey(t, 2, o), openByKey(t, 2, o), openByKey(t, 2, o)
	deafen(t, deaf)
	settles := make(chan struct{})
	wait := func(name string) error {
		if name == "settle" {
			<-settles
		}
		return nil
	}
	c.core.step.Store(&wait)
	dieAt(died, "seal")
	if err := died.Resize(patient(t), 3); err != errDied {
		t.Fatal(err)
	}
	until(t, "the change is known", func() bool { return c.Stats().Lanes.Count == 3 })
	if err := c.TrySend("k:2"); err != sluice.ErrFull {
		t.Errorf("TrySend before the old streams are settled: %v", err)
	}
	ctx, cancel := withCancel(t)
	cancel()
	if err := c.Send(ctx, "k:2"); !errors.Is(err, context.Canceled) {
		t.Errorf("Send before the old streams are settled: %v", err)
	}
	mustSendKeyed(t, deaf, "k:1")
	close(settles)
	mustSendKeyed(t, c, "k:2")
	mustSendKeyed(t, deaf, "k:3")
	inOrder(t, recvKeyed(t, c, 3), []string{"k:1", "k:2", "k:3"})
}

// A value that may be stored in an old stream is not sent to a new one: it could be stored
// twice.
func TestRerouteUnknown(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 1, Options[string]{Log: mute()})
	now := c.core.layout.Load()
	unknown := &UnknownError{Cause: sluice.ErrClosed}
	if err := c.core.reroute(t.Context(), now, unknown); err != unknown {
		t.Errorf("an unknown outcome: %v", err)
	}
	if err := c.core.reroute(t.Context(), now, ErrDeleted); err != ErrDeleted {
		t.Errorf("a stream that an operator deleted: %v", err)
	}
}

// The stream of a channel that an operator deleted fails its users.
func TestKeyedDeleted(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 2, keyedOptions(t))
	received := make(chan error, 1)
	go func() { _, err := c.Recv(context.Background()); received <- err }()
	until(t, "a receiver waits", func() bool { return c.Stats().ReceiversWaiting == 1 })
	for _, l := range c.core.layout.Load().lanes {
		if err := c.core.conn.js.DeleteStream(t.Context(), l.core.config.name); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-received:
		if err != ErrDeleted {
			t.Errorf("Recv: %v", err)
		}
	case <-patient(t).Done():
		t.Error("the receiver still waits")
	}
	if err := c.Send(patient(t), "k:1"); err != ErrDeleted {
		t.Errorf("Send: %v", err)
	}
}

// A server gets another leader only where that evens out what servers lead.
func TestEvenly(t *testing.T) {
	t.Parallel()
	three := []string{"a", "b", "c"}
	all := []led{{"1", "a", three}, {"2", "a", three}, {"3", "a", three}, {"4", "b", three}, {"5", "a", []string{"a", "d", "e"}}, {stepDown: "no leader"}}
	count := map[string]int{}
	leaders := map[string]string{}
	for _, l := range all {
		leaders[l.stepDown] = l.leader
	}
	for _, move := range evenly(all) {
		leaders[move.stepDown] = move.leader
	}
	for _, leader := range leaders {
		count[leader]++
	}
	if count["a"] > 2 || count["b"] > 2 || count["c"] < 1 || leaders["no leader"] != "" {
		t.Errorf("leaders are %v", leaders)
	}
	if moves := evenly([]led{{"1", "a", three}, {"2", "b", three}}); moves != nil {
		t.Errorf("moves without need: %v", moves)
	}
}
