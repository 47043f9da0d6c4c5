package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime/trace"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/doctor"
)

// pprofServer serves the profiles of this process, as any service does.
func pprofServer(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// A manualDoctor observes this process instead of localhost:6060, for one second. The
// commands that read a capture share one for each day, in dir.
type manualDoctor struct{ address, dir string }

// bring puts the capture of a day into the current directory.
func (m manualDoctor) bring(t *testing.T, day string) {
	saved := filepath.Join(m.dir, day)
	if _, err := os.Stat(saved); os.IsNotExist(err) {
		if status, _, stderr := sluice(t, 0, "doctor", "-seconds", "1", "-save", saved, m.address); status != 0 {
			t.Fatalf("status %d\n%s", status, stderr)
		}
	}
	if err := os.CopyFS(day, os.DirFS(saved)); err != nil {
		t.Fatal(err)
	}
}

func (m manualDoctor) run(t *testing.T, command []string) {
	address := m.address
	args := slices.Clone(command[1:])
	if i := slices.Index(args, "localhost:6060"); i >= 0 {
		args[i] = address
		args = append(args, "-seconds", "1")
	}
	for _, day := range []string{"monday", "tuesday"} {
		if slices.Contains(args, day) && !slices.Contains(args, "-save") {
			m.bring(t, day)
		}
	}
	if i := slices.Index(args, "flight.trace"); i >= 0 {
		manualTrace(t, "flight.trace")
		address = "flight.trace"
	}
	status, stdout, stderr := sluice(t, 0, args...)
	switch {
	case slices.Contains(args, "-compare"): // this process is idle
		if status != 0 || !strings.Contains(stdout, "too little CPU time") {
			t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
		}
		return
	case slices.Contains(args, "-fail-on"):
		if status != statusUndecided || !strings.Contains(stderr, "too little was seen") {
			t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
		}
		return
	}
	want := "With -v: "
	if slices.Contains(command, "-v") {
		want = "Gains are predicted from prices"
	}
	if status != 0 || !strings.Contains(stdout, address) || !strings.Contains(stdout, want) {
		t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
	}
	if page, err := os.ReadFile("page.html"); slices.Contains(command, "-html") && (err != nil || !strings.Contains(string(page), address)) {
		t.Errorf("the page: %v\n%s", err, page)
	}
	_, err := os.Stat("monday/capture.json")
	if saved := err == nil; saved != slices.Contains(command, "monday") {
		t.Errorf("saved: %v", saved)
	}
}

// manualTrace writes the dump of a flight recorder.
func manualTrace(t *testing.T, name string) {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	defer recorder.Stop()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := recorder.WriteTo(file); err != nil {
		t.Fatal(err)
	}
}

// TestDoctorFailOn: the status depends on the answer.
func TestDoctorFailOn(t *testing.T) {
	const contended = "testdata/contended"
	traces := filepath.Join("internal", "doctor", "testdata")
	slow, unclear := filepath.Join(traces, "held.trace"), filepath.Join(traces, "leaving.trace")
	for _, test := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"-fail-on", "found", contended}, statusFailed, "a problem with channels was found"},
		{[]string{contended}, 0, ""},
		{[]string{"-fail-on", "found", slow}, 0, ""},
		{[]string{"-fail-on", "found", unclear}, statusUndecided, "too little was seen"},
		{[]string{"-fail-on", "lost", contended}, statusUsage, `unknown -fail-on "lost" (want found)`},
		{[]string{contended, "-fail-on"}, statusUsage, "-fail-on requires a value (want found)"},
		{[]string{"-fail-on", contended}, statusUsage, "unknown -fail-on"},
		{[]string{"-save"}, statusUsage, "-save requires a value\n"},
		{[]string{"-compare", contended, contended}, 0, ""},
		{[]string{"-compare", "-json", contended, contended}, 0, ""},
		{[]string{"-compare", contended}, statusUsage, "two saved captures"},
		{[]string{"-compare", contended, ":6060"}, statusUsage, "reads saved captures"},
		{[]string{"-compare", contended, "none"}, statusUsage, "no such file"},
		{[]string{"6060"}, statusUsage, "(the service on this port of this machine is :6060)"},
		{[]string{"localhost"}, statusUsage, "(if it is a host, add the port: localhost:6060)"},
		{[]string{":99999"}, statusUsage, "(a port is from 1 to 65535)"},
		{[]string{"no/such/folder"}, statusUsage, "no such file or directory\n"},
		{[]string{contended, contended, contended}, statusUsage, "-compare takes two captures"},
		{[]string{"-compare", "-save", "x", contended, contended}, statusUsage, "cannot be combined"},
	} {
		status, stdout, stderr := sluice(t, 0, append([]string{"doctor"}, test.args...)...)
		if status != test.status || !strings.Contains(stderr, test.says) || status != statusUsage && stdout == "" {
			t.Errorf("%q: status %d\n%s\n%s", test.args, status, stdout, stderr)
		}
	}
}

func TestDoctorJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	if status, _, stderr := sluice(t, 0, "doctor", "-seconds", "1", "-trace", "-block", "-save", "a", pprofServer(t)); status != 0 || !strings.Contains(stderr, "saved in a\nit has too little CPU time for -compare: ") {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	status, stdout, stderr := sluice(t, 0, "doctor", "-json", "a")
	var d doctor.Diagnosis
	if err := json.Unmarshal([]byte(stdout), &d); status != 0 || err != nil {
		t.Fatalf("status %d, %v\n%s", status, err, stderr)
	}
	// A test that waits for its own profiles is idle.
	if d.Schema != doctor.Schema || d.Verdict != doctor.Idle || d.Shares.Cores == nil || d.Window == 0 || !d.Prices.OtherMachine {
		t.Errorf("%+v", d)
	}
}

// holder holds one of few tokens until the test ends, or waits for one.
func holder(tokens, held chan struct{}, end <-chan struct{}) {
	<-tokens
	held <- struct{}{}
	for {
		select {
		case <-end:
			return
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// A finding that needs a trace gets a short one, which is reported and saved,
// unless -cheap forbids it.
func TestDoctorDecides(t *testing.T) {
	t.Chdir(t.TempDir())
	tokens, held, end := make(chan struct{}, 1), make(chan struct{}, 8), make(chan struct{})
	t.Cleanup(func() {
		close(tokens)
		close(end)
	})
	tokens <- struct{}{}
	for range 8 {
		go holder(tokens, held, end)
	}
	<-held
	address := pprofServer(t)
	for flag, want := range map[string]bool{"-json": true, "-cheap": false} {
		dir := "saved" + flag
		status, stdout, stderr := sluice(t, 0, "doctor", "-seconds", "1", flag, "-save", dir, address)
		if status != 0 {
			t.Fatalf("status %d\n%s", status, stderr)
		}
		_, err := os.Stat(filepath.Join(dir, "trace.json"))
		announced := strings.Contains(stderr, "taking a trace of at most 500ms, to decide whether the waiting goroutines take the tokens that the others release")
		if announced != want || (err == nil) != want || strings.Contains(stdout, "to decide whether the waiting goroutines") != want {
			t.Errorf("%s: announced %v, saved %v\n%s%s", flag, announced, err, stderr, stdout)
		}
	}
}

// Each mistake gets a one-line message and status 2, and nothing is written.
func TestDoctorMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	address := pprofServer(t)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!DOCTYPE html><title>shop</title>") }))
	defer pages.Close()
	if err := os.WriteFile("empty", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("full/of", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "target"},
		{[]string{"nonesuch"}, "no such file"},
		{[]string{"empty"}, "empty: empty file: the service sent nothing"},
		{[]string{"full"}, "no profile"},
		{[]string{"empty", address}, "cannot be combined"},
		{[]string{"-save", "x", "empty"}, "-save"},
		{[]string{"-trace", "empty"}, "-trace"},
		{[]string{"-cheap", "empty"}, "-cheap"},
		{[]string{"-save", ".", address}, "the current folder"},
		{[]string{"-metrics", "/m", "empty"}, "-metrics"},
		{[]string{"-prices", "empty", address}, "empty: not written by sluice lab"},
		{[]string{"-prices", "nonesuch", address}, "nonesuch"},
		{[]string{"-html", "nonesuch/page.html", address}, "nonesuch: no such file or directory"},
		{[]string{"-html", "empty/page.html", address}, "empty is not a directory"},
		{[]string{"-html", "full", address}, "full: is a directory"},
		{[]string{"-seconds", "0", address}, "-seconds"},
		{[]string{"-seconds", "601", address}, "from 1 to 600"},
		{[]string{"-save", "full", address}, "full: the folder is not empty"},
		{[]string{"-save", "empty", address}, "empty"},
		{[]string{"-metrics", "http://elsewhere.example/", address}, "same host"},
		{[]string{"ftp://" + address}, `unsupported scheme "ftp"`},
		{[]string{web.URL}, "status 404 Not Found: does the service register net/http/pprof at /debug/pprof/, on this port?"},
		{[]string{web.URL}, web.URL + "/debug/pprof/goroutine: "},
		{[]string{pages.URL}, pages.URL + "/debug/pprof/goroutine: the response is a web page"},
		{[]string{"127.0.0.1:1"}, "connection refused: nothing listens on 127.0.0.1:1. Is the service running"},
	} {
		status, stdout, stderr := sluice(t, 0, append([]string{"doctor"}, test.args...)...)
		if slices.Contains(test.args, address) && strings.Contains(stderr, "observing") {
			t.Errorf("doctor %q: the service was disturbed for nothing", test.args)
		}
		if status != statusUsage || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("doctor %q: status %d, want %d and %q\n%s%s", test.args, status, statusUsage, test.want, stdout, stderr)
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// interruptedRequest runs a command with the address of a service that does not
// respond, and interrupts it once the request has arrived. It returns stderr.
func interruptedRequest(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done() // until the client is gone
	}))
	defer hanging.Close()
	var stdout, stderr strings.Builder
	status := run(ctx, append(args, hanging.URL), &stdout, &stderr)
	if status != statusInterrupted || stdout.Len() > 0 {
		t.Errorf("status %d, want %d\n%s%s", status, statusInterrupted, &stdout, &stderr)
	}
	return stderr.String()
}

// Ctrl-C during observation ends it without output.
func TestDoctorInterrupt(t *testing.T) {
	t.Chdir(t.TempDir())
	interruptedRequest(t, "doctor", "-save", "x")
	if _, err := os.Stat("x"); err == nil {
		t.Error("a folder is left behind")
	}
}
