package profile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/trace"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// In a synctest bubble with a network in memory, any goroutine left at the end
// fails the test.
func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := silent(t, nil)
		defer end()
		began := time.Now()
		_, err := s.Watch(t.Context(), time.Second)
		if err == nil || !strings.Contains(err.Error(), "no response within 10s: is the host right") {
			t.Error(err)
		}
		if took := time.Since(began); took != usualGrace {
			t.Errorf("took %v, want %v", took, usualGrace)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := silent(t, nil)
		defer end()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := s.Watch(ctx, time.Hour)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// A service that answers only the first request is not waited for at every
// step: all requests share a limit, and skipped ones are reported.
func TestHangsAtEachStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := silent(t, map[string][]byte{"/debug/pprof/goroutine": goroutineDrawing(there(3, sendStack...)).bytes(t)})
		defer end()
		began := time.Now()
		c, err := s.Watch(t.Context(), time.Second, KindBlock, KindTrace)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Second+usualBudget {
			t.Errorf("took %v, want %v", took, time.Second+usualBudget)
		}
		unasked := 0
		for _, m := range c.Missing {
			if strings.Contains(m.Reason, "skipped: the requests took longer than 20s") {
				unasked++
			}
		}
		if unasked < 5 || c.Missing[0].Reason != "no response within 10s" {
			t.Errorf("missing %+v", c.Missing)
		}
		// A trace that is requested later shares the limit.
		began = time.Now()
		_, err = s.More(t.Context(), KindTrace, time.Second)
		if took := time.Since(began); err != nil || took > time.Second {
			t.Errorf("waited %v for the trace, %v", took, err)
		}
	})
}

// A trace that takes too long to read counts up to there.
func TestSlowTrace(t *testing.T) {
	var dump bytes.Buffer
	if err := trace.Start(&dump); err != nil {
		t.Fatal(err)
	}
	pingPong(2 * eventsPerCheck)
	trace.Stop()
	at := func(due time.Time) *Trace {
		read := parts{due: due}
		if err := read.read("trace.out", bytes.NewReader(dump.Bytes())); err != nil {
			t.Fatal(err)
		}
		return read.files[0].trace
	}
	now := time.Now()
	whole, part := at(now.Add(time.Hour)), at(now.Add(-time.Hour))
	if whole.Truncated || !part.Truncated || part.Wakeups == 0 || part.Wakeups > whole.Wakeups/2 || part.Window >= whole.Window {
		t.Errorf("in time: %v, %d wake-ups in %v; too late: %v, %d in %v", whole.Truncated, whole.Wakeups, whole.Window, part.Truncated, part.Wakeups, part.Window)
	}
}

// pingPong passes n values between two goroutines.
func pingPong(n int) {
	values, done := make(chan int), make(chan struct{})
	go func() {
		defer close(done)
		for range values {
		}
	}()
	for i := range n {
		values <- i
	}
	close(values)
	<-done
}

// silent is a service that accepts connections but only answers the paths in
// answers.
func silent(t *testing.T, answers map[string][]byte) (s *Service, end func()) {
	t.Helper()
	s, err := At("silent.example:80", "")
	if err != nil {
		t.Fatal(err)
	}
	var others []net.Conn
	transport := s.getter.client.Transport.(*http.Transport)
	transport.Proxy = nil
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, other := net.Pipe()
		others = append(others, other)
		go func() {
			request, err := http.ReadRequest(bufio.NewReader(other))
			if err != nil {
				return
			}
			if answer, ok := answers[request.URL.RequestURI()]; ok {
				fmt.Fprintf(other, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
			}
		}()
		return ours, nil
	}
	return s, func() {
		for _, other := range others {
			other.Close()
		}
	}
}
