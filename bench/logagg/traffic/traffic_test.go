package traffic

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/frame"
	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// TestTruth parses the lines of hosts and compares the counts with their truth.
func TestTruth(t *testing.T) {
	for number := range int(2 * forms) {
		const n = 5000
		host, truth, text := NewHost(7, number, n), NewTruth(), []byte(nil)
		for range n {
			text = host.Append(text, truth)
		}
		got := parsed(t, bytes.NewReader(text))
		if got.Lines != n || truth.Lines != n || got.Malformed != truth.Malformed || truth.Malformed == 0 {
			t.Errorf("host %d: %d lines, %d malformed, want %d and %d", number, got.Lines, got.Malformed, truth.Lines, truth.Malformed)
		}
		if !bytes.Equal(got.Table.AppendJSON(nil), truth.Table.AppendJSON(nil)) {
			t.Errorf("host %d: the counts differ", number)
		}
		again, other := NewHost(7, number, n).Append(nil, NewTruth()), NewHost(8, number, n).Append(nil, NewTruth())
		if !bytes.HasPrefix(text, again) || bytes.HasPrefix(text, other) {
			t.Errorf("host %d: different lines with the same seed", number)
		}
	}
}

// parsed returns the counts of a stream.
func parsed(t *testing.T, r io.Reader) *Truth {
	t.Helper()
	truth, parser, lines := NewTruth(), parse.NewParser("none"), frame.NewReader(r, 8<<10, false)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return truth
		}
		if err != nil {
			t.Fatal(err)
		}
		truth.Lines++
		if e, err := parser.Parse(line); err != nil {
			truth.Malformed++
		} else {
			truth.Table.Add(e)
		}
	}
}

// TestSend: every line arrives, once or several times.
func TestSend(t *testing.T) {
	load := Load{Seed: 3, Lines: 1003, Connections: 7}
	for _, times := range []int{1, 3} {
		truth, got := exchange(t, load, times)
		if truth.Lines != int64(load.Lines*times) || got.Lines != truth.Lines || got.Malformed != truth.Malformed ||
			!bytes.Equal(got.Table.AppendJSON(nil), truth.Table.AppendJSON(nil)) {
			t.Errorf("sent %d times: %d lines arrived, want %d", times, got.Lines, truth.Lines)
		}
	}
}

// exchange sends a load to a listener, a number of times.
func exchange(t *testing.T, load Load, times int) (truth, got *Truth) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	parts := make([]*Truth, load.Connections)
	var readers sync.WaitGroup
	readers.Go(func() {
		for i := range parts {
			conn, err := listener.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			readers.Go(func() {
				defer conn.Close()
				parts[i] = parsed(t, conn)
			})
		}
	})
	truth, err = load.Prepare().Send(t.Context(), listener.Addr().String(), times)
	if err != nil {
		t.Fatal(err)
	}
	readers.Wait()
	got = &Truth{Table: count.NewTable()}
	for _, part := range parts {
		got.Merge(part)
	}
	return truth, got
}

// TestSendFails: one error is returned, however many connections fail.
func TestSendFails(t *testing.T) {
	const unused = "127.0.0.1:1" // another process may get the port of a listener that was closed
	_, err := (Load{Lines: 9, Connections: 9}).Prepare().Send(t.Context(), unused, 1)
	var refused *net.OpError
	if !errors.As(err, &refused) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "9 of 9 ") {
		t.Errorf("got %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Load{Lines: 1, Connections: 1}).Prepare().Send(ctx, unused, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	host, truth := NewHost(1, 0, 1e6), NewTruth()
	text := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		text = host.Append(text[:0], truth)
	}
}
