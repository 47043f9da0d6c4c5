package main

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/hub"
)

// start runs the server, which interrupt ends.
func start(t *testing.T) (url string, interrupt func(), ended <-chan error) {
	t.Helper()
	log.SetOutput(t.Output())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	t.Cleanup(interrupt)
	end := make(chan error, 1)
	go func() { end <- serve(ctx, listener) }()
	return "http://" + listener.Addr().String() + "/prices", interrupt, end
}

func post(t *testing.T, url, price string) (status int) {
	t.Helper()
	answer, err := http.Post(url, "text/plain", strings.NewReader(price))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// All subscribers receive a price, a later one begins with it, and an interrupt ends all of
// them.
func TestSubscribers(t *testing.T) {
	url, interrupt, ended := start(t)
	var bodies []*bufio.Reader
	subscribe := func() {
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		bodies = append(bodies, bufio.NewReader(answer.Body))
	}
	for range 20 {
		subscribe()
	}
	if status := post(t, url, "no price"); status != http.StatusBadRequest {
		t.Errorf("status %d of a malformed price", status)
	}
	if status := post(t, url, "101.25"); status != http.StatusOK {
		t.Errorf("status %d of a price", status)
	}
	subscribe()
	for i, body := range bodies {
		if line, err := body.ReadString('\n'); line != "101.25\n" || err != nil {
			t.Errorf("subscriber %d got %q, %v", i, line, err)
		}
	}
	interrupt()
	for i, body := range bodies {
		if rest, err := io.ReadAll(body); len(rest) > 0 || err != nil {
			t.Errorf("at the end subscriber %d got %q, %v", i, rest, err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// slow is a client that reads when the test does.
type slow struct {
	*httptest.ResponseRecorder
	*io.PipeWriter
}

func (s slow) Write(p []byte) (int, error) { return s.PipeWriter.Write(p) }

// A slow subscriber misses prices, and gets the newest.
func TestSlow(t *testing.T) {
	log.SetOutput(t.Output())
	synctest.Test(t, func(t *testing.T) {
		prices := hub.New[float64](64, &hub.Options{Replay: 1})
		connection, w := io.Pipe()
		go func() {
			defer w.Close()
			subscribe(slow{httptest.NewRecorder(), w}, httptest.NewRequest("GET", "/prices", nil), prices)
		}()
		synctest.Wait()
		for i := range 1000 {
			if err := prices.Send(t.Context(), float64(i)); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				synctest.Wait() // the subscriber has received it, and is writing
			}
		}
		prices.Close()
		got, err := io.ReadAll(connection)
		if want := "0\n999\n"; string(got) != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}
