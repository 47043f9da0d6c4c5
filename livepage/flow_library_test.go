package livepage_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/livepage"
	"github.com/sluice-go/sluice/workers"
)

func produce(ctx context.Context, out sluice.Sender[int]) {
	for out.Send(ctx, 1) == nil {
	}
}

func double(_ context.Context, v int) (int, error) { return 2 * v, nil }

func triple(_ context.Context, v int) (int, error) { return 3 * v, nil }

func collect(ctx context.Context, in sluice.Receiver[int], out sluice.Sender[int]) {
	for v, err := in.Recv(ctx); err == nil; v, err = in.Recv(ctx) {
		_ = out.Send(ctx, v)
	}
}

func lingerer(ctx context.Context, in sluice.Receiver[int], out *batch.Sender[int]) {
	for v, err := in.Recv(ctx); err == nil; v, err = in.Recv(ctx) {
		time.Sleep(time.Millisecond) // the timer flushes before a batch is full
		_ = out.Send(ctx, v)
	}
}

func drain(ctx context.Context, in sluice.Receiver[int]) {
	for _, err := in.Recv(ctx); err == nil; _, err = in.Recv(ctx) {
		continue
	}
}

func sample(ctx context.Context, in sluice.Receiver[int]) {
	for _, err := in.Recv(ctx); err == nil; _, err = in.Recv(ctx) {
		time.Sleep(50 * time.Millisecond)
	}
}

func slowly(ctx context.Context, in sluice.Receiver[int]) {
	for _, err := in.Recv(ctx); err == nil; _, err = in.Recv(ctx) {
		time.Sleep(10 * time.Millisecond)
	}
}

// within returns the names of the stages on a side of a channel.
func within(f livepage.Flow, channel uint64, side string) (stages []string) {
	for _, e := range f.Edges {
		for _, s := range f.Stages {
			if e.Channel == channel && e.Side == side && s.ID == e.Stage {
				stages = append(stages, s.Name)
			}
		}
	}
	return stages
}

// TestFlowOfHub: the subscriptions of a hub are between its senders and their receivers, and the
// receiver of the slow one holds the service back, even if another one drops values.
func TestFlowOfHub(t *testing.T) {
	awaitNoChannels()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		h := hub.New[int](64, nil)
		var stages sync.WaitGroup
		for name, receive := range map[string]func(ctx context.Context, in sluice.Receiver[int]){"slow": slowly, "fast": drain, "sampled": sample} {
			o := &hub.SubscriptionOptions[int]{Name: t.Name() + "/" + name}
			if name == "sampled" {
				o.Overflow, o.Capacity = sluice.DropOldest, 8
			}
			s, err := h.Subscribe(o)
			if err != nil {
				t.Fatal(err)
			}
			stages.Go(func() { receive(ctx, s) })
		}
		stages.Go(func() { produce(ctx, h) })
		page := livepage.Handler()
		for range 5 {
			_ = mapOf(t, page)
			time.Sleep(time.Second)
		}
		f := mapOf(t, page)
		for _, c := range f.Channels {
			senders, receivers := within(f, c.ID, "send"), within(f, c.ID, "receive")
			want := map[string]string{"/slow": "livepage_test.slowly", "/fast": "livepage_test.drain", "/sampled": "livepage_test.sample"}[strings.TrimPrefix(c.Name, t.Name())]
			if !slices.Equal(senders, []string{"livepage_test.produce"}) || !slices.Equal(receivers, []string{want}) {
				t.Errorf("%s: from %v to %v, want %s", c.Name, senders, receivers, want)
			}
		}
		want := "livepage_test.slowly is the slowest stage: " + t.Name() + "/slow is "
		if len(f.Channels) != 3 || f.Unseen != "" || !strings.HasPrefix(f.Summary, want) || !strings.Contains(f.Summary, " Also, "+t.Name()+"/sampled drops ") {
			t.Errorf("%d channels, %q, %q, want %q", len(f.Channels), f.Unseen, f.Summary, want)
		}
		cancel()
		stages.Wait()
	})
}

// TestFlowOfGoStatement: a stage of the library that a go statement begins with is a stage of the
// map.
func TestFlowOfGoStatement(t *testing.T) {
	awaitNoChannels()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		in := sluice.NewBounded(8, &sluice.BoundedOptions[int]{Name: t.Name() + "/in"})
		out := sluice.NewBounded(8, &sluice.BoundedOptions[int]{Name: t.Name() + "/out"})
		var stages sync.WaitGroup
		stages.Go(func() { produce(ctx, in) })
		go fan.In(ctx, sluice.Sender[int](out), sluice.Receiver[int](in))
		stages.Go(func() { slowly(ctx, out) })
		time.Sleep(time.Second)
		f := mapOf(t, livepage.Handler())
		for _, c := range f.Channels {
			side := map[string]string{t.Name() + "/in": "receive", t.Name() + "/out": "send"}[c.Name]
			if got := within(f, c.ID, side); !slices.Equal(got, []string{"fan.In"}) {
				t.Errorf("the %s side of %s: %v", side, c.Name, got)
			}
		}
		cancel()
		stages.Wait()
		synctest.Wait()
	})
}

// A disk is a kind of channel that package sluice does not know.
type disk struct{ _ int }

func (*disk) Stats() sluice.Stats { return sluice.Stats{Cap: 4} }

// TestUnseen: the map says why a channel is not on it.
func TestUnseen(t *testing.T) {
	awaitNoChannels()
	idle := sluice.NewBounded(8, &sluice.BoundedOptions[int]{Name: t.Name() + "/idle"})
	other := new(disk)
	inspect.Register(t.Name()+"/other", "Disk", other)
	want := "Not on the map: TestUnseen/idle (no send or receive yet); TestUnseen/other (a Disk, whose calls are not sampled)."
	if f := mapOf(t, livepage.Handler()); f.Unseen != want || len(f.Unknown) != 2 {
		t.Errorf("%q, %v; want %q", f.Unseen, f.Unknown, want)
	}
	runtime.KeepAlive(idle)
	runtime.KeepAlive(other)
}

// TestFlowThroughLibrary: a stage whose values pass through goroutines of the library is
// not taken for the slowest one when what is behind it is slow.
func TestFlowThroughLibrary(t *testing.T) {
	for name, middle := range map[string]func(ctx context.Context, in, out *sluice.Bounded[int]){
		"Map": func(ctx context.Context, in, out *sluice.Bounded[int]) {
			collect(ctx, workers.Map(ctx, in, 2, double, nil), out)
		},
		"Map of Map": func(ctx context.Context, in, out *sluice.Bounded[int]) {
			collect(ctx, workers.Map(ctx, workers.Map(ctx, in, 2, double, nil), 2, triple, nil), out)
		},
		"Run of Map": func(ctx context.Context, in, out *sluice.Bounded[int]) {
			send := func(ctx context.Context, v int) error { return out.Send(ctx, v) }
			_ = workers.Run(ctx, workers.Map(ctx, in, 2, double, nil), 2, send, nil)
		},
		"Sender with linger": func(ctx context.Context, in, out *sluice.Bounded[int]) {
			s := batch.NewSender(out, 1000, &batch.Options[int]{Linger: time.Millisecond})
			lingerer(ctx, in, s)
			_ = s.TakeUnsent()
		},
	} {
		t.Run(name, func(t *testing.T) {
			awaitNoChannels()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				in := sluice.NewBounded(64, &sluice.BoundedOptions[int]{Name: t.Name() + "/in"})
				out := sluice.NewBounded(8, &sluice.BoundedOptions[int]{Name: t.Name() + "/out"})
				var stages sync.WaitGroup
				stages.Go(func() { produce(ctx, in) })
				stages.Go(func() { middle(ctx, in, out) })
				stages.Go(func() { slowly(ctx, out) })
				h := livepage.Handler()
				for range 5 {
					_ = mapOf(t, h)
					time.Sleep(time.Second)
				}
				want := "livepage_test.slowly is the slowest stage: "
				for range 10 {
					f := mapOf(t, h)
					if f.Bottleneck == nil || f.Bottleneck.Stage != "github.com/sluice-go/sluice/livepage_test.slowly" {
						t.Errorf("%q, want %q; edges %+v", f.Summary, want, f.Edges)
					}
					time.Sleep(time.Second)
				}
				cancel()
				stages.Wait()
			})
		})
	}
}
