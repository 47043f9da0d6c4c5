package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/pipeline"
	"github.com/sluice-go/sluice/bench/logagg/queue"
	"github.com/sluice-go/sluice/bench/logagg/traffic"
	"github.com/sluice-go/sluice/internal/suite"
)

// freePort returns a port for a listener that starts later, or restarts. It is
// outside of the range of ephemeral ports: any outgoing connection could take
// one of those meanwhile.
func freePort(t *testing.T) int {
	t.Helper()
	const first, count = 20_000, 12_000 // ephemeral ports start at 32768 on Linux, at 49152 elsewhere
	for tries := 0; ; tries++ {
		port := first + rand.N(count)
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			l.Close()
			return port
		}
		if tries == count {
			t.Fatal(err)
		}
	}
}

// broker starts a NATS server on a port, with its files in dir.
func broker(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	suite.Needs(t, "a NATS server")
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir, SyncAlways: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(func() { stopBroker(s) })
	return s
}

func stopBroker(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// holds waits until the channel that shippers and aggregators share stores that
// many batches.
func holds(t *testing.T, url string, batches uint64) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for !t.Failed() {
		stream, err := js.Stream(t.Context(), queue.Stream)
		if err != nil && !errors.Is(err, natsjs.ErrStreamNotFound) { // the first shipper creates the stream
			t.Fatal(err)
		}
		if err == nil && stream.CachedInfo().State.Msgs == batches {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.FailNow()
}

// A child is a half of the service in a child process. If it ends before it is
// told to, its test fails, and helpers stop waiting.
type child struct {
	command *exec.Cmd
	told    atomic.Bool // was told to end
	said    strings.Builder
	reading sync.WaitGroup
	address string // of its syslog listener, if any
	debug   string // of its account, if any
	sent    int64  // number of lines sent to that address
}

// startChild starts a child and waits until it listens and has joined the
// channel: otherwise it would see changes of the servers that the test makes
// later.
func startChild(t *testing.T, args ...string) *child {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{command: exec.Command(program, args...)}
	c.command.Env = append(os.Environ(), asCommand+"=1")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.command.Stdout, c.command.Stderr = write, write
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	t.Cleanup(c.kill)
	listens, debugs := make(chan string, 1), make(chan string, 1)
	c.reading.Go(func() {
		defer func() {
			if !c.told.Load() {
				t.Errorf("%q has ended on its own: %s", args, c.said.String())
			}
			read.Close()
			close(listens)
			close(debugs)
		}()
		for lines := bufio.NewScanner(read); lines.Scan(); {
			fmt.Fprintln(&c.said, lines.Text())
			if _, at, ok := strings.Cut(lines.Text(), "accepting syslog at "); ok {
				listens <- at
			}
			if _, at, ok := strings.Cut(lines.Text(), "debugging at "); ok {
				debugs <- strings.TrimSuffix(at, "/debug/sluice")
			}
		}
	})
	if slices.Contains(args, "-tcp") {
		c.address = <-listens
	}
	c.debug = <-debugs
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// kill kills the process if it is still running.
func (c *child) kill() {
	c.told.Store(true)
	_ = c.command.Process.Kill()
	c.reading.Wait()
	_ = c.command.Wait()
}

// account returns the account of a service.
func account(t *testing.T, debug string) (l pipeline.Ledger) {
	t.Helper()
	if err := json.Unmarshal([]byte(get(t, debug+"/debug/account")), &l); err != nil {
		t.Error(err)
	}
	return l
}

// hasRead waits until a shipper has read all lines sent to it.
func (c *child) hasRead(t *testing.T) {
	t.Helper()
	for ; !t.Failed(); time.Sleep(10 * time.Millisecond) {
		if account(t, c.debug).In == c.sent {
			return
		}
	}
	t.FailNow()
}

// get returns the body of a page.
func get(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v", address, response.Status, err)
	}
	return string(text)
}

// stop ends the process gracefully and returns its output.
func (c *child) stop(t *testing.T) string {
	t.Helper()
	c.told.Store(true)
	if err := c.command.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	c.reading.Wait()
	if err := c.command.Wait(); err != nil {
		t.Errorf("%v: %s", err, c.said.String())
	}
	return c.said.String()
}

// figure returns the number in a process's output that matches a pattern with
// one group; 0 without a match.
func figure(t *testing.T, said, pattern string) int64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(said)
	if found == nil {
		return 0
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A crowd sends lines to shippers and knows the expected counts.
type crowd struct {
	loads uint64
	truth []count.Row
}

// send sends new lines to a shipper.
func (c *crowd) send(t *testing.T, to *child, lines int) {
	t.Helper()
	c.loads++
	truth := send(t, to.address, traffic.Load{Seed: c.loads, Lines: lines, Connections: 8})
	to.sent += truth.Lines
	c.truth = append(c.truth, truth.Table.Rows()...)
}

// check compares the counts with the lines sent. It returns how many lines were
// counted more than once; none may be missing.
func (c *crowd) check(t *testing.T, counted map[count.Row]int64) (more int64) {
	t.Helper()
	for row, lines := range sums(c.truth) {
		if counted[row] < lines {
			t.Errorf("%v: counted %d of %d lines", row, counted[row], lines)
		}
		more += counted[row] - lines
		delete(counted, row)
	}
	if len(counted) > 0 {
		t.Errorf("counted lines that were not sent: %v", counted)
	}
	return more
}

// Flags of the halves in these tests.
var (
	shipping    = []string{"-tcp", "127.0.0.1:0", "-debug", "127.0.0.1:0", "-drain", "10s"}
	aggregating = []string{"-debug", "127.0.0.1:0", "-every", "20ms", "-o"}
)

// TestHalves: two shippers and two aggregators, each in its own process. One
// aggregator is killed at the worst moment: its sink has taken a table without
// answering. No line is lost, and only lines that were not acknowledged are
// counted twice.
func TestHalves(t *testing.T) {
	server, sink, clients := broker(t, t.TempDir(), server.RANDOM_PORT), newBooks(t), new(crowd)
	servers := []string{"-nats", server.ClientURL(), "-replicas", "1", "-ack-wait", "2s"}
	half := func(name string, more ...string) *child {
		return startChild(t, append(append([]string{name}, servers...), more...)...)
	}
	var shippers []*child
	for range 2 {
		shippers = append(shippers, half("ship", shipping...))
	}
	doomed := half("aggregate", append(aggregating, sink.URL+"/doomed")...)
	spared := half("aggregate", append(aggregating, sink.URL+"/spared")...)
	for _, s := range shippers {
		clients.send(t, s, 5000)
	}
	holds(t, server.ClientURL(), 0)

	sink.mu.Lock()
	sink.hold = "/doomed"
	sink.mu.Unlock()
	var lines int64
	for n := 0; lines == 0 && !t.Failed(); n++ { // until the doomed aggregator has received a part of them
		clients.send(t, shippers[n%2], 1000)
		select {
		case lines = <-sink.held:
		case <-time.After(50 * time.Millisecond):
		}
	}
	// It may have received lines that the other aggregator did not acknowledge
	// in time.
	again := account(t, doomed.debug).Again
	doomed.kill()
	for _, s := range shippers {
		clients.send(t, s, 5000)
	}

	sent := int64(0)
	for _, s := range shippers {
		s.hasRead(t)
		said := s.stop(t)
		sent += figure(t, said, `in \d+ = sent (\d+) `)
		if n := figure(t, said, `rejected (\d+)`); n > 0 {
			t.Errorf("a shipper did not send %d lines", n)
		}
	}
	holds(t, server.ClientURL(), 0)
	said := spared.stop(t)
	again += figure(t, said, `of the counted lines, (\d+) had been delivered before`)
	counted, all := sink.sums()
	more := clients.check(t, counted)
	t.Logf("%d lines sent and stored, %d counted, %d of them twice. The sink held an unacknowledged table of %d lines; %d were delivered again",
		sent, all, more, lines, again)
	if all != sent+more || more < lines || more > again {
		t.Errorf("these numbers are inconsistent")
	}
}

// TestBrokerRestarts: both halves survive a temporary absence of the servers.
func TestBrokerRestarts(t *testing.T) {
	dir, sink, clients := t.TempDir(), newBooks(t), new(crowd)
	port := freePort(t)
	first := broker(t, dir, port)
	servers := []string{"-nats", first.ClientURL(), "-replicas", "1", "-ack-wait", "2s"}
	shipper := startChild(t, append(append([]string{"ship"}, servers...), shipping...)...)
	aggregator := startChild(t, append(append([]string{"aggregate"}, servers...), append(aggregating, sink.URL)...)...)
	clients.send(t, shipper, 2000)
	shipper.hasRead(t)
	holds(t, first.ClientURL(), 0)

	stopBroker(first)
	clients.send(t, shipper, 2000) // these lines wait in the shipper and in front of it
	second := broker(t, dir, port)
	clients.send(t, shipper, 2000)
	shipper.hasRead(t)
	said := shipper.stop(t)
	holds(t, second.ClientURL(), 0)
	if sent, doubt := figure(t, said, `sent (\d+) `), figure(t, said, `(\d+) lines have an unknown outcome`); sent == 0 || doubt > 0 {
		t.Errorf("%d lines are stored, %d in doubt", sent, doubt)
	}
	again := figure(t, aggregator.stop(t), `of the counted lines, (\d+) had been delivered before`)
	counted, _ := sink.sums()
	if more := clients.check(t, counted); more > again {
		t.Errorf("%d lines were counted twice, but %d delivered again", more, again)
	}
}

// TestGiveUp: a shipper whose servers do not return ends after its grace period
// and reports the lines that it has lost.
func TestGiveUp(t *testing.T) {
	s := broker(t, t.TempDir(), server.RANDOM_PORT)
	text := strings.Repeat(`203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 5`+"\n", 10)
	read, write := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	var out, failed strings.Builder
	status := make(chan int)
	go func() {
		status <- run(ctx, []string{"ship", "-nats", s.ClientURL(), "-replicas", "1", "-grace", "1ms", "-"}, streams{read, &out, &failed})
	}()
	enter := func(text string) {
		if _, err := io.WriteString(write, text); err != nil {
			t.Error(err)
		}
	}
	// The shipper reads on when the previous lines are stored and acknowledged. The pipe in
	// front of it takes a text before that, but the next one only after it.
	enter(text)
	enter("the next ")
	enter("line, ")
	stopBroker(s)
	enter("which is malformed\n" + text)
	enter("the rest") // the previous lines have been read
	interrupt()
	if got := <-status; got != 1 || !strings.Contains(failed.String(), "not stored") ||
		!strings.Contains(failed.String(), "in 21 = sent 10 + malformed 1 + rejected 10\n") {
		t.Errorf("status %d: %s%s", got, out.String(), failed.String())
	}
}
