package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	profiles "runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/doctor"
	"github.com/sluice-go/sluice/internal/suite"
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

// bring puts the capture of a day into the current directory. Unless every test runs, it is
// the same for each day.
func (m manualDoctor) bring(t *testing.T, day string) {
	saved := filepath.Join(m.dir, day)
	if !suite.All() {
		saved = filepath.Join(m.dir, "monday")
	}
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
	args := slices.Clone(command[1:])
	if i := slices.Index(args, "-pod"); i >= 0 { // there is no cluster
		args = slices.Replace(args, i, i+2, "localhost:6060")
	}
	if i := slices.Index(args, "localhost:6060"); i >= 0 {
		if !slices.Contains(args, "-save") {
			suite.Needs(t, "a second of observation, as -save does")
		}
		args[i] = m.address
		args = append(args, "-seconds", "1")
	}
	for _, day := range []string{"monday", "tuesday"} {
		if slices.Contains(args, day) && !slices.Contains(args, "-save") {
			m.bring(t, day)
		}
	}
	if slices.Contains(args, "flight.trace") {
		manualTrace(t, "flight.trace")
	}
	if slices.Contains(args, "goroutines.txt") {
		manualDump(t, "goroutines.txt")
	}
	status, stdout, stderr := sluice(t, 0, args...)
	if slices.Contains(args, "-fail-on") {
		// What this process does meanwhile is not known: TestDoctorFailOn has the statuses.
		says := map[int]string{0: "", statusFailed: errFound.Error(), statusUndecided: "too little was seen"}
		if want, ok := says[status]; !ok || !strings.Contains(stderr, want) {
			t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
		}
		return
	}
	if status != 0 || stdout == "" {
		t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
	}
	if page, err := os.ReadFile("page.html"); slices.Contains(command, "-html") && (err != nil || !strings.Contains(string(page), m.address)) {
		t.Errorf("the page: %v\n%s", err, page)
	}
	_, err := os.Stat("monday/capture.json")
	if saved := err == nil; saved != slices.Contains(command, "monday") {
		t.Errorf("saved: %v", saved)
	} else if saved && slices.Contains(args, "-save") {
		if err := os.CopyFS(filepath.Join(m.dir, "monday"), os.DirFS("monday")); err != nil {
			t.Error(err)
		}
	}
}

// manualDump writes a dump of the goroutines of this process.
func manualDump(t *testing.T, name string) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := profiles.Lookup("goroutine").WriteTo(file, 2); err != nil {
		t.Fatal(err)
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
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const asleep = "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive, 2 minutes]:\nmain.main()\n\t/src/main.go:9 +0x1d\n"
	dead, alive := write("dead.txt", asleep), write("alive.txt", strings.Replace(asleep[strings.Index(asleep, "goroutine"):], "[chan receive, 2 minutes]", "[IO wait]", 1))
	for _, test := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"-fail-on", "found", dead}, statusFailed, "something in the program holds it back"},
		{[]string{dead}, 0, ""},
		{[]string{"-fail-on", "found", alive}, statusUndecided, "too little was seen"},
		{[]string{"-fail-on", "lost", dead}, statusUsage, `unknown -fail-on "lost" (want found)`},
		{[]string{dead, "-fail-on"}, statusUsage, "-fail-on requires a value (want found)"},
		{[]string{"-fail-on", dead}, statusUsage, "unknown -fail-on"},
		{[]string{"-save"}, statusUsage, "-save requires a value\n"},
		{[]string{"-compare", dead, alive}, 0, ""},
		{[]string{"-compare", "-json", dead, alive}, 0, ""},
		{[]string{"-compare", dead}, statusUsage, "two saved captures"},
		{[]string{"-compare", dead, ":6060"}, statusUsage, "reads saved captures"},
		{[]string{"-compare", dead, "none"}, statusUsage, "no such file"},
		{[]string{"-compare", "-save", "x", dead, alive}, statusUsage, "cannot be combined"},
		{[]string{"6060"}, statusUsage, "(the service on this port of this machine is :6060)"},
		{[]string{"localhost"}, statusUsage, "(if it is a host, add the port: localhost:6060)"},
		{[]string{":99999"}, statusUsage, "(a port is from 1 to 65535)"},
		{[]string{"no/such/folder"}, statusUsage, "no such file or directory\n"},
	} {
		status, stdout, stderr := sluice(t, 0, append([]string{"doctor"}, test.args...)...)
		if status != test.status || !strings.Contains(stderr, test.says) || status != statusUsage && stdout == "" {
			t.Errorf("%q: status %d\n%s\n%s", test.args, status, stdout, stderr)
		}
	}
}

// TestDoctorSaved: a saved capture gives the answer of the observation that it was saved by,
// and a trace is a part of it unless -cheap is given.
func TestDoctorSaved(t *testing.T) {
	t.Chdir(t.TempDir())
	address := pprofServer(t)
	for _, cheap := range []bool{false, true} {
		args := []string{"doctor", "-json", "-seconds", "1", "-save", fmt.Sprint("cheap-", cheap), address}
		if cheap {
			args = append(args, "-cheap")
		}
		status, live, stderr := sluice(t, 0, args...)
		if status != 0 || !strings.Contains(stderr, "saved in cheap-") {
			t.Fatalf("status %d\n%s", status, stderr)
		}
		status, saved, stderr := sluice(t, 0, "doctor", "-json", fmt.Sprint("cheap-", cheap))
		var before, after doctor.Diagnosis
		if err := errors.Join(json.Unmarshal([]byte(live), &before), json.Unmarshal([]byte(saved), &after)); status != 0 || err != nil {
			t.Fatalf("status %d, %v\n%s", status, err, stderr)
		}
		if before.Schema != doctor.Schema || before.Verdict != after.Verdict || before.Answer != after.Answer || before.Observed != after.Observed {
			t.Errorf("cheap %v: live\n%s\nsaved\n%s", cheap, live, saved)
		}
		if strings.Contains(after.Observed, "trace") == cheap {
			t.Errorf("cheap %v: observed %s", cheap, after.Observed)
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
		{[]string{"full"}, "full: found no profile"},
		{[]string{"empty", address}, "cannot be combined"},
		{[]string{"-save", "x", "empty"}, "-save"},
		{[]string{"-cheap", "empty"}, "-cheap"},
		{[]string{"-save", ".", address}, ".: the folder is not empty"},
		{[]string{"-html", "nonesuch/page.html", address}, "nonesuch: no such file or directory"},
		{[]string{"-html", "empty/page.html", address}, "empty is not a directory"},
		{[]string{"-html", "full", address}, "full: is a directory"},
		{[]string{"-header", "Authorization", address}, "want NAME:VALUE"},
		{[]string{"-cert", "nonesuch", "-key", "nonesuch", address}, "nonesuch"},
		{[]string{"-pod", "shop/cart", address}, "-pod cannot be combined"},
		{[]string{"-seconds", "0", address}, "-seconds"},
		{[]string{"-seconds", "601", address}, "from 1 to 600"},
		{[]string{"-save", "full", address}, "full: the folder is not empty"},
		{[]string{"-save", "empty", address}, "empty"},
		{[]string{"ftp://" + address}, `unsupported scheme "ftp"`},
		{[]string{web.URL}, "status 404 Not Found: does the service register net/http/pprof at /debug/pprof/"},
		{[]string{web.URL}, web.URL + "/debug/pprof: "},
		{[]string{pages.URL}, pages.URL + "/debug/pprof: the response is a web page"},
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
