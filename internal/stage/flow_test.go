package stage_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/internal/flow"
	"github.com/sluice-go/sluice/internal/registry"
	"github.com/sluice-go/sluice/workers"
)

// The tests of this file run programs, and compare the maps that package flow learns of them.

// bounded returns a named channel with one slot, in which nearly every operation parks.
func bounded(name string) *sluice.Bounded[int] {
	return sluice.NewBounded(1, &sluice.BoundedOptions[int]{Name: name})
}

// edges returns the edges of the map of the given channels, with short names.
func edges(names ...string) (list []string) {
	var channels []registry.Entry
	called := map[uint64]string{}
	all := registry.Channels()
	for i, e := range all {
		sameName := func(other registry.Entry) bool { return other.Name == e.Name }
		if slices.Contains(names, e.Name) && !slices.ContainsFunc(all[i+1:], sameName) { // or of an earlier run of the test
			channels = append(channels, e)
			called[e.ID] = e.Name
		}
	}
	stages, edges := flow.Learn(channels)
	stage := map[string]string{}
	for _, s := range stages {
		stage[s.ID] = strings.TrimPrefix(s.Name, "stage_test.")
	}
	for _, e := range edges {
		if c := called[e.Channel]; e.Side == flow.Send {
			list = append(list, stage[e.Stage]+" -> "+c)
		} else {
			list = append(list, c+" -> "+stage[e.Stage])
		}
	}
	slices.Sort(list)
	return list
}

func expectEdges(t *testing.T, got []string, want ...string) {
	t.Helper()
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the map has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

//go:noinline
func read(ctx context.Context, out sluice.Sender[int]) {
	for i := 0; ctx.Err() == nil && i < 9; i++ {
		_ = put(ctx, out, i)
	}
}

func put(ctx context.Context, out sluice.Sender[int], v int) error { return out.Send(ctx, v) }

// parse stops at the third value.
//
//go:noinline
func parse(ctx context.Context, in *sluice.Bounded[int], out sluice.Sender[int]) {
	for v := range in.Values(ctx).All() {
		if v == 3 {
			<-ctx.Done()
		}
		handle(ctx, v, out)
	}
}

func handle(ctx context.Context, v int, out sluice.Sender[int]) { _ = put(ctx, out, v) }

type sink struct{}

//go:noinline
func (sink) write(ctx context.Context, in sluice.Receiver[int]) {
	for {
		if _, err := in.Recv(ctx); err != nil {
			return
		}
	}
}

// relay is generic.
//
//go:noinline
func relay[T any](ctx context.Context, in sluice.Receiver[T], out sluice.Sender[T]) {
	for {
		v, err := in.Recv(ctx)
		if err != nil || out.Send(ctx, v) != nil {
			return
		}
	}
}

// goSafe is a wrapper as programs have it.
func goSafe(all *sync.WaitGroup, f func()) {
	all.Go(func() {
		defer func() { _ = recover() }()
		f()
	})
}

func TestPipeline(t *testing.T) {
	var lines, events *sluice.Bounded[int]
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		lines, events = bounded("lines"), bounded("events")
		var all sync.WaitGroup
		goSafe(&all, func() { read(ctx, lines) })
		goSafe(&all, func() { parse(ctx, lines, events) })
		goSafe(&all, func() { sink{}.write(ctx, events) })
		synctest.Wait()
		expectEdges(t, edges("lines", "events"), "read -> lines", "lines -> parse", "parse -> events", "events -> sink.write")
		cancel()
		all.Wait()
	})
}

func TestGenericStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := bounded("generic a"), bounded("generic b")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { read(ctx, a) })
		all.Go(func() { relay(ctx, a, b) })
		all.Go(func() { sink{}.write(ctx, b) })
		synctest.Wait()
		expectEdges(t, edges("generic a", "generic b"), "read -> generic a", "generic a -> relay", "relay -> generic b", "generic b -> sink.write")
		cancel()
		all.Wait()
	})
}

// A Select that waits for two channels is seen by both, and so is a send.
func TestSelect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, full := bounded("select a"), sluice.NewElastic(20, &sluice.ElasticOptions[int]{Name: "select b"}), bounded("select full")
		_ = full.TrySend(0)
		time.Sleep(time.Second) // or the next sample would be too soon
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { merge(ctx, a, b, full) })
		synctest.Wait()
		names := []string{"select a", "select b", "select full"}
		got := edges(names...)
		expectEdges(t, slices.DeleteFunc(got, func(e string) bool { return e == "TestSelect -> select full" }),
			"select a -> merge", "select b -> merge", "merge -> select full")
		cancel()
		all.Wait()
	})
}

//go:noinline
func merge(ctx context.Context, a sluice.TryReceiver[int], b sluice.TryReceiver[int], out sluice.Sender[int]) {
	_, _ = sluice.Select(ctx, sluice.OnRecv(a), sluice.OnRecv(b), sluice.OnSend(out, 1))
}

// The function of a worker pool is a stage, although a worker has no function of the
// program on its stack while it receives.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs, results := bounded("jobs"), bounded("results")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		work := func(ctx context.Context, v int) error { return put(ctx, results, v) }
		all.Go(func() { read(ctx, jobs) })
		all.Go(func() {
			if err := workers.Run(ctx, jobs, 2, work, nil); !errors.Is(err, context.Canceled) && !errors.Is(err, sluice.ErrClosed) {
				t.Error(err)
			}
		})
		synctest.Wait()
		expectEdges(t, edges("jobs", "results"), "read -> jobs", "jobs -> TestWorkers", "TestWorkers -> results")
		cancel()
		all.Wait()
	})
}

// A bridge works for the function that made it.
func TestBridge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bounded("bridged")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { toBuiltin(ctx, c) })
		synctest.Wait()
		expectEdges(t, edges("bridged"), "bridged -> toBuiltin")
		cancel()
		all.Wait()
	})
}

//go:noinline
func toBuiltin(ctx context.Context, c sluice.Receiver[int]) {
	values, rest := bridge.ToChan(ctx, c)
	select {
	case <-values:
	case <-ctx.Done():
	}
	_, _ = rest()
}

// Handlers of requests are stages, not the middleware around them. Their first sends are
// seen although they do not wait.
func TestHandlers(t *testing.T) {
	uploads := sluice.NewElastic(20, &sluice.ElasticOptions[int]{Name: "uploads"})
	removals := sluice.NewSharded(20, &sluice.ShardedOptions[int]{Name: "removals"})
	mux := http.NewServeMux()
	mux.HandleFunc("/upload", func(w http.ResponseWriter, r *http.Request) { upload(r, uploads) })
	mux.Handle("/remove", remover{removals})
	server := httptest.NewServer(logged(mux))
	defer server.Close()
	for _, path := range []string{"/upload", "/remove"} {
		if _, err := http.Get(server.URL + path); err != nil {
			t.Fatal(err)
		}
	}
	expectEdges(t, edges("uploads", "removals"), "upload -> uploads", "remover.ServeHTTP -> removals")
	if uploads.Len() != 1 || removals.Len() != 1 {
		t.Error("a handler did not send")
	}
}

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}

//go:noinline
func upload(r *http.Request, to sluice.Sender[int]) { _ = put(r.Context(), to, 1) }

type remover struct{ to sluice.Sender[int] }

func (h remover) ServeHTTP(w http.ResponseWriter, r *http.Request) { _ = put(r.Context(), h.to, 1) }

// Two goroutines of one function are told apart after a reading.
func TestInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := bounded("copied a"), bounded("copied b"), bounded("copied c")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { relay(ctx, a, b) })
		all.Go(func() { relay(ctx, b, c) })
		for range 3 {
			_ = a.TrySend(1)
			synctest.Wait()
		}
		sink{}.write(ended(ctx), c)
		expectEdges(t, edges("copied a", "copied b", "copied c"),
			"TestInstances -> copied a", "copied a -> relay (copied a)", "relay (copied a) -> copied b",
			"copied b -> relay (copied b)", "relay (copied b) -> copied c", "copied c -> TestInstances")
		cancel()
		all.Wait()
	})
}

func ended(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// TestKinds: the goroutines that send and receive are stages, for each kind.
func TestKinds(t *testing.T) {
	for kind, make := range map[string]func(name string) sluice.Channel[int]{
		"Rendezvous": func(name string) sluice.Channel[int] {
			return sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Name: name})
		},
		"Bounded of few": func(name string) sluice.Channel[int] {
			return sluice.NewBounded(3, &sluice.BoundedOptions[int]{Name: name})
		},
		"Bounded": func(name string) sluice.Channel[int] {
			return sluice.NewBounded(20, &sluice.BoundedOptions[int]{Name: name})
		},
		"Elastic": func(name string) sluice.Channel[int] {
			return sluice.NewElastic(2000, &sluice.ElasticOptions[int]{Name: name})
		},
		"Sharded": func(name string) sluice.Channel[int] {
			return sluice.NewSharded(5, &sluice.ShardedOptions[int]{Name: name, Lanes: 2})
		},
	} {
		c := make("kind " + kind)
		drained := chanClosed(func() { drain(t.Context(), c) })
		fill(t.Context(), c)
		c.Close()
		<-drained
		expectEdges(t, edges("kind "+kind), "TestKinds -> kind "+kind, "kind "+kind+" -> drain")
	}
}

// chanClosed runs f in a goroutine, and closes the channel after it.
func chanClosed(f func()) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	return ended
}

//go:noinline
func fill(ctx context.Context, c sluice.Sender[int]) {
	for i := range 10 {
		_ = c.Send(ctx, i)
	}
}

//go:noinline
func drain(ctx context.Context, c sluice.Channel[int]) {
	for range c.Values(ctx).All() {
	}
}
