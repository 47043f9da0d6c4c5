package input

import (
	"bytes"
	"context"
	"encoding/json"
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
	good    = `203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 5` + "\n"
	maxLine = 200 // bytes
	readAt  = 1   // nanoseconds, by the clock of an intake
)

// intake returns an intake whose events are received by another goroutine; received
// ends the queue and says how many events there were.
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
					t.Errorf("an event was read at %d, not at %d", e.Read, readAt)
				}
			}
			sum += len(events)
		}
		n <- sum
	}()
	return &Intake{Queue: q, MaxLine: maxLine, Service: "none", Clock: func() int64 { return readAt }}, func() int {
		q.Close()
		return <-n
	}
}

// check compares the account of an intake with what it should be.
func check(t *testing.T, in *Intake, received int, lines, malformed, tooLong, truncated int64) {
	t.Helper()
	if in.Lines.Load() != lines || in.Malformed.Load() != malformed || in.TooLong.Load() != tooLong || in.Truncated.Load() != truncated ||
		int64(received) != lines-malformed {
		t.Errorf("%d lines, %d malformed, %d too long, %d cut off, %d received; want %d, %d, %d, %d, %d", in.Lines.Load(), in.Malformed.Load(),
			in.TooLong.Load(), in.Truncated.Load(), received, lines, malformed, tooLong, truncated, lines-malformed)
	}
}

func TestText(t *testing.T) {
	in, received := intake(t)
	text := good + "garbage\n" + strings.Repeat("x", 2*maxLine) + "\n" + good + strings.TrimSuffix(good, "\n")
	if err := Text("text", iotest.HalfReader(strings.NewReader(text)))(t.Context(), in); err != nil {
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

// TestFails: the error of a source is reported, and what came before it counts.
func TestFails(t *testing.T) {
	broken := errors.New("broken")
	in, received := intake(t)
	err := Text("text", io.MultiReader(strings.NewReader(good+good+"half"), iotest.ErrReader(broken)))(t.Context(), in)
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	check(t, in, received(), 3, 1, 0, 1)
}

// TestEnds: a file that is left in the middle, and a stream that never ends, when the
// service ends.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, received := intake(t)
		left := Text("file", io.MultiReader(strings.NewReader(good+good[:9]), callback(cancel), strings.NewReader(good)))
		if err := left(ctx, in); err != nil {
			t.Error(err)
		}
		check(t, in, received(), 1, 0, 0, 0)

		ctx, cancel = context.WithCancel(t.Context())
		in, received = intake(t)
		stdin, typed := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- Stream("stdin", stdin)(ctx, in) }()
		if _, err := io.WriteString(typed, good+good+good[:9]); err != nil {
			t.Error(err)
		}
		synctest.Wait() // it has read all, and waits for more
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		typed.Close() // so that the goroutine that was left to itself ends here
		check(t, in, received(), 2, 0, 0, 0)

		in, received = intake(t)
		if err := Stream("stdin", strings.NewReader(good+good))(t.Context(), in); err != nil {
			t.Error(err)
		}
		check(t, in, received(), 2, 0, 0, 0)
	})
}

// callback is a reader that calls a function when it is read, and brings nothing.
func callback(f func()) io.Reader {
	return readerFunc(func([]byte) (int, error) {
		f()
		return 0, nil
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// connect serves one connection in a bubble, whose clock is not that of the wall.
func connect(ctx context.Context, in *Intake, limits Limits) (client net.Conn, over *sync.WaitGroup) {
	server, client := net.Pipe()
	over = new(sync.WaitGroup)
	over.Go(func() {
		defer server.Close()
		serve(ctx, in, server, limits)
	})
	return client, over
}

// TestPatience: a client that completes no line in time is sent away, however it fills
// the time; one that does stays as long as it likes.
func TestPatience(t *testing.T) {
	limits := Limits{Patience: time.Minute}
	for _, test := range []struct {
		name, text       string
		pause, stays     time.Duration
		lines, truncated int64
	}{
		{"idle", "", time.Hour, time.Minute, 0, 0},
		{"a byte now and then", "x", 20 * time.Second, time.Minute, 1, 1},
		{"a line now and then", good, 50 * time.Second, 500 * time.Second, 10, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, received := intake(t)
				began := time.Now()
				client, over := connect(t.Context(), in, limits)
				var sending sync.WaitGroup
				sending.Go(func() {
					defer client.Close()
					for range 10 {
						if _, err := io.WriteString(client, test.text); err != nil {
							return
						}
						time.Sleep(test.pause)
					}
				})
				over.Wait()
				defer sending.Wait()
				if stayed := time.Since(began); stayed != test.stays {
					t.Errorf("it stayed for %v, not %v", stayed, test.stays)
				}
				if sentAway := test.stays == limits.Patience; sentAway != (in.Slow.Load() == 1) {
					t.Errorf("%d clients were sent away", in.Slow.Load())
				}
				check(t, in, received(), test.lines, test.truncated, 0, test.truncated)
			})
		})
	}
}

// TestDrain: at the end, what a client goes on sending is read for a while, and no longer.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, received := intake(t)
		client, over := connect(ctx, in, Limits{Patience: time.Hour, Drain: time.Minute})
		time.AfterFunc(30*time.Second, cancel)
		sent := 0
		for ; ; sent++ {
			if _, err := io.WriteString(client, good); err != nil {
				break // the pipe is closed at the other end
			}
			time.Sleep(time.Second)
		}
		over.Wait()
		if sent < 90 || sent > 91 || in.Slow.Load() > 0 {
			t.Errorf("%d lines were taken in 90 s, and %d clients sent away", sent, in.Slow.Load())
		}
		check(t, in, received(), int64(sent), 0, 0, 0)
	})
}

// TestHalfALine: what a client leaves unfinished is malformed, and what is no text at
// all is too.
func TestHalfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, received := intake(t)
		var aside bytes.Buffer
		in.Aside = NewAside(&aside, 1<<20)
		client, over := connect(t.Context(), in, Limits{Patience: time.Hour})
		text := good + "\x00\xff\x80\n" + "70 <134>1 " + strings.Repeat("\n", 63) + strings.Repeat("y", 3*maxLine) + "\n" + good + good[:30]
		if _, err := io.WriteString(client, text); err != nil {
			t.Error(err)
		}
		client.Close()
		over.Wait()
		check(t, in, received(), 6, 4, 1, 1)
		var whys []string
		for line := range strings.Lines(aside.String()) {
			var k kept
			if err := json.Unmarshal([]byte(line), &k); err != nil || k.From != "pipe" {
				t.Errorf("%q: %v", line, err)
			}
			whys = append(whys, k.Why)
		}
		if len(whys) != 4 || in.Aside.Err() != nil {
			t.Errorf("kept aside: %q, %v", whys, in.Aside.Err())
		}
	})
}

// TestConnections: as many as there may be, over TCP; one that is too many is closed, and
// room that becomes free is given away again.
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
		ended <- TCP(listener, Limits{Connections: most, Patience: time.Hour, Drain: time.Hour})(ctx, in)
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
	tooMany := dial() // connections are accepted in their order
	if n, err := tooMany.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Error("a connection too many is served")
	}
	for _, conn := range open {
		if _, err := io.WriteString(conn, good); err != nil {
			t.Error(err)
		}
		conn.Close()
	}
	for in.Connections.Load() > 0 || in.Lines.Load() < most {
		time.Sleep(time.Millisecond)
	}
	last := dial()
	if _, err := io.WriteString(last, good); err != nil {
		t.Error(err)
	}
	for in.Lines.Load() <= most && in.Connections.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel() // there is still a client, which is read to its end
	if _, err := io.WriteString(last, good); err != nil {
		t.Error(err)
	}
	last.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if in.Refused.Load() != 1 || in.Connections.Load() != 0 {
		t.Errorf("%d refused, %d open", in.Refused.Load(), in.Connections.Load())
	}
	check(t, in, received(), most+2, 0, 0, 0)
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it still listens: %v", err)
	}
}

// TestListenerFails: somebody else closes the listener.
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

// TestAside: what is kept is bounded, in all and of each line, and is text.
func TestAside(t *testing.T) {
	var out bytes.Buffer
	a := NewAside(&out, 3000)
	for range 100 {
		a.add("x", bytes.Repeat([]byte{0xff, '\n'}, maxKept), errors.New("why"))
	}
	if out.Len() > 3000 || a.Err() != nil {
		t.Errorf("%d bytes, %v", out.Len(), a.Err())
	}
	out.Reset()
	a = NewAside(&out, 1<<20)
	a.add("x", bytes.Repeat([]byte("y"), maxKept+1), errors.New("why"))
	a.add("x", []byte("\x00z"), errors.New("why"))
	want := `{"from":"x","why":"why","line":"` + strings.Repeat("y", maxKept) + `","cut":true}` + "\n" + `{"from":"x","why":"why","line":"\u0000z"}` + "\n"
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
	exact := NewAside(&out, int64(len(want)))
	out.Reset()
	exact.add("x", bytes.Repeat([]byte("y"), maxKept+1), errors.New("why"))
	exact.add("x", []byte("\x00z"), errors.New("why"))
	if out.String() != want {
		t.Errorf("with just enough room: got %s", out.String())
	}
	_, broken := io.Pipe()
	broken.CloseWithError(errors.New("full"))
	a = NewAside(broken, 1<<20)
	a.add("x", nil, errors.New("why"))
	a.add("x", nil, errors.New("why"))
	if a.Err() == nil {
		t.Error("an error of writing is not reported")
	}
}
