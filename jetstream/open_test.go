package jetstream

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
	"github.com/sluice-go/sluice/inspect"
)

// Invalid options are rejected with a message of one line.
func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]*Options[int]{
		"nil Options":                            nil,
		"empty Name":                             {},
		`invalid Name "a.b"`:                     {Name: "a.b"},
		"Name has 201 bytes":                     {Name: strings.Repeat("a", 201)},
		"Conn excludes URL":                      {Name: "a", Conn: &nats.Conn{}, URL: "nats://127.0.0.1"},
		"URL excludes Dir":                       {Name: "a", Dir: "/", URL: "nats://127.0.0.1"},
		"Capacity is -1":                         {Name: "a", Capacity: -1},
		"MaxBytes is -1":                         {Name: "a", MaxBytes: -1},
		"Replicas is 2":                          {Name: "a", Replicas: 2, URL: "nats://127.0.0.1"},
		"Replicas is 3 with the embedded server": {Name: "a", Replicas: 3},
		"DedupeWindow is 1ms":                    {Name: "a", DedupeWindow: time.Millisecond},
		"Prefetch is -1":                         {Name: "a", Prefetch: -1},
		"AckWait is 1ms":                         {Name: "a", AckWait: time.Millisecond},
		"MaxInProgress is -1ns":                  {Name: "a", MaxInProgress: -1},
		"connecting to nats://127.0.0":           {Name: "a", URL: "nats://127.0.0.1:1"},
	} {
		c, err := Open(t.Context(), o)
		if c != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Open: %v, want one line with %q", err, want)
		}
	}
}

// A type whose fields the default codec would lose is rejected, unless a codec is
// set.
func TestOpenLossyCodec(t *testing.T) {
	t.Parallel()
	type stamped struct {
		time.Time
		Host string
	}
	if _, _, err := (&Options[stamped]{Name: "a"}).resolve(); err == nil || !strings.Contains(err.Error(), "jetstream: Open: codec: ") {
		t.Errorf("without a codec: %v", err)
	}
	if _, _, err := (&Options[stamped]{Name: "a", Codec: codec.JSON[stamped]()}).resolve(); err != nil {
		t.Errorf("with a codec: %v", err)
	}
}

// Open finds an existing channel if its settings are the same.
func TestOpenAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustSend(t, open(t, Options[string]{Name: "jobs", Dir: dir}), "a")
	mustRecv(t, open(t, Options[string]{Name: "jobs", Dir: dir}), "a")
	for want, o := range map[string]Options[string]{
		"another Capacity: 1048576 (want 7)":    {Capacity: 7},
		"another MaxBytes: -1 (want 7)":         {MaxBytes: 7},
		"another DedupeWindow: 30s (want 1m0s)": {DedupeWindow: time.Minute},
		"another AckWait: 30s (want 1m0s)":      {AckWait: time.Minute},
		"another Ordered: false (want true)":    {Ordered: true},
	} {
		o.Name, o.Dir = "jobs", dir
		if _, err := Open(t.Context(), &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open with other settings: %v, want %q", err, want)
		}
	}
	if _, err := Open(t.Context(), &Options[int]{Name: "jobs", Dir: dir}); err == nil || !strings.Contains(err.Error(), "another Codec: raw (want json)") {
		t.Errorf("Open with another codec: %v", err)
	}
}

// Servers that elect a leader drop requests: Open repeats each, including the last
// one, for the state of the stream.
func TestOpenRetries(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	o := Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()}
	open(t, o)
	p := newProxy(t, s.Addr().String())
	asked := 0
	p.edit = func(sent []byte) {
		if at := bytes.Index(sent, []byte("STREAM.INFO.jobs ")); at >= 0 {
			if asked++; asked == 2 { // not the first one, which finds the stream
				sent[at] = 'X' // no server has this subject
			}
		}
	}
	o.URL = p.url()
	open(t, o)
	p.mu.Lock()
	defer p.mu.Unlock()
	if asked != 3 {
		t.Errorf("%d requests, want 3", asked)
	}
}

// A stream that is not a channel is rejected.
func TestOpenForeign(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	js, err := natsjs.New(client(t, s.ClientURL()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), natsjs.StreamConfig{Name: "jobs", Subjects: []string{"theirs"}}); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), &Options[int]{Name: "jobs", URL: s.ClientURL(), Replicas: 1})
	if err == nil || !strings.Contains(err.Error(), "is not a channel of this version") {
		t.Errorf("Open of a foreign stream: %v", err)
	}
	_, err = Open(t.Context(), &Options[int]{Name: "more", URL: s.ClientURL()})
	if err == nil || !strings.Contains(err.Error(), "replicas > 1 not supported") {
		t.Errorf("Open of three replicas on one server: %v", err)
	}
}

// Values outlive the process, and one process at a time can use a directory.
func TestReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options[string]{Name: "jobs", Dir: dir, AckWait: time.Second} // values in flight are redelivered soon
	c := open(t, o)
	mustSend(t, c, "a")
	mustRecv(t, c, "a")
	mustSend(t, c, "b") // not before: if it were fetched ahead, it would be redelivered after AckWait
	leave(t, c)
	c = open(t, o)
	mustRecv(t, c, "b")
	if _, err := startServer(dir, false); err == nil || !strings.Contains(err.Error(), "is in use by another process") {
		t.Errorf("a second server in one directory: %v", err)
	}
	c.Close()
	leave(t, c)
	c = open(t, o)
	if err := c.Send(patient(t), "c"); err != sluice.ErrClosed {
		t.Errorf("Send to a channel that was closed before it was opened: %v", err)
	}
	if _, err := c.Recv(patient(t)); err != sluice.ErrClosed {
		t.Errorf("Recv from it: %v", err)
	}
}

func TestDirUnusable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), &Options[int]{Name: "a", Dir: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Open in a file: %v", err)
	}
}

// Without Dir, the directory is deleted with the server.
func TestTempDir(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := open(t, Options[int]{})
	dir := c.core.conn.server.dir
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	leave(t, c)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory after Shutdown: %v", err)
	}
}

// A channel that is garbage collected is shut down, with its connection and its
// server.
func TestAbandoned(t *testing.T) {
	var opened *core
	func() {
		c, err := Open(t.Context(), &Options[int]{Name: "abandoned"})
		if err != nil {
			t.Fatal(err)
		}
		opened = c.core
	}()
	until(t, "the channel is shut down", func() bool {
		runtime.GC()
		return opened.life.shutdown.Load() && opened.conn.nc.IsClosed()
	})
	opened.life.tasks.Wait()
}

// Shutdown does not close the connection of the caller.
func TestConn(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	nc := client(t, s.ClientURL())
	c := open(t, Options[string]{Name: "jobs", Conn: nc, Replicas: 1})
	mustSend(t, c, "a")
	mustRecv(t, c, "a")
	leave(t, c)
	if !nc.IsConnected() {
		t.Error("Shutdown closed the connection of the caller")
	}
	if n := nc.NumSubscriptions(); n != 1 { // the client's own, for answers
		t.Errorf("%d subscriptions are left", n)
	}
}

// Stats and the log have a warning unless all servers are known to sync every write.
func TestSyncWarning(t *testing.T) {
	t.Parallel()
	accounts := func(o *server.Options) {
		system, values := server.NewAccount("SYS"), server.NewAccount("VALUES")
		o.Accounts = []*server.Account{system, values}
		o.SystemAccount = "SYS"
		o.Users = []*server.User{
			{Username: "admin", Password: "a", Account: system},
			{Username: "app", Password: "b", Account: values},
		}
	}
	for _, test := range []struct {
		name, want string
		system     string
		change     func(o *server.Options)
	}{
		{"lax", "one syncs every 2m0s", "admin:a", func(o *server.Options) { o.SyncAlways = false }},
		{"always", "", "admin:a", nil},
		{"unasked", "unknown whether values survive a power failure: only a user of the system account", "", nil},
		{"not allowed", "is it a user of the system account?", "app:b", nil},
		{"wrong password", "asking the servers for their sync_interval failed", "admin:wrong", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := listening(t, func(o *server.Options) {
				accounts(o)
				if test.change != nil {
					test.change(o)
				}
			})
			values, err := s.LookupAccount("VALUES")
			if err != nil {
				t.Fatal(err)
			}
			if err := values.EnableJetStream(nil, nil); err != nil {
				t.Fatal(err)
			}
			var j journal
			o := Options[int]{Name: "jobs", Replicas: 1, Log: j.log(), URL: with(s, "app:b")}
			if test.system != "" {
				o.System = with(s, test.system)
			}
			got := open(t, o).Stats().Disk.Warning
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("Stats.Disk.Warning is %q, want %q", got, test.want)
			}
			if test.want != "" && !strings.Contains(j.String(), "power failure") {
				t.Errorf("the log has no warning: %s", j.String())
			}
		})
	}
}

// with returns the URL of s for a user.
func with(s *server.Server, user string) string {
	return strings.Replace(s.ClientURL(), "nats://", "nats://"+user+"@", 1)
}

// The channel is registered, for the live page.
func TestRegistered(t *testing.T) {
	c := open(t, Options[int]{Name: "registered", Capacity: 5})
	mustSend(t, c, 1, 2)
	for _, n := range inspect.Channels() {
		if n.Name != "registered" {
			continue
		}
		s, ok := n.Stats()
		if n.Kind != "JetStream" || !ok || s.Len != 2 || s.Cap != 5 || s.Sent != 2 || s.Disk.Bytes == 0 || s.Disk.Warning != "" {
			t.Errorf("registered as %q, %v, %+v", n.Kind, ok, s)
		}
		return
	}
	t.Error("not registered")
}
