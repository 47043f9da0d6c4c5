// Package fan joins channels: [In] moves the values of several channels into one
// (fan-in), [Out] sends each value of one channel to several (fan-out).
//
// Both accept any [sluice.Receiver] and [sluice.Sender]. If they end early, they close
// the channels they receive from, so that senders fail with [sluice.ErrClosed] instead
// of waiting forever; [sluice.LeaveOpen] prevents that.
//
// A slice or an iterator becomes a receiver by package source, a built-in channel a receiver or a
// sender by bridge.NewReceiver and bridge.NewSender.
package fan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
)

// maxRun is how many values In moves at once.
const maxRun = 64

// In receives values from the channels in and sends them to out, until all of them
// are closed and drained. Then it returns nil and leaves out open. The values of one
// channel stay in order. If several channels have values, In chooses one of them at
// random and moves the values that are there, up to 64.
//
// In ends early if ctx is done, if out fails, or if one of in fails with an error other
// than [sluice.ErrClosed]. Then it closes all of in that are open, and returns the
// error and the values that it has received and could not send, oldest first for each
// channel. No value is lost, unless a channel panics or calls [runtime.Goexit]. If one
// of in panics, In sends the values that it has received from it, as far as out takes them, and
// then panics. [sluice.ErrFull] and
// [sluice.ErrTooLarge] of out end In too, because only the caller knows what to do with
// the value. In notices a closed out only when it next has a value to send, and a done
// ctx only when it would wait. It moves up to 64 values at a time (a run), and refers
// to all of them until the last one is sent.
//
// To pass a slice of channels as in..., make it a []sluice.Receiver[T].
//
// In waits for channels by [sluice.Select] if they have a method Ready (see
// [sluice.TryReceiver]). It starts a goroutine for each other receiver, and for each
// iterator of package source, because an iterator may block. The goroutine calls Recv
// and ends before In returns: a Recv must end when its context does. If out is a
// [sluice.BatchSender], In sends it whole runs. In allocates only at the start.
//
// In panics if ctx, out or one of in is nil, or is a channel that no constructor has
// made, before it receives anything.
func In[T any](ctx context.Context, out sluice.Sender[T], in ...sluice.Receiver[T]) (unsent []T, err error) {
	if ctx == nil {
		panic("fan: In: nil context")
	}
	stage.Require("fan: In", "sender", out)
	for _, r := range in {
		stage.Require("fan: In", "receiver", r)
	}
	m := merger[T]{out: out, run: make([]T, 0, maxRun)}
	m.batches, _ = out.(sluice.BatchSender[T])
	work, cancel := ctx, func() {}
	for _, r := range in {
		if pollable(r) == nil {
			work, cancel = context.WithCancel(ctx)
			break
		}
	}
	for _, r := range in {
		m.add(work, r)
	}
	drained := false
	defer func() {
		cancel()
		if !drained {
			m.end(&unsent)
		}
	}()
	err = m.merge(ctx)
	drained = err == nil
	if len(m.run) > 0 {
		unsent = m.run
	}
	return unsent, err
}

// A merger is a call of In.
type merger[T any] struct {
	out     sluice.Sender[T]
	batches sluice.BatchSender[T] // out, if it is one
	inputs  []input[T]            // in the order of cases
	cases   []sluice.Case
	run     []T // received and not yet sent
}

// An input is a channel that In receives from.
type input[T any] struct {
	source sluice.Receiver[T]
	next   *sluice.RecvCase[T]
	try    func() (T, error)
	pump   *pump[T] // of a source that is no TryReceiver
}

// pollable returns the receiver that Select can wait for, or nil if source needs a pump.
// An iterator does: its TryRecv may take any time.
func pollable[T any](source sluice.Receiver[T]) sluice.TryReceiver[T] {
	if stage.NeedsUnlockedThread(source) {
		return nil
	}
	r, _ := stage.Unwrap(source).(sluice.TryReceiver[T])
	return r
}

// add adds an input. ctx ends its pump, if it needs one.
func (m *merger[T]) add(ctx context.Context, source sluice.Receiver[T]) {
	i := input[T]{source: source}
	if r := pollable(source); r != nil {
		i.next, i.try = sluice.OnRecv(r), r.TryRecv
	} else {
		i.pump = startPump(ctx, source)
		i.next, i.try = sluice.OnRecv(i.pump.values), i.pump.values.TryRecv
	}
	m.inputs = append(m.inputs, i)
	m.cases = append(m.cases, i.next)
}

// merge moves values until all inputs are drained.
func (m *merger[T]) merge(ctx context.Context) error {
	var zero T
	for len(m.cases) > 0 {
		chosen, err := sluice.Select(ctx, m.cases...)
		if chosen == nil {
			return err
		}
		at := slices.Index(m.cases, chosen)
		i := &m.inputs[at]
		var panicked any
		if err == nil {
			m.run = append(m.run, i.next.Value)
			i.next.Value = zero
			panicked, err = m.fill(i)
		}
		n, failed := m.send(ctx)
		clear(m.run[:n])
		if panicked != nil {
			panic(panicked)
		}
		if failed != nil {
			m.run = m.run[n:]
			return failed
		}
		m.run = m.run[:0]
		switch {
		case err == nil:
		case errors.Is(err, sluice.ErrClosed):
			if i.pump != nil && i.pump.failed() != nil {
				return i.pump.failed()
			}
			m.cases = slices.Delete(m.cases, at, at+1)
			m.inputs = slices.Delete(m.inputs, at, at+1)
		default:
			return err
		}
	}
	return nil
}

// fill adds the values to the run that are there. It returns the error with which
// the input ended, if it has, or the value of its panic: the run was received, and must not be
// lost.
func (m *merger[T]) fill(i *input[T]) (panicked any, err error) {
	defer func() { panicked = recover() }()
	for len(m.run) < maxRun {
		v, err := i.try()
		if errors.Is(err, sluice.ErrEmpty) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		m.run = append(m.run, v)
	}
	return nil, nil
}

// send sends the run and returns how many values it sent.
func (m *merger[T]) send(ctx context.Context) (n int, err error) {
	if len(m.run) == 0 {
		return 0, nil
	}
	if m.batches != nil {
		n, err = m.batches.SendBatch(ctx, m.run)
		if n < 0 || n > len(m.run) || n < len(m.run) && err == nil {
			panic(fmt.Sprintf("fan: In: SendBatch of %d values returned %d, %v", len(m.run), n, err))
		}
		return n, err
	}
	var zero T
	for i, v := range m.run {
		if err := m.out.Send(ctx, v); err != nil {
			return i, err
		}
		m.run[i] = zero
	}
	return len(m.run), nil
}

// end closes the inputs that are open, waits for their pumps, and adds the values
// that those hold to unsent.
func (m *merger[T]) end(unsent *[]T) {
	var sources []any
	for _, i := range m.inputs {
		if !stage.NeedsUnlockedThread(i.source) { // its pump stops an iterator
			sources = append(sources, i.source)
		}
	}
	defer func() { // even if an input panics
		for _, i := range m.inputs {
			if i.pump != nil {
				*unsent = append(*unsent, i.pump.wait()...)
			}
		}
	}()
	stage.EndAll(sources)
}
