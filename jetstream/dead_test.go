package jetstream

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A dead letter that is stored twice, as its acknowledgment was lost, exists once.
func TestDeadLetterOnce(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	p := newest(1)
	p.data = []byte("1")
	other := newest(2)
	other.data = []byte("2")
	for _, p := range []*message{p, p, other} {
		if err := c.core.dead.store(t.Context(), p, "a reason"); err != nil {
			t.Fatal(err)
		}
	}
	dead, err := c.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave(t, dead)
	mustHold(t, dead, 2)
}

// A value whose dead letter cannot be stored is redelivered, and not counted.
func TestDeadLetterFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Another channel has the name.
	foreign := open(t, Options[string]{Name: "jobs" + deadSuffix, Dir: dir})
	o := Options[int]{Name: "jobs", Dir: dir, AckWait: 2 * time.Hour, NackDelay: -1, MaxDeliver: 2, Log: mute()}
	c := open(t, o)
	mustSend(t, c, 1)
	for want := range 2 {
		d := mustDeliver(t, c)
		if d.Attempt != want+1 {
			t.Errorf("attempt %d, want %d", d.Attempt, want+1)
		}
		if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
	}
	mustHold(t, c, 1)
	if n := c.Stats().Dropped; n != 0 || foreign.Len() != 0 {
		t.Errorf("%d dead letters, %d values in another channel", n, foreign.Len())
	}
	o.MaxDeliver = -1
	if d := mustDeliver(t, open(t, o)); d.Attempt < 3 {
		t.Errorf("redelivered as attempt %d", d.Attempt)
	}
}

// Recv fails for a dead letter that cannot be decoded; it is redelivered to
// receivers of deliveries. Dead letters have no dead letters of their own.
func TestDeadLetterUnreadable(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{NackDelay: -1, MaxDeliver: 1, Log: mute()})
	if err := c.core.dead.store(t.Context(), &message{key: key{seq: 1}, data: []byte("no number")}, "a reason"); err != nil {
		t.Fatal(err)
	}
	dead, err := c.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave(t, dead)
	for range 3 {
		if v, err := dead.Recv(patient(t)); err == nil || !strings.Contains(err.Error(), "invalid character") {
			t.Errorf("Recv of a dead letter that cannot be decoded: %d, %v", v, err)
		}
	}
	called := false
	d := mustDeliver(t, dead)
	settle := AckEach(func(context.Context, int) error { called = true; return nil })
	if err := settle(t.Context(), d); err != nil || called {
		t.Errorf("AckEach of a dead letter that cannot be decoded: %v, called: %v", err, called)
	}
	if d = mustDeliver(t, dead); d.Attempt != 5 || d.Reason != "a reason" || string(d.Raw) != "no number" || d.Err == nil {
		t.Errorf("the fifth time: %+v", d)
	}
	if s := dead.Stats(); s.Received != 2 || s.Dropped != 0 {
		t.Errorf("Stats of the dead letters: %+v", s)
	}
}
