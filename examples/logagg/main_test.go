package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unique"

	"github.com/sluice-go/sluice/examples/logagg/count"
	"github.com/sluice-go/sluice/examples/logagg/frame"
	"github.com/sluice-go/sluice/examples/logagg/parse"
	"github.com/sluice-go/sluice/examples/logagg/queue"
	"github.com/sluice-go/sluice/examples/logagg/traffic"
)

var update = flag.Bool("update", false, "write the sample and its golden output anew")

// asCommand, if it is in the environment, makes the test program the command itself.
const asCommand = "LOGAGG_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main() // which exits
	}
	os.Exit(m.Run())
}

// TestSample: the run without flags shows what it always shows.
func TestSample(t *testing.T) {
	const log, golden = "testdata/sample.log", "testdata/sample.golden"
	written := sampleLines(t)
	if *update {
		if err := os.WriteFile(log, written, 0o666); err != nil {
			t.Fatal(err)
		}
		sample = written
	}
	if !bytes.Equal(sample, written) {
		t.Errorf("%s is not what package traffic writes: run with -update", log)
	}
	var out, errors strings.Builder
	if status := run(t.Context(), nil, streams{strings.NewReader(""), &out, &errors}); status != 0 || errors.Len() > 0 {
		t.Errorf("status %d: %s", status, errors.String())
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// sampleLines are lines of a few hosts, in turn, and of both kinds bare as well. Each ends
// with a line feed, so that they can be read.
func sampleLines(t *testing.T) (text []byte) {
	t.Helper()
	const hosts, lines = 10, 40
	truth := traffic.NewTruth()
	var writers []*traffic.Host
	for i := range hosts {
		writers = append(writers, traffic.NewHost(10, i, lines))
	}
	for range lines {
		for _, host := range writers {
			line, err := frame.NewReader(bytes.NewReader(host.Append(nil, truth)), 8<<10, true).Next()
			if err != nil {
				t.Fatal(err)
			}
			text = append(append(text, line...), '\n')
		}
	}
	return text
}

// A service is one that runs in the test.
type service struct {
	t              *testing.T
	address, debug string
	cancel         func()
	status         chan int
	stdout         bytes.Buffer
	stderr         strings.Builder
	logged         sync.WaitGroup
}

// start starts a service on TCP, and waits until it listens.
func start(t *testing.T, args ...string) *service {
	t.Helper()
	s := &service{t: t, status: make(chan int, 1)}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(t.Context())
	read, stderr := io.Pipe()
	go func() {
		s.status <- run(ctx, append([]string{"-tcp", "127.0.0.1:0", "-drain", "10s"}, args...), streams{strings.NewReader(""), &s.stdout, stderr})
		stderr.Close()
	}()
	listens := make(chan bool, 1)
	s.logged.Go(func() {
		defer close(listens)
		for lines := bufio.NewScanner(read); lines.Scan(); {
			fmt.Fprintln(&s.stderr, lines.Text())
			if _, at, ok := strings.Cut(lines.Text(), "debugging at "); ok {
				s.debug = at
			}
			if _, at, ok := strings.Cut(lines.Text(), "syslog is taken at "); ok {
				s.address = at
			}
			if s.address != "" && (s.debug != "" || !strings.Contains(strings.Join(args, " "), "-debug")) {
				select {
				case listens <- true:
				default:
				}
			}
		}
	})
	if !<-listens {
		t.Fatalf("it does not listen: %s", s.stderr.String())
	}
	return s
}

// stop ends the service gracefully, and returns its status.
func (s *service) stop() int {
	s.cancel()
	status := <-s.status
	s.logged.Wait()
	return status
}

// TestEndToEnd sends lines over TCP to a service with each channel, batched or not, that
// ships to a file or a server: the counts must be those of the lines, one by one.
func TestEndToEnd(t *testing.T) {
	const lines = 20_000
	for _, kind := range queue.Names() {
		for _, batch := range []string{"on", "off"} {
			t.Run(kind+" "+batch, func(t *testing.T) {
				dir := t.TempDir()
				counts, truth, aside := filepath.Join(dir, "counts"), filepath.Join(dir, "truth"), filepath.Join(dir, "aside")
				s := start(t, "-channel", kind, "-batch", batch, "-o", counts, "-aside", aside, "-every", "10ms")
				var sent, errors strings.Builder
				status := run(t.Context(), []string{"load", "-tcp", s.address, "-lines", strconv.Itoa(lines), "-connections", "64", "-truth", truth},
					streams{strings.NewReader(""), &sent, &errors})
				if status != 0 || !strings.Contains(sent.String(), "sent 20000 lines") {
					t.Fatalf("load: status %d, %s%s", status, sent.String(), errors.String())
				}
				var malformed int
				if _, err := fmt.Sscanf(sent.String(), "sent 20000 lines, of which %d are", &malformed); err != nil {
					t.Fatal(err)
				}
				settled(t, counts, lines-malformed) // so that all connections were accepted
				if status := s.stop(); status != 0 {
					t.Fatalf("status %d: %s", status, s.stderr.String())
				}
				if got, want := merged(t, counts), merged(t, truth); got != want {
					t.Errorf("counted\n%swant\n%s", got, want)
				}
				account := fmt.Sprintf("in %d = counted %d + malformed %d + rejected 0 + dropped 0\ncounted %d = shipped %d + not shipped 0",
					lines, lines-malformed, malformed, lines-malformed, lines-malformed)
				if !strings.Contains(s.stdout.String(), account) {
					t.Errorf("the account is not %s, but %s", account, s.stdout.String())
				}
				if kept, err := os.ReadFile(aside); err != nil || bytes.Count(kept, []byte("\n")) != malformed {
					t.Errorf("%d lines are kept aside, not %d: %v", bytes.Count(kept, []byte("\n")), malformed, err)
				}
			})
		}
	}
}

// settled waits until that many lines are counted in a file.
func settled(t *testing.T, path string, lines int) {
	t.Helper()
	for {
		sum := int64(0)
		for _, row := range rows(t, path) {
			sum += row.Lines
		}
		if sum >= int64(lines) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// rows are the counts in a file.
func rows(t *testing.T, path string) (all []count.Row) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var row count.Row
		if err := json.Unmarshal(line, &row); err != nil {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break // it is being written
			}
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, row)
	}
	return all
}

// merged adds up the counts in a file.
func merged(t *testing.T, path string) string {
	sums := map[count.Row]count.Row{}
	for _, row := range rows(t, path) {
		k := count.Row{Minute: row.Minute, Service: row.Service, Status: row.Status}
		sum := sums[k]
		sum.Lines, sum.Bytes = sum.Lines+row.Lines, sum.Bytes+row.Bytes
		sums[k] = sum
	}
	table := traffic.NewTruth().Table // to be sorted by
	for k := range sums {
		minute, _ := parse.MinuteOf(k.Minute)
		table.Add(parse.Event{Service: unique.Make(k.Service), Minute: minute, Status: uint16(k.Status)})
	}
	var text strings.Builder
	for _, row := range table.Rows() {
		sum := sums[count.Row{Minute: row.Minute, Service: row.Service, Status: row.Status}]
		fmt.Fprintln(&text, row.Minute, row.Service, row.Status, sum.Lines, sum.Bytes)
	}
	return text.String()
}

// TestInputs: files and the standard input together, counts among nothing else on the
// standard output, and a summary beside it.
func TestInputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	const line = `203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" %d 5` + "\n"
	if err := os.WriteFile(path, fmt.Appendf(nil, strings.Repeat(line, 2), 200, 404), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errors strings.Builder
	stdin := strings.NewReader(fmt.Sprintf(line, 200) + "garbage\n")
	if status := run(t.Context(), []string{"-service", "web", path, "-"}, streams{stdin, &out, &errors}); status != 0 {
		t.Fatalf("status %d: %s", status, errors.String())
	}
	want := `{"minute":"2026-11-21T15:04:00Z","service":"web","status":200,"lines":2,"bytes":10}
{"minute":"2026-11-21T15:04:00Z","service":"web","status":404,"lines":1,"bytes":5}
`
	if out.String() != want || !strings.Contains(errors.String(), "in 4 = counted 3 + malformed 1 ") {
		t.Errorf("got %s%s", out.String(), errors.String())
	}
}

// TestDebug: what an engineer looks for is there, and the hot channel is listed.
func TestDebug(t *testing.T) {
	s := start(t, "-debug", "127.0.0.1:0", "-o", filepath.Join(t.TempDir(), "counts"))
	top := strings.TrimSuffix(s.debug, "/debug/sluice")
	for path, says := range map[string]string{
		"/debug/sluice?format=json":      `"lines"`,
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/mutex?debug=1":     "sampling period=100",
		"/debug/pprof/symbol":            "num_symbols",
		"/metrics":                       "\nsluice_channel_limit{kind=\"Bounded\",name=\"lines\"}",
		"/metrics?account":               "\nlogagg_lines_total{fate=\"counted\"} 0\n",
		"/metrics?connections":           "\nlogagg_connections 0\n",
		"/metrics?what doctor looks for": "\ngo_sync_mutex_wait_total_seconds_total ",
	} {
		response, err := http.Get(top + strings.ReplaceAll(path, " ", "+"))
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

// TestBadInput: one line on stderr, status 2, and nothing is written.
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
	for _, test := range []struct{ args, says string }{
		{"-nonsense", "not defined"},
		{"-channel pipe", `no channel "pipe"`},
		{"-channel native -overflow drop-oldest", "no overflow policy drop-oldest"},
		{"-overflow most", `no overflow policy "most"`},
		{"-batch some", "on, off or a number"},
		{"-batch 0", "the batch is 0"},
		{"-capacity 0", "the capacity is 0"},
		{"-capacity many", "invalid value"},
		{"-every 0s", "-every must be"},
		{"-rows 0", "-rows must be"},
		{"-connections 0", "-connections must be"},
		{"-patience 0s", "-patience must be"},
		{"-drain -1s", "-drain must be"},
		{"-grace -1s", "-grace must be"},
		{"-max-line 0", "-max-line must be"},
		{"-aside-bytes -1", "-aside-bytes must be"},
		{"-service= -", "-service must be"},
		{dir, "is a directory"},
		{filepath.Join(dir, "gone"), "no such file"},
		{"-o " + filepath.Join(dir, "no", "folder") + " -", "no such file"},
		{"-aside " + filepath.Join(dir, "no", "folder") + " -", "no such file"},
		{"-o http:// -", "not the address of a server"},
		{"-tcp " + taken.Addr().String(), "in use"},
		{"-debug " + taken.Addr().String() + " -", "in use"},
		{"load", "-tcp is missing"},
		{"load -tcp x -lines 0", "-lines is 0"},
		{"load -tcp x -lines 3 -connections 4", "-connections 4"},
		{"load -tcp x more", `"more" is too much`},
		{"load -tcp x -truth " + exists, "exists"},
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

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"load", "-help"}, {"bench", "-h"}} {
		var out, errors strings.Builder
		if status := run(t.Context(), args, streams{nil, &out, &errors}); status != 0 || errors.Len() > 0 || !strings.Contains(out.String(), "Usage of logagg") {
			t.Errorf("%q: status %d, %q, %q", args, status, out.String(), errors.String())
		}
	}
}

// TestInterrupts: after the first signal the process waits for its sink, which fails;
// the second one ends it on the spot.
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
		if strings.Contains(lines.Text(), "once more") {
			break
		}
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }() // Wait closes it
	if err := command.Wait(); err == nil || !strings.Contains(err.Error(), "interrupt") {
		t.Errorf("it ended with %v", err)
	}
}
