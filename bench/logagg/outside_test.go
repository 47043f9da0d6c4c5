package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/queue"
	"github.com/sluice-go/sluice/livepage"
)

// A books is a server that takes tables by HTTP and sums up what each
// aggregator has shipped, by the path that it ships to.
type books struct {
	*httptest.Server
	mu    sync.Mutex
	rows  []count.Row
	hold  string          // path whose next table is taken but not answered
	held  chan int64      // number of lines in it
	taken map[string]bool // whether a table is held, by its key: a sender repeats one that is not answered in time

	answer func() // answers the held request and all others
}

func newBooks(t *testing.T) *books {
	b := &books{held: make(chan int64, 1), taken: map[string]bool{}}
	ending := make(chan struct{})
	b.answer = sync.OnceFunc(func() { close(ending) })
	b.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if b.take(t, r) {
			select {
			case <-r.Context().Done():
			case <-ending:
			}
		}
	}))
	t.Cleanup(func() {
		b.answer()
		b.Server.Close()
	})
	return b
}

func (b *books) take(t *testing.T, r *http.Request) (hold bool) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return false // the sender died before it sent the whole request
	}
	lines, key := int64(0), r.Header.Get("Idempotency-Key")
	b.mu.Lock()
	defer b.mu.Unlock()
	if hold, again := b.taken[key]; again {
		return hold
	}
	for _, row := range rows(t, text) {
		b.rows = append(b.rows, row)
		lines += row.Lines
	}
	if hold = r.URL.Path == b.hold; hold {
		b.hold = ""
		b.held <- lines
	}
	b.taken[key] = hold
	return hold
}

// sums returns the lines in all tables, by minute, service and status, and their number.
func (b *books) sums() (counted map[count.Row]int64, all int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	counted = sums(b.rows)
	for _, lines := range counted {
		all += lines
	}
	return counted, all
}

// listed waits until the live page of a service lists a channel that satisfies
// is.
func listed(t *testing.T, address, kind string, is func(livepage.Channel) bool) {
	t.Helper()
	for ; ; time.Sleep(10 * time.Millisecond) {
		var report livepage.Report
		if err := json.Unmarshal([]byte(get(t, address+"?format=json")), &report); err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Channels {
			if c.Kind == kind && is(c) {
				return
			}
		}
	}
}

// TestSeen: while the sink does not answer, the page reports the
// channel's bytes on disk, and again after everything has been shipped.
func TestSeen(t *testing.T) {
	for channel, kind := range map[string]string{"spill": "spill.Elastic", "durable": "spill.Durable", "jetstream": "JetStream"} {
		t.Run(channel, func(t *testing.T) {
			sink, clients := newBooks(t), new(crowd)
			sink.hold = "/"
			s := start(t, "-channel", channel, "-capacity", "1", "-batch", "off", "-rows", "20", "-every", "10ms",
				"-o", sink.URL+"/", "-debug", "127.0.0.1:0")
			lines := 400
			if channel == "spill" {
				lines = 40_000 // more than the block that it collects before it writes
			}
			itself := &child{address: s.address, debug: strings.TrimSuffix(s.debug, "/debug/sluice")}
			clients.send(t, itself, lines)
			select {
			case <-sink.held:
			case <-s.ended:
				s.running()
			}
			listed(t, s.debug, kind, func(c livepage.Channel) bool { return c.BytesOnDisk > 0 && c.Len > 0 && c.Warning == "" })
			sink.answer()
			itself.hasRead(t)
			if status := s.stop(); status != 0 {
				t.Errorf("status %d: %s", status, s.stderr.String())
			}
			counted, _ := sink.sums()
			if more := clients.check(t, counted); more > 0 {
				t.Errorf("%d lines were counted twice", more)
			}
		})
	}
}

// TestSeenWarning: the page of a half warns about servers whose
// sync interval is unknown.
func TestSeenWarning(t *testing.T) {
	s := broker(t, t.TempDir(), server.RANDOM_PORT)
	shipper := startChild(t, append([]string{"ship", "-nats", s.ClientURL(), "-replicas", "1"}, shipping...)...)
	listed(t, shipper.debug+"/debug/sluice", "JetStream", func(c livepage.Channel) bool { return strings.Contains(c.Warning, "sync") })
	shipper.stop(t)
}

// TestDurableCrash: a service with a durable channel is killed when its sink
// has taken a table and the rest waits on disk. The next service continues, and
// reports how many lines at most are counted twice.
func TestDurableCrash(t *testing.T) {
	sink, clients, dir := newBooks(t), new(crowd), filepath.Join(t.TempDir(), "queue")
	args := []string{"-channel", "durable", "-dir", dir, "-tcp", "127.0.0.1:0", "-debug", "127.0.0.1:0", "-drain", "10s", "-every", "10ms"}
	first := startChild(t, append(args, "-o", sink.URL+"/first")...)
	clients.send(t, first, 2000)
	first.hasRead(t)
	sink.mu.Lock()
	sink.hold = "/first"
	sink.mu.Unlock()
	var lines int64
	for lines == 0 && !t.Failed() {
		clients.send(t, first, 500)
		select {
		case lines = <-sink.held:
		case <-time.After(10 * time.Millisecond):
		}
	}
	first.hasRead(t) // and stored, because it waits for more
	first.kill()

	var out, failed strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it has nothing to read, and drains the channel
	args = []string{"-channel", "durable", "-dir", dir, "-o", sink.URL + "/second", "-"}
	if status := run(ctx, args, streams{strings.NewReader(""), &out, &failed}); status != 0 {
		t.Errorf("status %d: %s", status, failed.String())
	}
	again := figure(t, failed.String(), `of the counted lines, (\d+) had been delivered before`)
	counted, _ := sink.sums()
	if more := clients.check(t, counted); more < lines || more > again {
		t.Errorf("the sink held an unacknowledged table of %d lines; %d were counted twice, %d were reported", lines, more, again)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Errorf("the folder of -dir is gone: %v, %v", entries, err)
	}
}

// TestPassingFolder: a temporary folder is removed when the process ends.
func TestPassingFolder(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range queue.Kinds() {
		dir := t.TempDir()
		command := exec.Command(program, "-channel", kind.Name, "-")
		command.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+dir, "TMP="+dir)
		if text, err := command.CombinedOutput(); err != nil || !bytes.Contains(text, []byte("in 0 = ")) {
			t.Errorf("%s: %v, %s", kind.Name, err, text)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v, %v", kind.Name, left, err)
		}
	}
}
