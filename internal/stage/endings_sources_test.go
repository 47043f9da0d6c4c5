package stage_test

import (
	"context"
	"slices"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/source"
)

func fromChan(tr *trial) string {
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
		inFlight = "handed back by `unsent`"
	}
	if len(in) > 0 {
		queued, senders = "stay", "wait"
	}
	if len(got)+len(unsent)+len(in) != 50 {
		tr.Errorf("bridge.FromChan, %s: %v arrived, %v unsent, %d are queued", tr.ending, got, unsent, len(in))
	}
	tr.ended(err, nil)
	return row("bridge.FromChan", inFlight, queued, senders, tr.outcome)
}

func pipe(tr *trial) string {
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
		return row("bridge.Pipe", "arrive", "arrive", "end", "the closed `Out`")
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
	return row("bridge.Pipe", "handed back by `Stop`", "handed back by `Stop`", senders, outcome)
}

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

func slice(tr *trial) string {
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
		return row("source.Slice", "-", "stay", "-", tr.outcome)
	}
	return row("source.Slice", "-", "arrive", "-", tr.outcome)
}

func iterator(tr *trial) string {
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
	return row("source.Seq2", "-", queued, observed, tr.outcome)
}
