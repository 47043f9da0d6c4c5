package input

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/queue"
)

const (
	good   = `203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 5` + "\n"
	readAt = 1 // nanoseconds, by the clock of an intake
)

// intake returns an intake whose events another goroutine receives; received
// ends the queue and returns the number of events.
func intake(t *testing.T) (in *Intake, received func() int) {
	t.Helper()
	q, err := queue.New("bounded", queue.Options{Capacity: 64, Batch: 16})
	if err != nil {
		t.Fatal(err)
	}
	n := make(chan int, 1)
	go func() {
		sum := 0
		for events := range q.All() {
			for _, e := range events {
				if e.Read != readAt {
					t.Errorf("an event was read at %d, want %d", e.Read, readAt)
				}
			}
			sum += len(events)
		}
		n <- sum
	}()
	return &Intake{Queue: q, Clock: func() int64 { return readAt }}, func() int {
		q.Close()
		return <-n
	}
}

// check compares the account of an intake with the expected one.
func check(t *testing.T, in *Intake, received int, lines, malformed, tooLong, truncated int64) {
	t.Helper()
	want := Counts{In: lines, Malformed: malformed, TooLong: tooLong, Truncated: truncated, Refused: in.Counts().Refused}
	if in.Counts() != want || int64(received) != lines-malformed {
		t.Errorf("%+v and %d received; want %+v and %d", in.Counts(), received, want, lines-malformed)
	}
}

func TestText(t *testing.T) {
	in, received := intake(t)
	text := good + "garbage\n" + strings.Repeat("x", 2*maxLine) + "\n" + good + strings.TrimSuffix(good, "\n")
	if err := Text(iotest.HalfReader(strings.NewReader(text)))(t.Context(), in); err != nil {
		t.Error(err)
	}
	check(t, in, received(), 5, 2, 1, 0)
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat(good, 1000)), 0o666); err != nil {
		t.Fatal(err)
	}
	in, received := intake(t)
	source, err := File(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := source(t.Context(), in); err != nil {
		t.Error(err)
	}
	check(t, in, received(), 1000, 0, 0, 0)
	for _, wrong := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if _, err := File(wrong); err == nil {
			t.Errorf("%s was opened", wrong)
		}
	}
}

// TestFails: the error of a source is reported, and the lines before it count.
func TestFails(t *testing.T) {
	broken := errors.New("broken")
	in, received := intake(t)
	err := Text(io.MultiReader(strings.NewReader(good+good+"half"), iotest.ErrReader(broken)))(t.Context(), in)
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	check(t, in, received(), 3, 1, 0, 1)
}

// TestEnds: when the service ends, it leaves a file in the middle, and a stream
// that never ends.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, received := intake(t)
		left := Text(io.MultiReader(strings.NewReader(good+good[:9]), callback(cancel), strings.NewReader(good)))
		if err := left(ctx, in); err != nil {
			t.Error(err)
		}
		check(t, in, received(), 1, 0, 0, 0)

		ctx, cancel = context.WithCancel(t.Context())
		in, received = intake(t)
		stdin, typed := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- Stream(stdin)(ctx, in) }()
		if _, err := io.WriteString(typed, good+good+good[:9]); err != nil {
			t.Error(err)
		}
		synctest.Wait() // it has read everything and waits for more
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		typed.Close() // ends the abandoned goroutine
		check(t, in, received(), 2, 0, 0, 0)

		in, received = intake(t)
		if err := Stream(strings.NewReader(good+good))(t.Context(), in); err != nil {
			t.Error(err)
		}
		check(t, in, received(), 2, 0, 0, 0)
	})
}

// callback is a reader that calls a function when it is read, and returns no
// bytes.
func callback(f func()) io.Reader {
	return readerFunc(func([]byte) (int, error) {
		f()
		return 0, nil
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// connect serves one connection in a bubble, which has its own clock.
func connect(ctx context.Context, in *Intake, limits Limits) (client net.Conn, over *sync.WaitGroup) {
	server, client := net.Pipe()
	over = new(sync.WaitGroup)
	over.Go(func() {
		defer server.Close()
		serve(ctx, in, server, limits)
	})
	return client, over
}

// TestDrain: at the end, bytes that a client continues to send are read for the
// drain period, and no longer.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, received := intake(t)
		client, over := connect(ctx, in, Limits{Drain: time.Minute})
		time.AfterFunc(30*time.Second, cancel)
		sent := 0
		for ; ; sent++ {
			if _, err := io.WriteString(client, good); err != nil {
				break // the other end has closed the pipe
			}
			time.Sleep(time.Second)
		}
		over.Wait()
		if sent < 90 || sent > 91 {
			t.Errorf("%d lines were read in 90 s", sent)
		}
		check(t, in, received(), int64(sent), 0, 0, 0)
	})
}

// TestHalfALine: an unfinished line is malformed, and so is binary data.
func TestHalfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, received := intake(t)
		client, over := connect(t.Context(), in, Limits{})
		text := good + "\x00\xff\x80\n" + "70 <134>1 " + strings.Repeat("\n", 63) + strings.Repeat("y", 3*maxLine) + "\n" + good + good[:30]
		if _, err := io.WriteString(client, text); err != nil {
			t.Error(err)
		}
		client.Close()
		over.Wait()
		check(t, in, received(), 6, 4, 1, 1)
	})
}

// TestConnections: the maximum number of connections over TCP; an excess
// connection is closed, and room that becomes free is used again.
func TestConnections(t *testing.T) {
	const most = 3
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, received := intake(t)
	ended := make(chan error, 1)
	go func() {
		ended <- TCP(listener, Limits{Connections: most, Drain: time.Hour})(ctx, in)
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	var open []net.Conn
	for range most {
		open = append(open, dial())
	}
	tooMany := dial() // connections are accepted in order
	if n, err := tooMany.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Error("an excess connection is served")
	}
	for _, conn := range open {
		if _, err := io.WriteString(conn, good); err != nil {
			t.Error(err)
		}
		conn.Close()
	}
	for in.Counts().Connections > 0 || in.Counts().In < most {
		time.Sleep(time.Millisecond)
	}
	last := dial()
	if _, err := io.WriteString(last, good); err != nil {
		t.Error(err)
	}
	for in.Counts().In <= most && in.Counts().Connections == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel() // a connected client is still read to its end
	if _, err := io.WriteString(last, good); err != nil {
		t.Error(err)
	}
	last.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if in.Counts().Refused != 1 || in.Counts().Connections != 0 {
		t.Errorf("%d refused, %d open", in.Counts().Refused, in.Counts().Connections)
	}
	check(t, in, received(), most+2, 0, 0, 0)
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the service still listens: %v", err)
	}
}

// TestListenerFails: the listener is closed from outside.
func TestListenerFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	in, received := intake(t)
	if err := TCP(listener, Limits{Connections: 1})(t.Context(), in); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
	check(t, in, received(), 0, 0, 0, 0)
}

// A poor listener runs out of file descriptors once.
type poor struct {
	net.Listener
	failed bool
}

func (p *poor) Accept() (net.Conn, error) {
	if !p.failed {
		p.failed = true
		return nil, errors.New("too many open files")
	}
	return p.Listener.Accept()
}

// TestAccepts: a failed accept does not end the service, and a client that has
// sent everything sees that the service has read it to the end.
func TestAccepts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	in, received := intake(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- TCP(&poor{Listener: listener}, Limits{Connections: 1})(ctx, in)
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, good); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the client reads %d bytes, %v", n, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	check(t, in, received(), 1, 0, 0, 0)
}
