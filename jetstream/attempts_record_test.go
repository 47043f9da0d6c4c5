package jetstream

import (
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// noted returns how many notes there are of values of c.
func noted[T any](t *testing.T, c *Channel[T]) int {
	t.Helper()
	stream, err := c.core.conn.js.Stream(patient(t), c.core.config.name+attemptsSuffix)
	if err != nil {
		t.Fatal(err)
	}
	return int(stream.CachedInfo().State.Msgs)
}

// Where tries cannot be noted, values are handed out all the same, and Stats says so until
// they can.
func TestTriesUnknown(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Name: "jobs", NackDelay: -1, MaxDeliver: 2, Log: mute()})
	foreign := natsjs.StreamConfig{Name: "jobs" + attemptsSuffix, Subjects: []string{"other"}}
	if _, err := c.core.conn.js.CreateStream(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	mustSend(t, c, 1)
	for range 5 {
		if err := mustDeliver(t, c).Nack(); err != nil {
			t.Fatal(err)
		}
		if w := c.Stats().Warning; !strings.Contains(w, `MaxDeliver: stream "jobs-attempts" exists`) {
			t.Fatalf("Stats.Warning: %q", w)
		}
	}
	if err := c.core.conn.js.DeleteStream(t.Context(), foreign.Name); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := mustDeliver(t, c).Nack(); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Dropped != 1 || s.Warning != "" {
		t.Errorf("after two tries that are noted: %+v", s)
	}
	leave(t, c)
	c.core.attempts.begin(&message{key: key{seq: 1}, delivered: 2, arrived: time.Now()})
	if w := c.Stats().Warning; w != "" {
		t.Errorf("Stats.Warning of who left: %q", w)
	}
}

// Who waited for a note for so long that somebody else may have the value says nothing of it.
func TestNackLate(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{AckWait: 2 * time.Hour, NackDelay: -1, MaxDeliver: 2})
	mustSend(t, c, 1)
	p := mustDeliver(t, c).message
	if err := c.core.deliveries.untrack(p); err != nil { // as Nack does
		t.Fatal(err)
	}
	p.confirmed = p.confirmed.Add(-2 * time.Hour)
	c.core.dead.retry(p)
	c.core.awaitAcks(patient(t))
	if _, err := c.TryRecv(); err != sluice.ErrEmpty {
		t.Errorf("TryRecv: %v: it was given back", err)
	}
	p.confirmed = time.Now()
	c.core.dead.retry(p)
	if n := noted(t, c); n != 1 {
		t.Errorf("%d notes of one try", n)
	}
}

// Whoever has done with a value, its notes go: also who receives values, who notes none.
func TestNotesGo(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{MaxDeliver: 3, NackDelay: -1})
	mustSend(t, c, 1)
	for range 2 {
		if err := mustDeliver(t, c).Nack(); err != nil {
			t.Fatal(err)
		}
	}
	if n := noted(t, c); n != 2 {
		t.Errorf("%d notes of two tries", n)
	}
	mustRecv(t, c, 1)
	until(t, "no notes are left", func() bool { return noted(t, c) == 0 })
	once := open(t, Options[int]{MaxDeliver: 1})
	mustSend(t, once, 1)
	d := mustDeliver(t, once)
	if n := noted(t, once); n != 1 {
		t.Errorf("%d notes of the only try", n)
	}
	if err := d.Ack(); err != nil {
		t.Fatal(err)
	}
	until(t, "no notes are left of the only try", func() bool { return noted(t, once) == 0 })
}

// before it had MaxDeliver.
func TestNoteUnanswered(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{AckWait: 2 * time.Hour, MaxDeliver: 3, NackDelay: -1, Log: mute()})
	mustSend(t, c, 1)
	silent(t, mustDeliver(t, c))
	if err := mustDeliver(t, c).Nack(); err != nil {
		t.Fatal(err)
	}
	notes, err := c.core.conn.js.Stream(patient(t), c.core.config.name+attemptsSuffix)
	if err != nil {
		t.Fatal(err)
	}
	mutely := notes.CachedInfo().Config
	mutely.NoAck = true
	if _, err := c.core.conn.js.UpdateStream(patient(t), mutely); err != nil {
		t.Fatal(err)
	}
	d := mustDeliver(t, c)
	if w := c.Stats().Warning; !strings.Contains(w, "attempts cannot be counted") {
		t.Errorf("Stats.Warning: %q", w)
	}
	if err := d.Nack(); err != nil {
		t.Fatal(err)
	}
	if n := noted(t, c); n != 2 {
		t.Errorf("%d notes of two tries", n)
	}
}

// delete them. Tries count all the same.
func TestNotesStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options[int]{Name: "jobs", Dir: dir, NackDelay: -1, MaxDeliver: 2, Log: mute()}
	before := open(t, o)
	mustSend(t, before, 1)
	if err := mustDeliver(t, before).Nack(); err != nil {
		t.Fatal(err)
	}
	if err := before.core.conn.js.DeleteStream(t.Context(), "jobs"); err != nil {
		t.Fatal(err)
	}
	o.DedupeWindow = time.Minute
	c := open(t, o)
	mustSend(t, c, 1, 2)
	for range 2 {
		if err := mustDeliver(t, c).Nack(); err != nil {
			t.Fatal(err)
		}
	}
	if w := c.Stats().Warning; w != "" {
		t.Errorf("of a channel with notes of another DedupeWindow: %q", w)
	}
	if err := c.core.conn.js.DeleteStream(t.Context(), "jobs"+attemptsSuffix); err != nil {
		t.Fatal(err)
	}
	for range 6 { // the first note after that is lost, at most
		if d, err := c.Deliveries().TryRecv(); err == nil {
			_ = d.Nack()
		}
	}
	if s := c.Stats(); s.Dropped != 2 || s.Warning != "" {
		t.Errorf("after the notes were deleted: %+v", s)
	}
}
