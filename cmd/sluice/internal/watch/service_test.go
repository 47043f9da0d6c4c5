package watch

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/livepage"
)

// serve serves h at the default path, and returns the service.
func serve(t *testing.T, h http.Handler) (*Service, *httptest.Server) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(path, h)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return at(t, server.URL), server
}

func at(t *testing.T, target string) *Service {
	t.Helper()
	s, _, err := At(target)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Fetch works with the real handler, for different kinds.
func TestFetch(t *testing.T) {
	prefix := fmt.Sprint("watch ask ", rand.Uint64()) // channels of an earlier run may still be listed
	ring := sluice.NewBounded[int](16, &sluice.BoundedOptions[int]{Name: prefix + " ring"})
	unlimited := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Name: prefix + " unlimited"})
	for v := range 3 {
		if err := ring.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := serve(t, livepage.Handler())
	report, err := s.Fetch(t.Context(), Query{Filter: strings.ToUpper(prefix)})
	if err != nil || report.Matching != 2 || len(report.Channels) != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	if c := report.Channels[0]; c.Name != prefix+" ring" || c.Len != 3 || *c.Cap != 16 {
		t.Errorf("%+v", c)
	}
	if c := report.Channels[1]; c.Name != prefix+" unlimited" || c.Cap != nil {
		t.Errorf("%+v", c)
	}
	id := report.Channels[0].ID
	if report, err = s.Fetch(t.Context(), Query{Channel: id, Filter: "nothing"}); err != nil || report.Channels[0].ID != id || report.Channels[0].Snapshot.Rings[0].Send != 3 {
		t.Errorf("by its ID: %+v, %v", report, err)
	}
	if _, err := s.Fetch(t.Context(), Query{Channel: 1 << 60}); err != errGone {
		t.Errorf("nonexistent channel: %v", err)
	}
	if _, err := s.Fetch(t.Context(), Query{Filter: strings.Repeat("x", 5000)}); err == nil || !strings.Contains(err.Error(), "status 400: query of 5") {
		t.Errorf("too long a query: %v", err)
	}
	runtime.KeepAlive(ring)
	runtime.KeepAlive(unlimited)
}

// Each invalid response becomes a one-line error without control characters.
func TestNoAnswer(t *testing.T) {
	web := func(status int, media, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for _, test := range []struct {
		name string
		h    http.HandlerFunc
		want string
	}{
		{"no handler", http.NotFound, "status 404 Not Found: does the service register livepage.Handler at /debug/sluice"},
		{"a web page", web(200, "text/html; charset=utf-8", "<!doctype html>"), "the response is a web page: is livepage.Handler at another address?"},
		{"text", web(200, "text/plain", "hello"), "not a report of channels"},
		{"other JSON", web(200, "application/json", `{"ok": true}`), "not a report of channels"},
		{"null", web(200, "application/json", `null`), "not a report of channels"},
		{"nothing", web(200, "application/json", ``), "not a report of channels"},
		{"two reports", web(200, "application/json", `{"time":"2026-01-02T03:04:05Z"}{}`), "not a report of channels"},
		{"out of range", web(200, "application/json", `{"time":"2026-01-02T03:04:05Z","named":1e99}`), "not a report of channels"},
		{"too much", web(200, "application/json", `{"x":"`+strings.Repeat("x", maxAnswer)+`"}`), "response larger than 16 MB"},
		{"locked", web(401, "text/plain", "who are you?"), "status 401 Unauthorized"},
		{"hostile", web(503, "text/plain", "sluice: \x1b[2Jbusy\nmore"), `status 503: \x1b[2Jbusy`},
		{"to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		}, "refused a redirect to http://127.0.0.2:1"},
		{"round and round", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, path, http.StatusFound)
		}, "more than 3 redirects"},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, "incomplete response"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _ := serve(t, test.h)
			_, err := s.Fetch(t.Context(), Query{})
			if err == nil || !strings.Contains(err.Error(), test.want) || steering(err.Error()) != "" {
				t.Errorf("%q, want %q", fmt.Sprint(err), test.want)
			}
		})
	}
}

// Fetch gives up on a service that accepts the request but does not respond.
// Quitting does not wait for it.
func TestHanging(t *testing.T) {
	requests := make(chan struct{}, 1)
	s, _ := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests <- struct{}{}
		<-r.Context().Done() // until the client is gone
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-requests; cancel() }()
	if _, err := s.Fetch(ctx, Query{}); err != context.Canceled {
		t.Errorf("after quitting: %v", err)
	}
	s.within = time.Millisecond
	if _, err := s.Fetch(t.Context(), Query{}); err == nil || !strings.HasPrefix(err.Error(), "no response within 1ms: is the host right") {
		t.Errorf("a service that hangs: %v", err)
	}
}

// unused is an address without a listener.
const unused = "127.0.0.1:1"

// An address without a listener, with a password that must not appear in the
// error.
func TestRefused(t *testing.T) {
	_, err := at(t, "http://me:secret@"+unused).Fetch(t.Context(), Query{})
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// A service that refuses the host name says how to allow it, and nothing of the
// advice is cut off.
func TestForeignHost(t *testing.T) {
	name := "orders." + strings.Repeat("long.", 12) + "internal"
	handler := livepage.Handler()
	s, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = name + ":6060"
		handler.ServeHTTP(w, r)
	}))
	_, err := s.Fetch(t.Context(), Query{})
	if err == nil || !strings.Contains(err.Error(), "status 403: host ") || !strings.HasSuffix(err.Error(), `with livepage.Handler("`+name+`")`) {
		t.Errorf("%v", err)
	}
}

// A redirect on the same host, for example to a path with a slash, is followed.
func TestRedirect(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/channels/", livepage.Handler())
	server := httptest.NewServer(mux)
	defer server.Close()
	report, err := at(t, server.URL+"/channels").Fetch(t.Context(), Query{})
	if err != nil || report.Page != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}
