package livepage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// A client records what a stream writes.
type client struct {
	*httptest.ResponseRecorder
	mu      sync.Mutex
	flushed int
	fails   bool
}

func newClient() *client { return &client{ResponseRecorder: httptest.NewRecorder()} }

func (c *client) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails {
		return 0, fmt.Errorf("connection closed")
	}
	return c.Body.Write(text)
}

func (c *client) FlushError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushed = c.Body.Len()
	return nil
}

// events returns the events flushed so far.
func (c *client) events(t *testing.T) (reports []Report, names []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for event := range strings.SplitSeq(strings.TrimSuffix(string(c.Body.Bytes()[:c.flushed]), "\n\n"), "\n\n") {
		if name, ok := strings.CutPrefix(event, "event: "); ok {
			name, _, _ = strings.Cut(name, "\n")
			names = append(names, name)
			continue
		}
		text, ok := strings.CutPrefix(event, "data: ")
		var r Report
		if err := json.Unmarshal([]byte(text), &r); err != nil || !ok {
			t.Fatalf("%v in %q", err, event)
		}
		reports = append(reports, r)
	}
	return reports, names
}

// open starts a stream in a goroutine that closes done when the handler
// returns.
func open(ctx context.Context, h http.Handler, query string) (c *client, done chan struct{}) {
	c, done = newClient(), make(chan struct{})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/?format=events&"+query, nil)
	go func() { defer close(done); h.ServeHTTP(c, r) }()
	return c, done
}

// An update arrives at once and then each second, with that second's rates. The
// stream ends with its client and leaves no goroutine: otherwise the bubble
// would not end.
func TestStreamUpdatesEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](100, &sluice.BoundedOptions[int]{Name: nameOf(t)})
		ctx, leave := context.WithCancel(t.Context())
		stream, done := open(ctx, Handler(), "filter="+nameOf(t))
		synctest.Wait()
		for range 3 {
			for range 20 {
				if err := c.TrySend(1); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.TryRecv(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		reports, _ := stream.events(t)
		if len(reports) != 4 {
			t.Fatalf("%d updates in 3 seconds", len(reports))
		}
		if first := reports[0]; first.Over != 0 || first.Channels[0].SentRate != nil || first.Channels[0].Senders.Mean != nil {
			t.Errorf("the first update has rates: %+v", first)
		}
		for i, r := range reports[1:] {
			s := r.Channels[0]
			if r.Over != 1 || *s.SentRate != 20 || *s.ReceivedRate != 1 || *s.DroppedRate != 0 || s.Len != 19*(i+1) {
				t.Errorf("%d: over %v s, rates %v %v %v, %d queued", i, r.Over, *s.SentRate, *s.ReceivedRate, *s.DroppedRate, s.Len)
			}
		}
		leave()
		<-done
		time.Sleep(time.Minute)
		if after, _ := stream.events(t); len(after) != 4 {
			t.Errorf("%d updates after the client disconnected", len(after)-4)
		}
		runtime.KeepAlive(c)
	})
}

// A write error ends the stream even if its context stays valid.
func TestStreamEndsWhenWritingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, done := open(t.Context(), Handler(), "")
		synctest.Wait()
		stream.mu.Lock()
		stream.fails = true
		stream.mu.Unlock()
		time.Sleep(time.Second)
		<-done
	})
}

// Since reports the wait of the first waiter, regardless of the waiters behind
// it.
func TestStreamSaysHowLongTheFirstWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewRendezvous[int](&sluice.RendezvousOptions[int]{Name: nameOf(t)})
		var senders sync.WaitGroup
		send := func() { senders.Go(func() { _ = c.Send(context.Background(), 1) }) }
		send()
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		stream, done := open(ctx, Handler(), "filter="+nameOf(t))
		time.Sleep(3500 * time.Millisecond)
		send()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		reports, _ := stream.events(t)
		var now []int
		var since []float64
		for _, r := range reports {
			now = append(now, r.Channels[0].Senders.Now)
			since = append(since, r.Channels[0].Senders.Since)
			if r.Channels[0].Receivers.Since != 0 {
				t.Error("no receiver waits, but since is set")
			}
		}
		if got, want := fmt.Sprint(now, since), "[1 1 1 1 2 2] [0 1 2 3 4 5]"; got != want {
			t.Errorf("waiting, since: %s, want %s", got, want)
		}
		leave()
		<-done
		c.Close()
		senders.Wait()
	})
}

// Two clients share each look, and both receive every one.
func TestStreamsShareLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		h := Handler()
		one, oneDone := open(ctx, h, "")
		time.Sleep(300 * time.Millisecond)
		two, twoDone := open(ctx, h, "")
		time.Sleep(5100 * time.Millisecond)
		synctest.Wait()
		a, _ := one.events(t)
		b, _ := two.events(t)
		if len(a) != 6 || len(b) != 6 {
			t.Fatalf("%d and %d updates", len(a), len(b))
		}
		for i := range a {
			if !a[i].Time.Equal(b[i].Time) {
				t.Errorf("update %d: looks at %v and %v", i, a[i].Time, b[i].Time)
			}
		}
		leave()
		<-oneDone
		<-twoDone
	})
}

// The number of streams is limited, and a stream that ends makes room for
// another.
func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Handler()
		ctx, leave := context.WithCancel(t.Context())
		var all []chan struct{}
		for range maxStreams {
			_, done := open(ctx, h, "")
			all = append(all, done)
		}
		synctest.Wait()
		refused := get(h, "format=events")
		if refused.Code != http.StatusServiceUnavailable || refused.Header().Get("Retry-After") == "" {
			t.Errorf("one more: %d %s", refused.Code, refused.Body)
		}
		leave()
		for _, done := range all {
			<-done
		}
		again, stop := context.WithCancel(t.Context())
		c, done := open(again, h, "")
		synctest.Wait()
		if reports, _ := c.events(t); len(reports) != 1 {
			t.Errorf("%d updates after a stream ended", len(reports))
		}
		stop()
		<-done
	})
}

// When its channel is garbage-collected, a stream sends the event "gone" and
// ends.
func TestStreamOfOneEndsWithIt(t *testing.T) {
	h := Handler().(*handler)
	last := &look{at: time.Now(), seen: []sighting{{Channel: inspect.Channel{ID: 1 << 60, Kind: "Bounded"}, stats: sluice.Stats{Name: "x", Cap: 1}}}}
	h.monitor.looks = map[uint64]*look{0: last}
	synctest.Test(t, func(t *testing.T) {
		last.at = time.Now()
		stream, done := open(t.Context(), h, fmt.Sprintf("channel=%d", uint64(1)<<60))
		<-done // the next look does not find the channel
		reports, names := stream.events(t)
		if len(reports) != 1 || fmt.Sprint(names) != "[gone]" {
			t.Errorf("%d updates, then %q", len(reports), names)
		}
	})
}

// Over a real connection, both a client that disconnects and a server that
// shuts down end the handler.
func TestStreamEndsOverNetwork(t *testing.T) {
	for _, way := range []string{"client leaves", "server shuts down"} {
		t.Run(way, func(t *testing.T) {
			h, ended := Handler(), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				h.ServeHTTP(w, r)
			}))
			defer server.Close()
			answer, err := http.Get(server.URL + "?format=events")
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
				t.Errorf("the stream has type %s", kind)
			}
			lines := bufio.NewReader(answer.Body)
			line, err := lines.ReadBytes('\n')
			if err != nil || !bytes.HasPrefix(line, []byte("data: {")) {
				t.Fatalf("%q, %v", line, err)
			}
			if way == "client leaves" {
				if err := answer.Body.Close(); err != nil {
					t.Fatal(err)
				}
			} else if err := server.Config.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-ended // otherwise the test times out
		})
	}
}

// An event has the map without the channels that were never used, and with a limited
// number of others: the one at the bottleneck and those that connect stages come first.
func TestEventsHaveABriefMap(t *testing.T) {
	f := Flow{Summary: "a", Bottleneck: &Bottleneck{Stage: "end", Channel: 900}, Unknown: slices.Repeat([]string{"x"}, 50)}
	for _, stage := range []string{"all", "end", "start"} {
		f.Stages = append(f.Stages, Stage{ID: stage})
	}
	for id := uint64(1); id <= 1000; id++ {
		f.Channels = append(f.Channels, FlowChannel{ID: id})
		switch {
		case id == 800:
			f.Edges = append(f.Edges, Edge{Stage: "start", Channel: id, Side: "send", Share: 1}, Edge{Stage: "end", Channel: id, Side: "receive", Share: 1})
		case id == 900:
			f.Edges = append(f.Edges, Edge{Stage: "end", Channel: id, Side: "receive", Share: 1})
		case id > 1:
			f.Edges = append(f.Edges, Edge{Stage: "all", Channel: id, Side: "send", Share: 0.5}, Edge{Stage: "start", Channel: id, Side: "send", Share: 0.5})
		}
	}
	b := f.brief()
	ids := map[uint64]bool{}
	for _, c := range b.Channels {
		ids[c.ID] = true
	}
	if len(ids) != maxPlaced || !ids[800] || !ids[900] || ids[1] || b.Omitted != 999-maxPlaced || len(b.Unknown) != 0 || b.Summary != "a" {
		t.Errorf("%d channels, omitted %d, %d unknown, %v %v %v", len(ids), b.Omitted, len(b.Unknown), ids[800], ids[900], ids[1])
	}
	if len(b.Edges) != 3+2*(maxPlaced-2) || len(b.Stages) != 3 || len(f.Edges) < 1900 {
		t.Errorf("%d edges, %d stages", len(b.Edges), len(b.Stages))
	}
}
