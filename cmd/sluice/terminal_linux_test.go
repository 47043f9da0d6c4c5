package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal returns both ends of a terminal of 80 by 24.
func pseudoTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err := errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return master, terminal
}

// watching runs sluice watch on a separate terminal until it has drawn there,
// and returns its further output when it has ended.
func watching(t *testing.T) (program *exec.Cmd, ended func() (wrote string, status int)) {
	t.Helper()
	// A signal that is caught here is not ignored in the program, even under
	// nohup.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	master, terminal := pseudoTerminal(t)
	program = exec.Command(os.Args[0], "watch", channelServer(t))
	program.Env = append(os.Environ(), asProgram+"=1", "TERM=xterm-256color")
	program.Stdin, program.Stdout, program.Stderr = terminal, terminal, terminal
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill() })
	terminal.Close() // so that reading ends with the program
	var wrote bytes.Buffer
	buffer := make([]byte, 4096)
	more := func() bool {
		n, err := master.Read(buffer)
		wrote.Write(buffer[:n])
		if err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, io.EOF) { // EIO: the other end is closed
			t.Fatal(err)
		}
		return err == nil
	}
	for !strings.Contains(wrote.String(), "channels") {
		if !more() {
			t.Fatalf("nothing was drawn: %q", wrote.String())
		}
	}
	return program, func() (string, int) {
		for more() {
		}
		_ = program.Wait() // the status is tested
		return wrote.String(), program.ProcessState.ExitCode()
	}
}

// At any end, the terminal is restored: to its first screen, with a cursor.
func TestSignalsGiveTheTerminalBack(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			program, ended := watching(t)
			if err := program.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			wrote, status := ended()
			off := func(begin, end string) bool {
				return strings.Contains(wrote, begin) && strings.LastIndex(wrote, end) > strings.LastIndex(wrote, begin)
			}
			if status != statusInterrupted || !off("\x1b[?1049h", "\x1b[?1049l") || !off("\x1b[?25l", "\x1b[?25h") {
				t.Errorf("status %d, want %d; the terminal was left by %q", status, statusInterrupted, wrote[max(0, len(wrote)-200):])
			}
		})
	}
}

// Under nohup, the program continues when its terminal is closed.
func TestNohup(t *testing.T) {
	asked := make(chan struct{})
	answer := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answer
		http.Error(w, "closed for today", http.StatusTeapot)
	}))
	defer server.Close()
	// Every Linux has a shell; exec replaces it by the program, which inherits
	// ignored signals.
	program := exec.Command("/bin/sh", "-c", `trap "" HUP; exec "$0" watch "$1"`, os.Args[0], server.URL)
	program.Env = append(os.Environ(), asProgram+"=1")
	var stderr bytes.Buffer
	program.Stderr = &stderr
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer program.Process.Kill()
	<-asked
	if err := program.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	close(answer)
	_ = program.Wait() // the status is tested
	if status := program.ProcessState.ExitCode(); status != statusUsage || !strings.Contains(stderr.String(), "418") {
		t.Errorf("status %d, %s", status, &stderr)
	}
}
