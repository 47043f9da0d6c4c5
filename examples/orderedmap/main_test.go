package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file returns n rows, and what becomes of them.
func file(t *testing.T, n int) (in, want string) {
	t.Helper()
	for i := range n {
		name, err := pseudonym(fmt.Sprint("name", i), "secret")
		if err != nil {
			t.Fatal(err)
		}
		in += fmt.Sprintf("name%d,%d\n", i, i)
		want += fmt.Sprintf("%s,%d\n", name, i)
	}
	return in, want
}

func TestOrder(t *testing.T) {
	in, want := file(t, 12)
	name := filepath.Join(t.TempDir(), "orders.csv")
	if err := os.WriteFile(name, []byte(in), 0o666); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := runFile(t.Context(), name, &out, "secret"); err != nil || out.String() != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, out.String(), want)
	}
	if err := runFile(t.Context(), name+"x", &out, "secret"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
}

// The rows before a malformed one are written.
func TestMalformed(t *testing.T) {
	in, want := file(t, 6)
	var out strings.Builder
	err := run(t.Context(), strings.NewReader(in+"too,many,columns\nname,1\n"), &out, "secret")
	if !errors.Is(err, csv.ErrFieldCount) || out.String() != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, out.String(), want)
	}
}

// An interrupt leaves the beginning of the output.
func TestInterrupt(t *testing.T) {
	in, want := file(t, 12)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out strings.Builder
	err := run(ctx, strings.NewReader(in), &out, "secret")
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(want, out.String()) {
		t.Errorf("got %v and\n%s", err, out.String())
	}
}

type fullDisk struct{}

var errDisk = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errDisk }

func TestOutputFails(t *testing.T) {
	in, _ := file(t, 2)
	if err := run(t.Context(), strings.NewReader(in), fullDisk{}, "secret"); !errors.Is(err, errDisk) {
		t.Errorf("error %v, want %v", err, errDisk)
	}
}
