package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Variables of the environment of the fake kubectl.
const (
	fakeMode   = "FETCH_TEST_KUBECTL"      // what it does
	fakeTarget = "FETCH_TEST_KUBECTL_TO"   // where it forwards
	fakeFile   = "FETCH_TEST_KUBECTL_FILE" // where it writes its process ID and arguments
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(kubectl(mode))
	}
	os.Exit(m.Run())
}

// kubectl behaves like kubectl port-forward.
func kubectl(mode string) int {
	note := fmt.Sprintln(append([]string{strconv.Itoa(os.Getpid())}, os.Args[1:]...))
	if err := os.WriteFile(os.Getenv(fakeFile), []byte(note), 0o600); err != nil {
		return 2
	}
	switch mode {
	case "missing":
		fmt.Fprintln(os.Stderr, "a warning\nError from server (NotFound): pods \"x\x1b[2J\" not found")
		return 1
	case "silent":
		fmt.Fprintln(os.Stderr, "Unable to listen on port 1: no such port")
		time.Sleep(time.Minute)
	case "talks":
		fmt.Print(strings.Repeat("Forwarding from here -> there\n", 1000))
		time.Sleep(time.Minute)
	case "done":
		fmt.Println("nothing to do")
		return 0
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 2
	}
	fmt.Printf("W0102 a warning\nForwarding from [::1]:1 -> 6060\nForwarding from %s -> 6060\n%s\n", listener.Addr(), strings.Repeat("another\n", maxOutput/8))
	for {
		in, err := listener.Accept()
		if err != nil {
			return 2
		}
		fmt.Println("Handling connection for 6060")
		out, err := net.Dial("tcp", os.Getenv(fakeTarget))
		if err != nil {
			return 2
		}
		go func() {
			io.Copy(out, in)
			out.Close()
		}()
		go func() {
			io.Copy(in, out)
			in.Close()
			if mode == "dies" {
				fmt.Fprintln(os.Stderr, "error: lost connection to pod")
				os.Exit(1)
			}
		}()
	}
}

// fakeKubectl puts a fake kubectl in PATH, which forwards to target. wrote returns what
// it wrote in the file: its process ID and its arguments.
func fakeKubectl(t *testing.T, mode, target string) (wrote func() []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "kubectl")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.Symlink(self, name); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(dir, "wrote")
	t.Setenv("PATH", dir)
	t.Setenv(fakeMode, mode)
	t.Setenv(fakeTarget, target)
	t.Setenv(fakeFile, file)
	return func() []string {
		text, _ := os.ReadFile(file)
		return strings.Fields(strings.Trim(strings.TrimSpace(string(text)), "[]"))
	}
}

// running reports whether the process with this number runs.
func running(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(n)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func TestForwardArguments(t *testing.T) {
	t.Parallel()
	for pod, want := range map[string]string{ // arguments, or error
		"orders-1":         "port-forward --address=127.0.0.1 pod/orders-1 :6060",
		"prod/orders-1":    "port-forward --address=127.0.0.1 --namespace=prod pod/orders-1 :6060",
		"prod/orders-1:80": "port-forward --address=127.0.0.1 --namespace=prod pod/orders-1 :80",
		"a.b:7070":         "port-forward --address=127.0.0.1 pod/a.b :7070",
		"":                 `invalid pod "" (want`,
		"/x":               `invalid pod "/x" (want`,
		"x/":               `invalid pod "x/" (want`,
		"a/b/c":            `invalid pod "a/b/c" (want`,
		"--kubeconfig=x":   "invalid pod",
		"-n/x":             "invalid pod",
		"x y":              "invalid pod",
		"x:":               "invalid pod",
		"x:y":              "invalid pod",
		"x:0":              "invalid port of the pod",
		"x:65536":          "invalid port of the pod",
	} {
		args, err := forwardArgs(pod)
		if got := strings.Join(args, " "); got != want && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %s %v, want %s", pod, got, err, want)
		}
	}
}

// TestPod requests a page through the forwarded port, and ends kubectl.
func TestPod(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }))
	defer server.Close()
	wrote := fakeKubectl(t, "forward", server.Listener.Addr().String())
	target, stop, err := Pod(t.Context(), "prod/orders:7070")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := one(t, target, Options{}, 100); string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	if got := wrote()[1:]; !slices.Equal(got, []string{"port-forward", "--address=127.0.0.1", "--namespace=prod", "pod/orders", ":7070"}) {
		t.Errorf("%q", got)
	}
	stop()
	stop() // again
	if running(t, wrote()[0]) {
		t.Error("kubectl still runs")
	}
}

func TestPodErrors(t *testing.T) {
	for mode, want := range map[string]string{
		"missing": `kubectl port-forward: exit status 1: Error from server (NotFound): pods "x\x1b[2J" not found`,
		"done":    "kubectl port-forward: ended: nothing to do",
	} {
		t.Run(mode, func(t *testing.T) {
			fakeKubectl(t, mode, "")
			target, stop, err := Pod(t.Context(), "x")
			if err == nil || err.Error() != want || target != "" || stop != nil {
				t.Errorf("%s, %v, want %s", target, err, want)
			}
		})
	}
	t.Run("no kubectl", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, _, err := Pod(t.Context(), "x"); err == nil || !strings.HasPrefix(err.Error(), "kubectl is not in PATH") {
			t.Errorf("%v", err)
		}
	})
}

// TestLostPod: kubectl ends while the service is observed.
func TestLostPod(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }))
	defer server.Close()
	fakeKubectl(t, "dies", server.Listener.Addr().String())
	target, stop, err := Pod(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one(t, target, Options{}, 100); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := one(t, target, Options{}, 100); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
}

// TestInterruptedPod: an interrupt while kubectl is silent, or writes no address.
func TestInterruptedPod(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process can interrupt itself")
	}
	for _, mode := range []string{"silent", "talks", "forward"} {
		t.Run(mode, func(t *testing.T) {
			wrote := fakeKubectl(t, mode, "")
			ctx, release := signal.NotifyContext(t.Context(), os.Interrupt)
			defer release()
			interrupt := func() {
				for len(wrote()) == 0 {
					time.Sleep(time.Millisecond)
				}
				self, err := os.FindProcess(os.Getpid())
				if err != nil {
					t.Error(err)
					return
				}
				if err := self.Signal(os.Interrupt); err != nil {
					t.Error(err)
				}
			}
			if mode != "forward" {
				go interrupt()
			}
			_, stop, err := Pod(ctx, "x")
			if mode == "forward" {
				if err != nil {
					t.Fatal(err)
				}
				interrupt()
				<-ctx.Done()
				stop()
			} else if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			if running(t, wrote()[0]) {
				t.Error("kubectl still runs")
			}
		})
	}
}
