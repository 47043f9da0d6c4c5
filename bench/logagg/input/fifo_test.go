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

// TestPipe: everything written to a named pipe is read.
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

// TestPipeEnds: a pipe without a writer, and a pipe whose writer is silent, do
// not keep a service from ending.
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
		// From here on there is a writer; closing it ends the abandoned reader.
		writer, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
	}
	check(t, in, received(), 0, 0, 0, 0)
}
