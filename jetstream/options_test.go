package jetstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
)

// The defaults are the documented ones.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c, form, err := (&Options[int]{Name: "a"}).resolve()
	if err != nil || form.Name() != "json" || c.codec != "json" {
		t.Fatal(err, form, c.codec)
	}
	if c.capacity != 1<<20 || c.serverCapacity() != 1<<20 || c.maxBytes != 0 || c.replicas != 1 || c.dedupeWindow != 30*time.Second || c.prefetch != 256 {
		t.Errorf("defaults of the stream: %+v", c)
	}
	if c.ackWait != 30*time.Second || c.nackDelay != time.Second || c.maxInProgress != time.Hour || c.maxDeliver != 10 || c.ordered || c.log == nil {
		t.Errorf("defaults of deliveries: %+v", c)
	}
	for what, o := range map[string]*Options[int]{"URL": {Name: "a", URL: "nats://a"}, "Conn": {Name: "a", Conn: &nats.Conn{}}} {
		if c, _, err := o.resolve(); err != nil || c.replicas != 3 {
			t.Errorf("with %s: %d replicas, %v", what, c.replicas, err)
		}
	}
	c, _, err = (&Options[int]{Name: "a", NackDelay: -1, MaxDeliver: -1, Ordered: true, Prefetch: 7, Capacity: sluice.Unlimited}).resolve()
	if err != nil || c.nackDelay != 0 || c.maxDeliver != 0 || c.prefetch != 1 || c.serverCapacity() != -1 {
		t.Errorf("negative values, Ordered, Unlimited: %+v, %v", c, err)
	}
	d := c.deadLetters()
	if d.name != "a-dead" || d.capacity != sluice.Unlimited || d.maxBytes != 0 || d.maxDeliver != 0 || d.ordered || !d.dead {
		t.Errorf("config of dead letters: %+v", d)
	}
}

// Values at the limits are valid.
func TestValidOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []*Options[int]{
		{Name: strings.Repeat("a", maxName)},
		{Name: "azAZ09-_"},
		{Name: "a", URL: "nats://a", Replicas: 5},
		{Name: "a", URL: "nats://a", Replicas: 1},
		{Name: "a", Capacity: 1, MaxBytes: 1, DedupeWindow: time.Second, Prefetch: 1, AckWait: time.Second, MaxInProgress: 1, MaxDeliver: 1, NackDelay: 1},
	} {
		if _, _, err := o.resolve(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, r := range "./:@[`{ \x00é" { // neighbors of the letters and digits
		if !notInName(r) {
			t.Errorf("%q is accepted in a name", r)
		}
	}
}

// Two names of one directory mean one server.
func TestDirByAnotherName(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	c, other := open(t, Options[int]{Name: "jobs", Dir: "here"}), open(t, Options[int]{Name: "jobs", Dir: filepath.Join(dir, "here")})
	if c.core.conn.server != other.core.conn.server {
		t.Error("two servers in one directory")
	}
	leave(t, c)
	mustSend(t, other, 1) // the server still has a user
	mustRecv(t, other, 1)
}

// A server that does not start releases its directory.
func TestServerFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inWay := filepath.Join(dir, "jetstream")
	if err := os.WriteFile(inWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options[int]{Name: "jobs", Dir: dir}
	if c, err := Open(t.Context(), &o); err == nil || c != nil || !strings.Contains(err.Error(), "the server in "+dir+" did not start") {
		t.Errorf("Open with a file in the way: %v", err)
	}
	if err := os.Remove(inWay); err != nil {
		t.Fatal(err)
	}
	c := open(t, o)
	mustSend(t, c, 1)
	mustRecv(t, c, 1)
}
