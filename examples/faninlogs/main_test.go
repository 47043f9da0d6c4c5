package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lines returns n numbered lines.
func lines(n int) io.ReadCloser {
	var text strings.Builder
	for i := range n {
		fmt.Fprintln(&text, i)
	}
	return io.NopCloser(strings.NewReader(text.String()))
}

// A log with many lines drops its own oldest lines, and none of the other log.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, account strings.Builder
		logs := map[string]io.ReadCloser{"busy": lines(5000), "quiet": lines(10)}
		if err := run(t.Context(), logs, &out, log.New(&account, "", 0), time.Second); err != nil {
			t.Fatal(err)
		}
		busy, quiet := strings.Count(out.String(), "busy: "), strings.Count(out.String(), "quiet: ")
		for _, want := range []string{
			"quiet: read 10, dropped 0\n",
			fmt.Sprintf("busy: read 5000, dropped %d\n", 5000-busy),
		} {
			if !strings.Contains(account.String(), want) {
				t.Errorf("the account is %q, want %q", account.String(), want)
			}
		}
		if quiet != 10 || busy >= 5000 || !strings.Contains(out.String(), "busy: 4999\n") {
			t.Errorf("%d lines of quiet, %d of busy", quiet, busy)
		}
	})
}

// An interrupt ends a reader that is blocked in a read, and the queued lines are written
// at once.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		file, program := io.Pipe()
		var out, account strings.Builder
		ended := make(chan error)
		go func() {
			ended <- run(ctx, map[string]io.ReadCloser{"a": file}, &out, log.New(&account, "", 0), time.Hour)
		}()
		if _, err := io.WriteString(program, "1\n2\n3\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if out.String() != "a: 1\n" {
			t.Errorf("before the interrupt: %q", out.String())
		}
		interrupt()
		if err := <-ended; err != nil || out.String() != "a: 1\na: 2\na: 3\n" || account.String() != "a: read 3, dropped 0\n" {
			t.Errorf("got %v, %q, %q", err, out.String(), account.String())
		}
	})
}

type failing struct{ io.Reader }

var errBroken = errors.New("broken")

func (failing) Read([]byte) (int, error)  { return 0, errBroken }
func (failing) Write([]byte) (int, error) { return 0, errBroken }
func (failing) Close() error              { return nil }

// A sink that fails ends the readers, even one that waits for a line.
func TestSinkFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var account strings.Builder
		logs := map[string]io.ReadCloser{"a": lines(100_000), "b": lines(10)}
		logs["c"], _ = io.Pipe()
		if err := run(t.Context(), logs, failing{}, log.New(&account, "", 0), time.Second); !errors.Is(err, errBroken) {
			t.Errorf("error %v, want %v", err, errBroken)
		}
	})
}

// A log that cannot be read is reported, and the others continue.
func TestReadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, account strings.Builder
		logs := map[string]io.ReadCloser{"a": failing{}, "b": lines(2)}
		if err := run(t.Context(), logs, &out, log.New(&account, "", 0), time.Second); err != nil {
			t.Fatal(err)
		}
		if out.String() != "b: 0\nb: 1\n" || !strings.Contains(account.String(), "a: broken\n") {
			t.Errorf("got %q and %q", out.String(), account.String())
		}
	})
}
