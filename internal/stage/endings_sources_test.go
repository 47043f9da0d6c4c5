package stage_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/source"
)

// fromChan: the senders on a built-in channel wait, whatever ends FromChan early.
func fromChan(tr *trial) observation {
	tr.ctx, tr.cancel = context.WithCancel(context.Background())
	defer tr.cancel()
	in, out := make(chan int, 100), sluice.NewBounded[int](4, nil)
	for v := range 50 {
		in <- v
	}
	var reader sync.WaitGroup
	var got []int
	reader.Go(func() { got = tr.read(out) })
	if tr.ending == closed {
		close(in)
	}
	unsent, err := bridge.FromChan(tr.ctx, out, in)
	out.Close()
	reader.Wait()
	got = append(got, slices.Collect(out.Drain())...)
	inFlight, queued, senders := "arrive", "arrive", "end"
	if len(unsent) > 0 {
		inFlight = "`unsent`"
	}
	if len(in) > 0 {
		queued, senders = "stay", "wait"
	}
	if len(got)+len(unsent)+len(in) != 50 {
		tr.Errorf("bridge.FromChan, %s: %v arrived, %v unsent, %d are queued", tr.ending, got, unsent, len(in))
	}
	tr.ended(err, nil)
	return observation{inFlight, queued, senders, tr.outcome}
}

// pipe: the input is the built-in channel In, and the reader of Out leaves by Stop.
func pipe(tr *trial) observation {
	p := bridge.NewPipe(sluice.NewElastic[int](1000, nil))
	const n = 400 // more than the ends of the pipe hold
	for v := range n {
		p.In <- v
	}
	if tr.ending == closed {
		close(p.In)
	}
	var got []int
	for tr.ending == closed || len(got) < turning {
		v, ok := <-p.Out
		if !ok {
			break
		}
		got = append(got, v)
	}
	back := p.Stop()
	if len(got)+len(back) != n {
		tr.Errorf("bridge.Pipe, %s: %d arrived, %d were handed back", tr.ending, len(got), len(back))
	}
	if len(back) == 0 {
		return observation{"arrive", "arrive", "end", "nil"} // Out is closed
	}
	senders := "end"
	for range n {
		select {
		case p.In <- 0:
		default:
			senders = "wait"
		}
	}
	outcome := "nothing"
	select {
	case <-p.Out:
		outcome = "the closed `Out`"
	default:
	}
	return observation{"`Stop`", "`Stop`", senders, outcome}
}

// receives receives from a source until it fails, or until the reader closes it.
func (tr *trial) receives(r *source.Receiver[int]) (got []int) {
	tr.ctx, tr.cancel = context.WithCancel(context.Background())
	defer tr.cancel()
	tr.call(func() error {
		for {
			v, err := r.Recv(tr.ctx)
			if err != nil {
				return err
			}
			got = append(got, v)
			if v == turning && tr.ending == canceled {
				tr.cancel()
			}
			if v == turning && tr.ending == left {
				r.Close()
				return nil
			}
		}
	})
	return got
}

func slice(tr *trial) observation {
	vs := make([]int, 20)
	for i := range vs {
		vs[i] = i + 1
	}
	r := source.Slice(vs)
	got := tr.receives(r)
	later := slices.Collect(r.Drain())
	if !slices.Equal(append(got, later...), vs) {
		tr.Errorf("source.Slice, %s: %v, then %v", tr.ending, got, later)
	}
	if len(later) > 0 {
		return observation{"-", "stay", "-", tr.outcome}
	}
	return observation{"-", "arrive", "-", tr.outcome}
}

func iterator(tr *trial) observation {
	sender := "wait"
	r := source.Seq2(func(yield func(int, error) bool) {
		defer func() { sender = "end" }()
		for v := 1; v <= 20; v++ {
			if v == turning+1 && tr.ending == failed {
				yield(0, errInput)
				return
			}
			if v == turning+1 && tr.ending == panicked {
				panic(errInput)
			}
			if !yield(v, nil) {
				return
			}
		}
	})
	got := tr.receives(r)
	observed := sender
	later := slices.Collect(r.Drain())
	queued := "arrive"
	if len(later) > 0 {
		queued = "stay"
	} else if tr.ending != closed {
		queued = "are not made"
	}
	for i, v := range append(got, later...) {
		if v != i+1 {
			tr.Fatalf("source.Seq2, %s: %v, then %v", tr.ending, got, later)
		}
	}
	if sender != "end" {
		tr.Errorf("source.Seq2, %s: the iterator is not stopped", tr.ending)
	}
	return observation{"-", queued, observed, tr.outcome}
}

// TestSourceEndings: a source holds no value in flight. Only Close and the end of the values stop
// its iterator.
func TestSourceEndings(t *testing.T) {
	for _, s := range []stage{
		{name: "source.Slice", own: slice},
		{name: "source.Seq2", own: iterator},
	} {
		for ending, want := range sourceEndings[s.name] {
			if got := s.end(t, ending); got != want {
				t.Errorf("%s, %s: %q, want %q", s.name, ending, got, want)
			}
		}
	}
}

var sourceEndings = map[string]map[string]observation{
	"source.Slice": {
		closed:   {"-", "arrive", "-", "`ErrClosed`"},
		canceled: {"-", "stay", "-", "the context's error"},
		left:     {"-", "stay", "-", "nil"},
	},
	"source.Seq2": {
		closed:   {"-", "arrive", "end", "`ErrClosed`"},
		canceled: {"-", "stay", "wait", "the context's error"},
		failed:   {"-", "are not made", "end", "the error"},
		panicked: {"-", "are not made", "end", "the panic"},
		left:     {"-", "are not made", "end", "nil"},
	},
}
