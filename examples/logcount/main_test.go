package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// asCommand makes the test binary run the command itself.
const asCommand = "LOGCOUNT_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// line returns a log line with the given status and size.
func line(status int, size string) string {
	return fmt.Sprintf("203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] \"GET /a HTTP/1.1\" %d %s\n", status, size)
}

// want fails t unless the words of the table are as listed.
func want(t *testing.T, table string, words ...string) {
	t.Helper()
	if got := strings.Fields(table); strings.Join(got, " ") != "status requests bytes "+strings.Join(words, " ") {
		t.Errorf("the table is\n%s", table)
	}
}

// inBubble runs f in a synctest bubble, which panics if a goroutine is left blocked.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func TestStandardInput(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out strings.Builder
		in := strings.Repeat(line(200, "10"), 5000) + line(404, "-") + strings.TrimSuffix(line(200, "1"), "\n")
		if err := run(t.Context(), nil, strings.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		want(t, out.String(), "200 5001 50001", "404 1 0")
	})
}

func TestFiles(t *testing.T) {
	var names []string
	for i, text := range []string{line(200, "1") + line(500, "2"), "", line(200, "3")} {
		name := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	var out strings.Builder
	if err := run(t.Context(), names, nil, &out); err != nil {
		t.Fatal(err)
	}
	want(t, out.String(), "200 2 4", "500 1 2")

	// A missing file ends the run; the files before it are counted.
	out.Reset()
	err := run(t.Context(), []string{names[0], "missing", names[2]}, nil, &out)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
	want(t, out.String(), "200 1 1", "500 1 2")
}

func TestMalformed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out strings.Builder
		in := "\ngarbage\n" + line(99, "1") + line(1000, "1") + line(200, "-1") + line(200, "much") + line(201, "1") + "[x] \"GET /\" 200\n"
		if err := run(t.Context(), nil, strings.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		want(t, out.String(), "201 1 1", "malformed 7")
	})
}

// A line that exceeds the scanner's buffer ends the run with an error.
func TestLineTooLong(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out strings.Builder
		in := line(200, "1") + strings.Repeat("x", bufio.MaxScanTokenSize) + "\n"
		err := run(t.Context(), nil, strings.NewReader(in), &out)
		if !errors.Is(err, bufio.ErrTooLong) || !strings.Contains(err.Error(), "standard input") {
			t.Errorf("error %v, want %v", err, bufio.ErrTooLong)
		}
		want(t, out.String(), "200 1 1")
	})
}

// After a cancellation, the lines counted so far are printed, even if the reader is
// blocked in a read.
func TestCancel(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, typing := io.Pipe()
		defer typing.Close() // ends the reader
		var out strings.Builder
		ended := make(chan error)
		go func() { ended <- run(ctx, nil, in, &out) }()
		if _, err := io.WriteString(typing, strings.Repeat(line(200, "2"), 3)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, errInterrupted) {
			t.Errorf("error %v, want %v", err, errInterrupted)
		}
		want(t, out.String(), "200 3 6")
	})
}

// A run that is canceled from the start counts nothing, or few lines, and ends.
func TestCanceledBefore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		in := strings.Repeat(line(200, "2"), 100_000)
		if err := run(ctx, nil, strings.NewReader(in), io.Discard); !errors.Is(err, errInterrupted) {
			t.Errorf("error %v, want %v", err, errInterrupted)
		}
	})
}

type failingWriter struct{}

var errDisk = errors.New("disk full")

func (failingWriter) Write([]byte) (int, error) { return 0, errDisk }

func TestFailingWriter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		if err := run(t.Context(), nil, strings.NewReader(line(200, "1")), failingWriter{}); !errors.Is(err, errDisk) {
			t.Errorf("error %v, want %v", err, errDisk)
		}
	})
}

// The command prints the table after an interrupt, and exits with status 1.
func TestInterrupt(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var out, failures strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &failures
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The pipe and the channel together hold less than this text: when it is written,
	// the command is running and handles signals.
	if _, err := io.WriteString(in, strings.Repeat(line(200, "1"), 10_000)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Skip("this system sends no interrupts:", err)
	}
	err = cmd.Wait()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the command ended with %v", err)
	}
	if !strings.Contains(out.String(), "requests") || !strings.Contains(failures.String(), "interrupted") {
		t.Errorf("the output is %q and %q", out.String(), failures.String())
	}
}
