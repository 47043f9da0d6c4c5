package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/spill"
)

// asCommand makes the test binary run the command itself.
const asCommand = "OUTBOX_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start starts the command, and returns its URL.
func start(t *testing.T, dir, to string) (cmd *exec.Cmd, url string) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-dir", dir, "-to", to, "-listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), asCommand+"=1")
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(output)
	line, err := lines.ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("the command printed %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return cmd, "http://" + address
}

// Orders that were accepted are delivered, although the process is killed and the other
// service is down meanwhile.
func TestKilled(t *testing.T) {
	const n = 20
	var up atomic.Bool
	type request struct{ key, body string }
	requests := make(chan request, 1000)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		select {
		case requests <- request{r.Header.Get("Idempotency-Key"), string(body)}:
		default: // more attempts than the test looks at
		}
		if !up.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer other.Close()
	dir := filepath.Join(t.TempDir(), "queue")

	outbox, url := start(t, dir, other.URL)
	for i := range n {
		answer, err := http.Post(url, "text/plain", strings.NewReader(fmt.Sprint("order ", i)))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusAccepted {
			t.Fatalf("status %s", answer.Status)
		}
	}
	failed := <-requests // is not lost either
	if err := outbox.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = outbox.Wait()

	for len(requests) > 0 {
		<-requests
	}
	up.Store(true)
	outbox, _ = start(t, dir, other.URL)
	keys := map[string]string{} // by body
	for len(keys) < n {
		r := <-requests
		if key, again := keys[r.body]; again && key != r.key {
			t.Errorf("%s has the keys %s and %s", r.body, key, r.key)
		}
		keys[r.body] = r.key
	}
	if keys[failed.body] != failed.key {
		t.Errorf("%s had the key %s, and %s after the restart", failed.body, failed.key, keys[failed.body])
	}

	if err := outbox.Process.Signal(os.Interrupt); err != nil {
		t.Skip("this system sends no interrupts:", err)
	}
	if err := outbox.Wait(); err != nil {
		t.Error(err)
	}
	left, err := spill.OpenDurable[order](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer left.Shutdown()
	if left.Len() > 4 {
		t.Errorf("%d orders are left, want no more than were under way", left.Len())
	}
}

// An order that could not be delivered gets another attempt.
func TestAnotherAttempt(t *testing.T) {
	log.SetOutput(t.Output())
	var attempts atomic.Int64
	delivered := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if attempts.Add(1) <= 3 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		delivered <- r.Header.Get("Idempotency-Key")
	}))
	defer other.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	dir := filepath.Join(t.TempDir(), "queue")
	go func() { ended <- serve(ctx, listener, dir, other.URL, time.Millisecond) }()
	answer, err := http.Post("http://"+listener.Addr().String(), "text/plain", strings.NewReader("order"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if key := <-delivered; key == "" || attempts.Load() != 4 {
		t.Errorf("delivered %q at attempt %d", key, attempts.Load())
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
