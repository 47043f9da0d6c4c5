package sink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unique"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// table returns a table of one row, and its encoding.
func table(lines int) (*count.Table, string) {
	t := count.NewTable()
	for range lines {
		t.Add(parse.Event{Service: unique.Make("web"), Status: 200, Bytes: 10})
	}
	return t, string(t.AppendJSON(nil))
}

func TestStream(t *testing.T) {
	var out strings.Builder
	s, err := Open("", &out)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for lines := range 3 { // the first table is empty
		table, text := table(lines)
		if err := s.Ship(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		want += text
	}
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, place := range []string{"http://", "https://\x00", "ftp://host/x", "counts.json"} {
		if _, err := Open(place, nil); err == nil {
			t.Errorf("%q was opened", place)
		}
	}
}

// narrow accepts a few bytes at a time, and fails after each write: a full disk
// on which room becomes free gradually.
type narrow struct{ strings.Builder }

func (n *narrow) Write(text []byte) (int, error) {
	taken, _ := n.Builder.Write(text[:min(len(text), 7)])
	if taken < len(text) {
		return taken, syscall.ENOSPC
	}
	return taken, nil
}

// TestPartial: bytes that were written are not written again.
func TestPartial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out narrow
		retries := 0
		s := &Sink{to: &stream{Writer: &out}, Retries: func(err error, _ time.Duration) {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Error(err)
			}
			retries++
		}}
		table, want := table(1)
		if err := s.Ship(t.Context(), table); err != nil || out.String() != want {
			t.Errorf("got %q, %v, want %q", out.String(), err, want)
		}
		if retries != (len(want)-1)/7 {
			t.Errorf("%d retries", retries)
		}
	})
}

// TestTorn: a row that was given up in the middle does not damage the first row
// of the next table.
func TestTorn(t *testing.T) {
	var out strings.Builder
	full := true
	s := &Sink{to: &stream{Writer: writer(func(text []byte) (int, error) {
		if !full {
			return out.Write(text)
		}
		n, _ := out.Write(text[:7-min(7, out.Len())])
		return n, syscall.ENOSPC
	})}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	one, text := table(1)
	lost := int64(0)
	s.Lost = func(err error, lines int64) {
		if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, context.Canceled) {
			t.Errorf("%v does not contain the cause", err)
		}
		lost += lines
	}
	two, other := table(2)
	for _, table := range []*count.Table{one, two} {
		if err := s.Ship(ctx, table); err == nil {
			t.Error("shipped to a full disk")
		}
	}
	full = false
	if err := errors.Join(s.Ship(ctx, two), s.Ship(ctx, one)); err != nil {
		t.Error(err)
	}
	if want := text[:7] + "\n" + other + text; out.String() != want || lost != 3 {
		t.Errorf("got %q, %d lines lost, want %q, 3", out.String(), lost, want)
	}
}

// TestTornBetweenRows: a table that was given up after a complete row leaves no
// torn row, and the next one follows without an empty line.
func TestTornBetweenRows(t *testing.T) {
	var out strings.Builder
	full := true
	s := &Sink{to: &stream{Writer: writer(func(text []byte) (int, error) {
		if !full {
			return out.Write(text)
		}
		row, _, _ := bytes.Cut(text, []byte("\n"))
		n, _ := out.Write(text[:len(row)+1])
		return n, syscall.ENOSPC
	})}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	one, other := table(1)
	two, _ := table(1)
	two.Add(parse.Event{Service: unique.Make("web"), Status: 404})
	first, _, _ := strings.Cut(string(two.AppendJSON(nil)), "\n")
	if err := s.Ship(ctx, two); err == nil {
		t.Error("shipped to a full disk")
	}
	full = false
	if err := s.Ship(ctx, one); err != nil {
		t.Error(err)
	}
	if want := first + "\n" + other; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// A writer is a function that implements io.Writer.
type writer func(text []byte) (int, error)

func (w writer) Write(text []byte) (int, error) { return w(text) }

// A recorder is a server with predefined responses.
type recorder struct {
	answers []int // status codes, then 200
	bodies  []string
	keys    []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.bodies = append(r.bodies, string(body))
	r.keys = append(r.keys, request.Header.Get("Idempotency-Key"))
	if n := len(r.bodies) - 1; n < len(r.answers) {
		w.WriteHeader(r.answers[n])
	}
}

// TestHTTP: a table is sent again with the same key after each status that may pass.
func TestHTTP(t *testing.T) {
	for _, status := range []int{500, 429, 408, 503} {
		r := &recorder{answers: []int{status}}
		server := httptest.NewServer(r)
		s, err := Open(server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		one, text := table(1)
		two, other := table(2)
		if err := errors.Join(s.Ship(t.Context(), one), s.Ship(t.Context(), two)); err != nil {
			t.Fatal(err)
		}
		server.Close()
		if !slices.Equal(r.bodies, []string{text, text, other}) || r.keys[0] == "" || r.keys[1] != r.keys[0] || r.keys[2] == r.keys[0] {
			t.Errorf("%d: %q with the keys %q", status, r.bodies, r.keys)
		}
	}
}

// TestRefusedForGood: a table that the server rejects permanently is not sent
// again.
func TestRefusedForGood(t *testing.T) {
	for _, status := range []int{302, 400, 404, 413} {
		r := &recorder{answers: []int{status}}
		server := httptest.NewServer(r)
		s, err := Open(server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := table(1)
		if err := s.Ship(t.Context(), one); err == nil || len(r.bodies) != 1 {
			t.Errorf("%d: %v after %d requests", status, err, len(r.bodies))
		}
		server.Close()
	}
}

// TestSecretAddress: errors name the server without what may be secret in its address.
func TestSecretAddress(t *testing.T) {
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	const unused = "http://127.0.0.1:1" // another process may get the port of a server that was closed
	one, _ := table(1)
	for _, server := range []string{refuses.URL, unused, "http://127.0.0.1:port"} {
		for _, user := range []string{"user:secret", "secret", "user:se/secret"} {
			s, err := Open(strings.Replace(server, "://", "://"+user+"@", 1)+"/?token=secret", nil)
			if err == nil {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				err = s.Ship(ctx, one)
				cancel()
			}
			if err == nil || strings.Contains(err.Error(), "secret") || user == "secret" && server != "http://127.0.0.1:port" && !strings.Contains(err.Error(), server) {
				t.Errorf("%s at %s: %v", user, server, err)
			}
		}
	}
}

// TestRedirected: a table that a server redirects is not shipped, nor sent elsewhere.
func TestRedirected(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		got := &recorder{}
		mux := http.NewServeMux()
		mux.Handle("/", http.RedirectHandler("/there", status))
		mux.Handle("/there", got)
		server := httptest.NewServer(mux)
		s, err := Open(server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := table(1)
		if err = s.Ship(t.Context(), one); err == nil || len(got.bodies) != 0 {
			t.Errorf("%d: %v, and the target received %q", status, err, got.bodies)
		}
		server.Close()
	}
}

// failing fails until a given time.
type failing struct {
	until time.Time
	tries []time.Time
}

func (f *failing) deliver(_ context.Context, _ int64, text []byte) (int, error) {
	f.tries = append(f.tries, time.Now())
	if time.Now().Before(f.until) {
		return 0, errors.New("down")
	}
	return len(text), nil
}

// TestBackoff: the delays grow up to their limit.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &failing{until: time.Now().Add(time.Hour)}
		s := &Sink{to: down}
		one, _ := table(1)
		if err := s.Ship(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(down.tries); i++ {
			wait := down.tries[i].Sub(down.tries[i-1])
			ideal := min(longestWait, firstWait<<min(i-1, 20))
			if wait < ideal/2 || wait > ideal+ideal/2 {
				t.Errorf("delay %d is %v, far from %v", i, wait, ideal)
			}
		}
	})
}

// TestGivesUp: when ctx is done, the table is not shipped, and the error
// reports that.
func TestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := &Sink{to: &failing{until: time.Now().Add(time.Hour)}}
		one, _ := table(1)
		if err := s.Ship(ctx, one); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
