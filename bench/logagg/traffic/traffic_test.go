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

// TestSend: every line arrives, prepared or not, once or several times.
func TestSend(t *testing.T) {
	load := Load{Seed: 3, Lines: 1003, Connections: 7}
	var truths []*Truth
	for _, ahead := range []int{0, 1, 3} {
		truth, got := exchange(t, load, ahead)
		if truth.Lines != int64(load.Lines*max(1, ahead)) || got.Lines != truth.Lines || got.Malformed != truth.Malformed ||
			!bytes.Equal(got.Table.AppendJSON(nil), truth.Table.AppendJSON(nil)) {
			t.Errorf("prepared, sent %d times: %d lines arrived, want %d", ahead, got.Lines, truth.Lines)
		}
		truths = append(truths, truth)
	}
	if !bytes.Equal(truths[0].Table.AppendJSON(nil), truths[1].Table.AppendJSON(nil)) {
		t.Error("prepared lines differ")
	}
}

// exchange sends a load to a listener: prepared and that many times, or, with
// 0, directly.
func exchange(t *testing.T, load Load, ahead int) (truth, got *Truth) {
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
	if ahead > 0 {
		truth, err = load.Prepare().Send(t.Context(), listener.Addr().String(), ahead)
	} else {
		truth, err = load.Send(t.Context(), listener.Addr().String())
	}
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
	_, err := (Load{Lines: 9, Connections: 9}).Send(t.Context(), unused)
	var refused *net.OpError
	if !errors.As(err, &refused) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "9 of 9 ") {
		t.Errorf("got %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Load{Lines: 1, Connections: 1}).Send(ctx, unused); !errors.Is(err, context.Canceled) {
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
