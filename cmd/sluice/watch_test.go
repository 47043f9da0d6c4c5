package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	library "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/livepage"
)

// channelServer serves the channels of this process, like any service.
func channelServer(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/debug/sluice", livepage.Handler())
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// manualWatch returns a way to watch this process instead of localhost:6060. A command that
// does not end is interrupted by its reader. The service has been asked once, so that it knows
// rates when the first command asks.
func manualWatch(t *testing.T) func(*testing.T, []string) {
	c := library.NewBounded[int](16, &library.BoundedOptions[int]{Name: "manual\x1b[2J"})
	t.Cleanup(func() { runtime.KeepAlive(c) })
	address := channelServer(t)
	if response, err := http.Get("http://" + address + "/debug/sluice?format=json"); err != nil {
		t.Fatal(err)
	} else {
		response.Body.Close()
	}
	return func(t *testing.T, command []string) {
		args := slices.Clone(command[1:])
		if pipe := slices.Index(args, "|"); pipe >= 0 {
			args = args[:pipe]
		}
		args[1] = address
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		want := 0
		out := &interrupter{cancel: cancel}
		if slices.Contains(args, "-n") {
			out.after, want = 3, statusInterrupted
		}
		var stderr strings.Builder
		status := run(ctx, args, out, &stderr)
		if status != want || !strings.Contains(out.String(), `manual\x1b[2J  Bounded  0/16  `) || strings.Contains(out.String(), "\x1b") {
			t.Errorf("status %d, want %d\n%s%s", status, want, out, &stderr)
		}
	}
}

// Each mistake, and each unreachable service, gets one line and status 2.
func TestWatchMistakes(t *testing.T) {
	address := channelServer(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/debug") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
	}))
	defer web.Close()
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "<address>"},
		{[]string{"ftp://" + address}, `unsupported scheme "ftp"`},
		{[]string{"http://"}, "no host"},
		{[]string{address + "?speed=1"}, "parameter speed"},
		{[]string{"-n", "0", address}, "-n must be from 1 to 3600"},
		{[]string{"-n", "3601", address}, "-n must be from 1 to 3600"},
		{[]string{"-n", "0.5", address}, "-every"},
		{[]string{"-sort", "speed", address}, `unknown sort key "speed"`},
		{[]string{"-kind", "pipe", address}, `unknown kind "pipe"`},
		{[]string{"-order", "up", address}, "want asc or desc"},
		{[]string{address, "other"}, "unexpected argument other"},
		{[]string{web.URL}, "/debug/sluice: status 404 Not Found: does the service register livepage.Handler at /debug/sluice, on this port?"},
		{[]string{web.URL + "/index"}, "/index: the response is a web page"},
		{[]string{"127.0.0.1:1"}, "http://127.0.0.1:1/debug/sluice: connection refused: nothing listens on 127.0.0.1:1. Is the service running"},
		{[]string{address + "?channel=99999999"}, "this channel no longer exists"},
	} {
		status, stdout, stderr := sluice(t, 0, append([]string{"watch"}, test.args...)...)
		first, hint, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
		if status != statusUsage || stdout != "" || !strings.Contains(first, test.want) || hint != "" && !strings.HasPrefix(hint, "Run 'sluice") {
			t.Errorf("watch %q: status %d, want %d and %q\n%s%s", test.args, status, statusUsage, test.want, stdout, stderr)
		}
	}
}

// Flags override the query of the address.
func TestWatchAsks(t *testing.T) {
	c := watchCommand{Address: "host:1?sort=sent&filter=a", Filter: "b", Order: "asc", Kind: "elastic"}
	_, q, err := c.query()
	if err != nil || q.Sort != "sent" || q.Filter != "b" || q.Order != "asc" || q.Kind != "elastic" {
		t.Errorf("%+v, %v", q, err)
	}
}

// Ctrl-C before the first response.
func TestWatchInterrupt(t *testing.T) {
	if stderr := interruptedRequest(t, "watch"); stderr != "sluice: interrupted\n" {
		t.Errorf("stderr %q", stderr)
	}
}
