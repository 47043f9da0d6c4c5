package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asCommand is an environment variable that makes the test binary run the
// command itself.
const asCommand = "LOGAGG_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main() // exits
	}
	os.Exit(m.Run())
}

// TestInputs: files and the standard input together; the standard output
// contains only counts, and the account goes elsewhere.
func TestInputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	const line = `203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" %d 5` + "\n"
	if err := os.WriteFile(path, fmt.Appendf(nil, strings.Repeat(line, 2), 200, 404), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errors strings.Builder
	stdin := strings.NewReader(fmt.Sprintf(line, 200) + "garbage\n")
	if status := run(t.Context(), []string{path, "-"}, streams{stdin, &out, &errors}); status != 0 {
		t.Fatalf("status %d: %s", status, errors.String())
	}
	want := `{"minute":"2026-11-21T15:04:00Z","service":"unknown","status":200,"lines":2,"bytes":10}
{"minute":"2026-11-21T15:04:00Z","service":"unknown","status":404,"lines":1,"bytes":5}
`
	if out.String() != want || !strings.Contains(errors.String(), "in 4 = counted 3 + malformed 1 ") {
		t.Errorf("got %s%s", out.String(), errors.String())
	}
}

// TestDebug: the debugging pages exist, and the hot channel is listed.
func TestDebug(t *testing.T) {
	s := start(t, "-debug", "127.0.0.1:0")
	top := strings.TrimSuffix(s.debug, "/debug/sluice")
	for path, says := range map[string]string{
		"/debug/sluice?format=json":  `"lines"`,
		"/debug/pprof/":              "goroutine",
		"/debug/pprof/mutex?debug=1": "sampling period=100",
		"/debug/pprof/symbol":        "num_symbols",
		"/debug/account":             `"Counted":0`,
	} {
		response, err := http.Get(top + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK || !strings.Contains(string(body), says) {
			t.Errorf("%s: %s, without %s", path, response.Status, says)
		}
	}
	if status := s.stop(); status != 0 {
		t.Errorf("status %d: %s", status, s.stderr.String())
	}
}

// TestBadInput: a mistake prints one line on stderr and exits with status 2,
// without output.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	exists := filepath.Join(dir, "exists")
	if err := os.WriteFile(exists, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(dir, "damaged")
	if err := os.WriteFile(damaged, []byte("<!-- begin logagg -->\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, says string }{
		{"-nonsense", "not defined"},
		{"-channel pipe -", `unknown channel "pipe"`},
		{"-batch some", "want on, off or a number"},
		{"-batch 0 -", "batch size 0"},
		{"-capacity 0 -", "capacity 0"},
		{"-capacity many", "invalid value"},
		{"-every 0s -", "-every must be"},
		{"-rows 0 -", "-rows must be"},
		{"-connections 0 -", "-connections must be"},
		{"-drain -1s -", "-drain must be"},
		{"-grace -1s -", "-grace must be"},
		{dir, "is not a regular file"},
		{filepath.Join(dir, "gone"), "no such file"},
		{"-o http:// -", "invalid server address"},
		{"-o counts.json -", "invalid server address"},
		{"", "no input"},
		{"-tcp " + taken.Addr().String(), "in use"},
		{"-debug " + taken.Addr().String() + " -", "in use"},
		{"-channel durable -batch 4000 -", "batch size 4000"},
		{"-channel spill -dir " + exists + " -", "not a directory"},
		{"-channel durable -dir " + exists + " -", "not a directory"},
		{"-channel bounded -dir " + dir + " -", "-dir must be omitted"},
		{"-channel durable -nats nats://127.0.0.1:1 -", "-nats must be omitted"},
		{"-channel jetstream -nats nats://127.0.0.1:1 -", "connecting to nats://127.0.0.1:1"},
		{"ship -tcp 127.0.0.1:0", "-nats must be"},
		{"ship -nats nats://127.0.0.1:1", "no input: name a file"},
		{"ship -nats nats://127.0.0.1:1 -every 1s -", "not defined: -every"},
		{"aggregate", "-nats must be"},
		{"aggregate -nats nats://127.0.0.1:1 -tcp x", "not defined: -tcp"},
		{"aggregate -nats nats://127.0.0.1:1 more", `unexpected argument "more"`},
		{"aggregate -nats nats://127.0.0.1:1 -replicas 2", "Replicas is 2"},
		{"aggregate -nats nats://127.0.0.1:1", "connecting to nats://127.0.0.1:1"},
		{"load", "-tcp is required"},
		{"load -tcp x -lines 0", "-lines 0"},
		{"load -tcp x -lines 3 -connections 4", "-connections 4"},
		{"load -tcp x -repeat 0", "-repeat: 0"},
		{"load -tcp x more", `unexpected argument "more"`},
		{"bench -procs 1,x", `invalid number of processors "x"`},
		{"bench -batch 1", "-batch: 1"},
		{"bench -outside -shares", "cannot be combined"},
		{"bench -rounds 0", "-rounds: 0"},
		{"bench -lines 3", "-lines 3"},
		{"bench -repeat 0", "-repeat: 0"},
		{"bench more", `unexpected argument "more"`},
		{"bench -o " + dir, "is a directory"},
		{"bench -o " + filepath.Join(dir, "no", "folder"), "no such file"},
		{"bench -o " + damaged, "has no end"},
	} {
		var out, errors strings.Builder
		status := run(t.Context(), strings.Fields(test.args), streams{strings.NewReader(""), &out, &errors})
		if status != 2 || out.Len() > 0 || strings.Count(errors.String(), "\n") != 1 || !strings.Contains(errors.String(), test.says) {
			t.Errorf("%s: status %d, %q, %q, want %q", test.args, status, out.String(), errors.String(), test.says)
		}
	}
	if text, err := os.ReadFile(exists); err != nil || string(text) != "mine" {
		t.Errorf("a file was overwritten: %q, %v", text, err)
	}
}

// TestMistakesFreeAddresses: after a mistake, the addresses are released and no folder is left.
func TestMistakesFreeAddresses(t *testing.T) {
	address, folder := fmt.Sprint("127.0.0.1:", freePort(t)), filepath.Join(t.TempDir(), "queue")
	for range 2 {
		var out, errors strings.Builder
		args := []string{"-tcp", address, "-channel", "durable", "-dir", folder, "-o", "http://"}
		if status := run(t.Context(), args, streams{nil, &out, &errors}); status != 2 || !strings.Contains(errors.String(), "invalid server") {
			t.Errorf("status %d, %s", status, errors.String())
		}
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder exists: %v", err)
	}
}

// TestLoad: the command sends its lines as often as it should, and reports a failure.
func TestLoad(t *testing.T) {
	s := start(t)
	for address, want := range map[string]string{s.address: "sent 300 lines, of which ", "127.0.0.1:1": "refused"} {
		var out, errors strings.Builder
		run(t.Context(), []string{"load", "-tcp", address, "-lines", "100", "-connections", "4", "-repeat", "3"}, streams{nil, &out, &errors})
		if text := out.String() + errors.String(); !strings.Contains(text, want) || strings.Count(text, "\n") != 1 {
			t.Errorf("%q, want %q", text, want)
		}
	}
	s.settled(290)
	if status := s.stop(); status != 0 || !strings.Contains(s.stderr.String(), "in 300 = ") {
		t.Errorf("status %d: %s", status, s.stderr.String())
	}
}

// TestLost: a server's permanent refusal of counts is reported at once.
func TestLost(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var out, errors strings.Builder
	line := `203.0.113.5 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 5`
	status := run(t.Context(), []string{"-o", server.URL, "-"}, streams{strings.NewReader(line), &out, &errors})
	if status != 1 || !strings.Contains(errors.String(), "the counts of 1 lines are lost: ") || !strings.Contains(errors.String(), "shipped 0 + not shipped 1") {
		t.Errorf("status %d, %q, %q", status, out.String(), errors.String())
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"ship", "-h"}, {"aggregate", "-h"}, {"load", "-help"}, {"bench", "-h"}} {
		var out, errors strings.Builder
		if status := run(t.Context(), args, streams{nil, &out, &errors}); status != 0 || errors.Len() > 0 || !strings.Contains(out.String(), "Usage of logagg") {
			t.Errorf("%q: status %d, %q, %q", args, status, out.String(), errors.String())
		}
		for name := range commands {
			if len(args) == 1 && !strings.Contains(out.String(), "logagg "+name) {
				t.Errorf("%s is not mentioned: %q", name, out.String())
			}
		}
	}
}

// TestInterrupts: after the first signal the process waits for its failing
// sink; the second ends it at once.
func TestInterrupts(t *testing.T) {
	asked := make(chan bool, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		select {
		case asked <- true:
		default:
		}
	}))
	defer server.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "-o", server.URL, "-every", "1ms", "-grace", "24h", "-")
	command.Env = append(os.Environ(), asCommand+"=1")
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	// A process inherits ignored interrupts, as with a shell's background jobs,
	// but not caught ones.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, `203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 5`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.Contains(lines.Text(), "interrupt again") {
			break
		}
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }() // Wait closes it
	if err := command.Wait(); err == nil || !strings.Contains(err.Error(), "interrupt") {
		t.Errorf("the process ended with %v", err)
	}
}
