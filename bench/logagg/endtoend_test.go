package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unique"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/parse"
	"github.com/sluice-go/sluice/bench/logagg/queue"
	"github.com/sluice-go/sluice/bench/logagg/traffic"
	"github.com/sluice-go/sluice/internal/suite"
)

// A service runs in the test's process.
type service struct {
	t              *testing.T
	address, debug string
	cancel         func()
	status         chan int
	ended          chan struct{} // closed when it has ended
	stdout         bytes.Buffer
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

// TestEndToEnd sends lines over TCP to a service with each channel, batched or
// not, that ships to a file or a server: the counts must match the lines
// exactly.
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
				dir := t.TempDir()
				counts, truth := filepath.Join(dir, "counts"), filepath.Join(dir, "truth")
				s := start(t, "-channel", kind.Name, "-batch", batch, "-o", counts, "-every", "10ms")
				var sent, errors strings.Builder
				status := run(t.Context(), []string{"load", "-tcp", s.address, "-lines", strconv.Itoa(lines), "-connections", "64", "-truth", truth},
					streams{strings.NewReader(""), &sent, &errors})
				if status != 0 || !strings.Contains(sent.String(), fmt.Sprintf("sent %d lines", lines)) {
					t.Fatalf("load: status %d, %s%s", status, sent.String(), errors.String())
				}
				var malformed int
				if _, err := fmt.Sscanf(sent.String(), "sent %d lines, of which %d are", &lines, &malformed); err != nil {
					t.Fatal(err)
				}
				s.settled(counts, lines-malformed) // by then all connections have been accepted
				if status := s.stop(); status != 0 {
					t.Fatalf("status %d: %s", status, s.stderr.String())
				}
				if got, want := merged(t, counts), merged(t, truth); got != want {
					t.Errorf("counted\n%swant\n%s", got, want)
				}
				account := fmt.Sprintf("in %d = counted %d + malformed %d + rejected 0\ncounted %d = shipped %d + not shipped 0",
					lines, lines-malformed, malformed, lines-malformed, lines-malformed)
				if !strings.Contains(s.stdout.String(), account) {
					t.Errorf("the account is %s, want %s", s.stdout.String(), account)
				}
			})
		}
	}
}

// settled waits until the file contains the counts of that many lines.
func (s *service) settled(path string, lines int) {
	s.t.Helper()
	for ; ; time.Sleep(5 * time.Millisecond) {
		sum := int64(0)
		for _, row := range rows(s.t, path) {
			sum += row.Lines
		}
		if sum >= int64(lines) {
			return
		}
		s.running()
	}
}

// rows returns the counts in a file.
func rows(t *testing.T, path string) (all []count.Row) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var row count.Row
		if err := json.Unmarshal(line, &row); err != nil {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break // still being written
			}
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, row)
	}
	return all
}

// merged sums up the counts in a file.
func merged(t *testing.T, path string) string {
	sums := map[count.Row]count.Row{}
	for _, row := range rows(t, path) {
		k := count.Row{Minute: row.Minute, Service: row.Service, Status: row.Status}
		sum := sums[k]
		sum.Lines, sum.Bytes = sum.Lines+row.Lines, sum.Bytes+row.Bytes
		sums[k] = sum
	}
	table := traffic.NewTruth().Table // sorts the rows
	for k := range sums {
		minute, _ := parse.MinuteOf(k.Minute)
		table.Add(parse.Event{Service: unique.Make(k.Service), Minute: minute, Status: uint16(k.Status)})
	}
	var text strings.Builder
	for _, row := range table.Rows() {
		sum := sums[count.Row{Minute: row.Minute, Service: row.Service, Status: row.Status}]
		fmt.Fprintln(&text, row.Minute, row.Service, row.Status, sum.Lines, sum.Bytes)
	}
	return text.String()
}
