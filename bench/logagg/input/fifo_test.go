//go:build unix

package input

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// fifo returns the path of a named pipe.
func fifo(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPipe: all that is written to a named pipe is read, up to its end.
func TestPipe(t *testing.T) {
	path := fifo(t)
	in, received := intake(t)
	source, err := File(path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- source(t.Context(), in) }()
	if err := os.WriteFile(path, []byte(good+good+"half"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	check(t, in, received(), 3, 1, 0, 0)
}

// TestPipeEnds: a pipe that nobody writes to, and one whose writer says nothing, hold no
// service that is to end.
func TestPipeEnds(t *testing.T) {
	path := fifo(t)
	in, received := intake(t)
	for range 2 {
		source, err := File(path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- source(ctx, in) }()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		// From here on there is a writer; its end lets go of the reader that was left.
		writer, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
	}
	check(t, in, received(), 0, 0, 0, 0)
}
