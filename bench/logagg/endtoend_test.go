package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/queue"
	"github.com/sluice-go/sluice/bench/logagg/traffic"
	"github.com/sluice-go/sluice/internal/suite"
)

// An output is what a service prints, for a test that reads it meanwhile.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// rows returns the counts in it.
func (o *output) rows(t *testing.T) []count.Row {
	o.mu.Lock()
	defer o.mu.Unlock()
	return rows(t, o.text.Bytes())
}

// A service runs in the test's process.
type service struct {
	t              *testing.T
	address, debug string
	cancel         func()
	status         chan int
	ended          chan struct{} // closed when it has ended
	stdout         output
	stderr         strings.Builder
	logged         sync.WaitGroup
}

// start starts a service on TCP and waits until it listens.
func start(t *testing.T, args ...string) *service {
	t.Helper()
	s := &service{t: t, status: make(chan int, 1), ended: make(chan struct{})}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(t.Context())
	read, stderr := io.Pipe()
	go func() {
		s.status <- run(ctx, append([]string{"-tcp", "127.0.0.1:0", "-drain", "10s"}, args...), streams{strings.NewReader(""), &s.stdout, stderr})
		stderr.Close()
		close(s.ended)
	}()
	listens := make(chan bool, 1)
	s.logged.Go(func() {
		defer close(listens)
		for lines := bufio.NewScanner(read); lines.Scan(); {
			fmt.Fprintln(&s.stderr, lines.Text())
			if _, at, ok := strings.Cut(lines.Text(), "debugging at "); ok {
				s.debug = at
			}
			if _, at, ok := strings.Cut(lines.Text(), "accepting syslog at "); ok {
				s.address = at
			}
			if s.address != "" && (s.debug != "" || !strings.Contains(strings.Join(args, " "), "-debug")) {
				select {
				case listens <- true:
				default:
				}
			}
		}
	})
	if !<-listens {
		t.Fatalf("the service does not listen: %s", s.stderr.String())
	}
	return s
}

// running fails the test if the service has ended on its own, so that the test
// does not wait for it.
func (s *service) running() {
	s.t.Helper()
	select {
	case <-s.ended:
		s.logged.Wait()
		s.t.Fatalf("the service has ended with status %d: %s", <-s.status, s.stderr.String())
	default:
	}
}

// stop ends the service gracefully and returns its status.
func (s *service) stop() int {
	s.cancel()
	status := <-s.status
	s.logged.Wait()
	return status
}

// send sends the lines of a load to an address and returns what they are.
func send(t *testing.T, address string, l traffic.Load) *traffic.Truth {
	t.Helper()
	truth, err := l.Prepare().Send(t.Context(), address, 1)
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// TestEndToEnd sends lines over TCP to a service with each channel, batched or
// not: the counts must match the lines exactly.
func TestEndToEnd(t *testing.T) {
	for _, kind := range queue.Kinds() {
		for _, batch := range []string{"on", "off"} {
			t.Run(kind.Name+" "+batch, func(t *testing.T) {
				lines := 20_000
				if kind.Outside {
					suite.Needs(t, "a disk or a server")
				}
				if kind.Outside && batch == "off" {
					lines = 2000 // each line is synced
				}
				s := start(t, "-channel", kind.Name, "-batch", batch, "-every", "10ms")
				truth := send(t, s.address, traffic.Load{Seed: 1, Lines: lines, Connections: 64})
				s.settled(truth.Lines - truth.Malformed) // by then all connections have been accepted
				if status := s.stop(); status != 0 {
					t.Fatalf("status %d: %s", status, s.stderr.String())
				}
				if got, want := sums(s.stdout.rows(t)), sums(truth.Table.Rows()); !maps.Equal(got, want) {
					t.Errorf("counted\n%v\nwant\n%v", got, want)
				}
				good := truth.Lines - truth.Malformed
				account := fmt.Sprintf("in %d = counted %d + malformed %d + rejected 0\ncounted %d = shipped %d + not shipped 0",
					truth.Lines, good, truth.Malformed, good, good)
				if !strings.Contains(s.stderr.String(), account) {
					t.Errorf("the account is %s, want %s", s.stderr.String(), account)
				}
			})
		}
	}
}

// settled waits until the service has printed the counts of that many lines.
func (s *service) settled(lines int64) {
	s.t.Helper()
	for ; ; time.Sleep(5 * time.Millisecond) {
		sum := int64(0)
		for _, row := range s.stdout.rows(s.t) {
			sum += row.Lines
		}
		if sum >= lines {
			return
		}
		s.running()
	}
}

// rows returns the counts in a text.
func rows(t *testing.T, text []byte) (all []count.Row) {
	t.Helper()
	for line := range bytes.Lines(text) {
		var row count.Row
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, row)
	}
	return all
}

// sums returns the lines of all rows, by minute, service and status.
func sums(rows []count.Row) map[count.Row]int64 {
	sums := map[count.Row]int64{}
	for _, row := range rows {
		sums[count.Row{Minute: row.Minute, Service: row.Service, Status: row.Status}] += row.Lines
	}
	return sums
}
