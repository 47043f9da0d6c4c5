package jetstream

import (
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// records returns how many attempts of c are recorded.
func records[T any](t *testing.T, c *Channel[T]) int {
	t.Helper()
	stream, err := c.core.conn.js.Stream(patient(t), c.core.config.name+attemptsSuffix)
	if err != nil {
		t.Fatal(err)
	}
	return int(stream.CachedInfo().State.Msgs)
}

// If attempts cannot be recorded, values are still handed out, and Stats has a
// warning until attempts can be recorded.
func TestAttemptsUnknown(t *testing.T) {
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
		if w := c.Stats().Disk.Warning; !strings.Contains(w, `MaxDeliver: stream "jobs-attempts" exists`) {
			t.Fatalf("Stats.Disk.Warning: %q", w)
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
	if s := c.Stats(); s.Dropped != 1 || s.Disk.Warning != "" {
		t.Errorf("after two recorded attempts: %+v", s)
	}
	leave(t, c)
	c.core.attempts.begin(&message{key: key{seq: 1}, delivered: 2, arrived: time.Now()})
	if w := c.Stats().Disk.Warning; w != "" {
		t.Errorf("Stats.Disk.Warning after Shutdown: %q", w)
	}
}

// A Nack that waited for a record until another receiver may have the value sends
// nothing.
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
		t.Errorf("TryRecv: %v: Nack returned the value", err)
	}
	p.confirmed = time.Now()
	c.core.dead.retry(p)
	if n := records(t, c); n != 1 {
		t.Errorf("%d records of one attempt", n)
	}
}

// The records of a value are deleted when it is acknowledged, even by a receiver of
// values, which makes no records.
func TestRecordsDeleted(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{MaxDeliver: 3, NackDelay: -1})
	mustSend(t, c, 1)
	for range 2 {
		if err := mustDeliver(t, c).Nack(); err != nil {
			t.Fatal(err)
		}
	}
	if n := records(t, c); n != 2 {
		t.Errorf("%d records of two attempts", n)
	}
	mustRecv(t, c, 1)
	until(t, "the records are deleted", func() bool { return records(t, c) == 0 })
	once := open(t, Options[int]{MaxDeliver: 1})
	mustSend(t, once, 1)
	d := mustDeliver(t, once)
	if n := records(t, once); n != 1 {
		t.Errorf("%d records of the only attempt", n)
	}
	if err := d.Ack(); err != nil {
		t.Fatal(err)
	}
	until(t, "the record of the only attempt is deleted", func() bool { return records(t, once) == 0 })
}

// A record whose answer was lost may exist: a second record of the same attempt
// would move the value to the dead letters before MaxDeliver attempts.
func TestRecordUnanswered(t *testing.T) {
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
	if w := c.Stats().Disk.Warning; !strings.Contains(w, "attempts cannot be counted") {
		t.Errorf("Stats.Disk.Warning: %q", w)
	}
	if err := d.Nack(); err != nil {
		t.Fatal(err)
	}
	if n := records(t, c); n != 2 {
		t.Errorf("%d records of two attempts", n)
	}
}

// Records outlive their channel, which may be created again with other settings, and
// they may be deleted by others. Attempts are counted nevertheless.
func TestRecordsStay(t *testing.T) {
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
	if w := c.Stats().Disk.Warning; w != "" {
		t.Errorf("Stats.Disk.Warning with records of another DedupeWindow: %q", w)
	}
	if err := c.core.conn.js.DeleteStream(t.Context(), "jobs"+attemptsSuffix); err != nil {
		t.Fatal(err)
	}
	// The records of both values are lost, and at most one more: of the attempt that
	// found no stream.
	const most = 2*2 + 1
	for ctx, attempts := patient(t), 0; c.Stats().Dropped < 2; {
		d, err := c.Deliveries().TryRecv()
		switch {
		case err == nil:
			_ = d.Nack()
			if attempts++; attempts > most {
				t.Fatalf("attempt %d after the records were deleted: %+v", attempts, c.Stats())
			}
		case ctx.Err() != nil:
			t.Fatalf("after the records were deleted: %+v", c.Stats())
		default:
			time.Sleep(time.Millisecond) // on its way
		}
	}
	if w := c.Stats().Disk.Warning; w != "" {
		t.Errorf("Stats.Disk.Warning after the records were deleted: %q", w)
	}
}
