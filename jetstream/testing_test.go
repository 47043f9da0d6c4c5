package jetstream

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/sluice-go/sluice/internal/ramdir"
	"github.com/sluice-go/sluice/internal/suite"
)

// TestMain checks that no goroutine outlives the tests, embedded servers included.
func TestMain(m *testing.M) {
	if serve() {
		return
	}
	// The tests mostly wait. This is the default: the command line is parsed later.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	status := m.Run()
	if status == 0 {
		if err := goleak.Find(leaks...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// leaks are the leaks of servers that a test could not prevent. It adds them as it runs.
var leaks []goleak.Option

var opened atomic.Int64

// open opens a channel, with a unique name and a temporary directory unless o sets
// them. It is shut down at the end of the test.
func open[T any](t testing.TB, o Options[T]) *Channel[T] {
	t.Helper()
	suite.Needs(t, "a NATS server")
	if o.Name == "" {
		o.Name = fmt.Sprint("channel-", opened.Add(1))
	}
	c, err := Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leave(t, c) })
	return c
}

func leave[T any](t testing.TB, c *Channel[T]) {
	t.Helper()
	if err := c.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// hangs is how long a step may take before it counts as hanging: longer than on the busiest
// machine, and shorter than the timeout of go test.
const hangs = 5 * time.Minute

// patient returns a context that ends only if the test hangs.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	t.Cleanup(cancel)
	return ctx
}

// withCancel returns a context for the test to cancel.
func withCancel(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx, cancel
}

// newest returns a message that has just arrived.
func newest(seq uint64) *message {
	return &message{key: key{seq: seq}, delivered: 1, arrived: time.Now(), reply: "nobody"}
}

// status returns a status message about the current request of p. The caller holds
// inbox.mu.
func status(p *pull, code string) *nats.Msg {
	return &nats.Msg{
		Sub: p.sub, Subject: p.subject + strconv.FormatUint(p.id, 10),
		Header: nats.Header{headerStatus: {code}},
	}
}

// until waits until the condition is true.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	pause := time.Millisecond // longer each time: is may ask a server that has just started
	for ctx := patient(t); !is(); pause = min(pause+pause/4, 25*time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("timeout waiting until %s", what)
		}
		time.Sleep(pause)
	}
}

// mustHold waits until Len is n. It is the last known number if the servers do not answer
// within 250 ms, as on a busy machine.
func mustHold(t testing.TB, c interface{ Len() int }, n int) {
	t.Helper()
	until(t, fmt.Sprint("the number of values stored is ", n), func() bool { return c.Len() == n })
}

func mustSend[T any](t testing.TB, c *Channel[T], vs ...T) {
	t.Helper()
	for _, v := range vs {
		if err := c.Send(patient(t), v); err != nil {
			t.Fatalf("Send: %v", err)
		}
	}
}

func mustRecv[T comparable](t testing.TB, c *Channel[T], want ...T) {
	t.Helper()
	for _, w := range want {
		if v, err := c.Recv(patient(t)); v != w || err != nil {
			t.Fatalf("Recv: %v, %v, want %v", v, err, w)
		}
	}
}

func mustDeliver[T any](t testing.TB, c *Channel[T]) *Delivery[T] {
	t.Helper()
	d, err := c.Deliveries().Recv(patient(t))
	if err != nil {
		t.Fatalf("Recv: %v", err)
	}
	return d
}

// A journal is a log that tests can read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) log() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// mute is a log for tests that cause errors on purpose.
func mute() *slog.Logger { return slog.New(slog.DiscardHandler) }

// listening starts a server with a listener on loopback.
func listening(t testing.TB, change func(*server.Options)) *server.Server {
	t.Helper()
	suite.Needs(t, "a NATS server")
	o := &server.Options{
		ServerName: "one", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: ramdir.New(t), SyncAlways: true,
	}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(hangs) {
		t.Fatal("the server did not start")
	}
	t.Cleanup(func() { stop(s) })
	return s
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// client connects to a server.
func client(t testing.TB, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// subscribed returns a subscription that the server has.
func subscribed(t *testing.T, s *server.Server, subject string) *nats.Subscription {
	t.Helper()
	nc := client(t, s.ClientURL())
	heard, err := nc.SubscribeSync(subject)
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return heard
}
