package jetstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-go/sluice"
)

// A histPlan describes a run.
type histPlan struct {
	clients, calls int  // goroutines, and how many calls each of them makes
	whole          bool // a batch always fits, so it is one step
	noLen          bool
}

// histJobs is what a run needs of Deliveries.
type histJobs interface {
	RecvBatch(ctx context.Context, buf []*Delivery[int]) (int, error)
	TryRecvBatch(buf []*Delivery[int]) (int, error)
}

// A histHandle is what one process has of the channel.
type histHandle struct {
	c    sluice.Channel[int]
	jobs histJobs // if not nil, values are received here
	dead func() histJobs
}

// A histClient makes calls in sequence and records them.
type histClient struct {
	run    *histRun
	id     int
	handle int
	rng    *rand.Rand
	next   int // number of the next value
	held   []*Delivery[int]
	calls  []porcupine.Operation

	mu       sync.Mutex
	cancel   context.CancelFunc // of the current call
	canceled bool
}

// A histRun is one execution. Its clock counts the begins and ends of calls.
type histRun struct {
	plan    histPlan
	handles []histHandle
	clock   atomic.Int64
}

// recordHistory makes the calls of a run: of its clients at once, and then of one for each handle
// that closes the channel and receives what is left. The clock of the machine decides when calls are
// canceled, and nothing else: the model accepts a canceled call whenever its context is done.
func recordHistory(t testing.TB, plan histPlan, seed uint64, handles ...histHandle) (history []porcupine.Operation) {
	r := &histRun{plan: plan, handles: handles}
	rng := rand.New(rand.NewPCG(seed, 1))
	var all []*histClient
	var work sync.WaitGroup
	for i := range plan.clients {
		c := r.client(i, i%len(handles), seed)
		all = append(all, c)
		work.Go(c.work)
	}
	over := make(chan struct{})
	go func() { work.Wait(); close(over) }()
	for before, tick := int64(0), time.Tick(time.Millisecond); ; {
		select {
		case <-tick:
			if now := r.clock.Load(); now == before || rng.IntN(8) == 0 {
				all[rng.IntN(len(all))].interrupt()
			} else {
				before = now
			}
			continue
		case <-over:
		}
		break
	}
	var drained sync.WaitGroup
	for handle := range handles { // at once: a value that one of them has fetched is not returned for a second
		c := r.client(histSenders+handle, handle, seed)
		all = append(all, c)
		drained.Go(func() { c.drain(patient(t)) })
	}
	drained.Wait()
	if dead := handles[0].dead; dead != nil {
		all[plan.clients].drainDead(patient(t), dead())
	}
	for _, c := range all {
		for i, o := range c.calls {
			call := o.Input.(histCall)
			call.seq = byte(i)
			o.Input = call
			history = append(history, o)
		}
	}
	return history
}

func (r *histRun) client(id, handle int, seed uint64) *histClient {
	return &histClient{run: r, id: id, handle: handle, rng: rand.New(rand.NewPCG(seed, uint64(id)+2))}
}

// interrupt cancels the current call.
func (c *histClient) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.canceled = true
		c.cancel()
	}
}

// work makes random calls, and settles its deliveries.
func (c *histClient) work() {
	for range c.run.plan.calls {
		ctx, cancel := context.WithCancel(context.Background())
		c.mu.Lock()
		c.cancel, c.canceled = cancel, c.rng.IntN(12) == 0
		if c.canceled {
			cancel()
		}
		c.mu.Unlock()
		if c.rng.IntN(4) == 0 {
			runtime.Gosched()
		}
		c.random(ctx)
		cancel()
	}
	c.mu.Lock()
	c.cancel, c.canceled = nil, false
	c.mu.Unlock()
	for len(c.held) > 0 {
		c.settle(context.Background(), histAck)
	}
}

func (c *histClient) random(ctx context.Context) {
	for len(c.held) > 0 && c.rng.IntN(3) > 0 {
		c.settle(ctx, []histOp{histAck, histAckSync, histNack}[c.rng.IntN(3)])
	}
	switch n := c.rng.IntN(20); {
	case n < 6:
		c.send(ctx, histSend, 1)
	case n < 8:
		c.send(ctx, histTrySend, 1)
	case n < 10:
		c.send(ctx, histSend, 2+c.rng.IntN(2))
	case n < 14:
		c.receive(ctx, histRecv, 1)
	case n < 16:
		c.receive(ctx, histTryRecv, 1)
	case n < 18:
		c.receive(ctx, histRecv+histOp(c.rng.IntN(2)), 3)
	case n < 19 && !c.run.plan.noLen:
		c.do(histCall{op: histLen}, func(histCall) histResult { return histResult{n: c.channel().Len()} })
	case c.rng.IntN(3) == 0:
		c.close()
	}
}

func (c *histClient) channel() sluice.Channel[int] { return c.run.handles[c.handle].c }

// do makes a call and records it.
func (c *histClient) do(call histCall, f func(histCall) histResult) histResult {
	call.handle, call.receiver = c.handle, c.id
	begin := c.run.clock.Add(1)
	result := f(call)
	end := c.run.clock.Add(1)
	c.mu.Lock()
	call.canceled = c.canceled // before its error, if that is the context's
	c.mu.Unlock()
	c.calls = append(c.calls, porcupine.Operation{ClientId: c.id, Input: call, Call: begin, Output: result, Return: end})
	return result
}

// close records both moments of a Close.
func (c *histClient) close() {
	c.do(histCall{op: histClose}, func(histCall) histResult { c.channel().Close(); return histResult{} })
	sealed := c.calls[len(c.calls)-1]
	call := sealed.Input.(histCall)
	call.op = histSeal
	sealed.Input = call
	c.calls = append(c.calls, sealed)
}

func (c *histClient) send(ctx context.Context, op histOp, size int) {
	values := make([]int, min(size, histPerSender-c.next))
	for i := range values {
		values[i] = histValue(c.id, c.next)
		c.next++
	}
	if len(values) == 0 {
		return
	}
	c.do(histCall{op: op, values: histValues(values...)}, func(histCall) (r histResult) {
		switch {
		case op == histTrySend:
			r.err = c.channel().TrySend(values[0])
		case size == 1:
			r.err = c.channel().Send(ctx, values[0])
		default:
			if r.n, r.err = c.channel().SendBatch(ctx, values); r.err == nil && r.n < len(values) {
				r.err = errors.New("a part of the batch without an error")
			}
		}
		return r
	})
	if size > 1 && !c.run.plan.whole {
		c.split()
	}
}

// split makes the last call, a batch that need not be one step, a call for each value.
func (c *histClient) split() {
	whole := c.calls[len(c.calls)-1]
	c.calls = c.calls[:len(c.calls)-1]
	call, result := whole.Input.(histCall), whole.Output.(histResult)
	sent, received, attempts := call.values, result.values, result.attempts
	for i := range len(sent) + len(received) {
		one := histResult{err: result.err}
		if received != "" {
			one.values = received[i : i+1]
		} else {
			call.values = sent[i : i+1]
		}
		if attempts != "" {
			one.attempts = attempts[i : i+1]
		}
		if left := (*BatchError)(nil); i < result.n || errors.As(result.err, &left) && !slices.Contains(left.Left, i) {
			one.err = nil
		}
		whole.Input, whole.Output = call, one
		c.calls = append(c.calls, whole)
	}
}

// receive receives up to size values, or deliveries, and returns the error.
func (c *histClient) receive(ctx context.Context, op histOp, size int) error {
	result := c.receiveWhole(ctx, op, size)
	if len(result.values) > 1 {
		c.split()
	}
	return result.err
}

func (c *histClient) receiveWhole(ctx context.Context, op histOp, size int) histResult {
	h := c.run.handles[c.handle]
	if h.jobs != nil {
		return c.do(histCall{op: op - histRecv + histDeliver}, func(histCall) histResult {
			return c.deliveries(ctx, h.jobs, op == histTryRecv, size)
		})
	}
	return c.do(histCall{op: op}, func(histCall) (r histResult) {
		values, n := make([]int, size), 1
		switch {
		case size == 1 && op == histRecv:
			values[0], r.err = h.c.Recv(ctx)
		case size == 1:
			values[0], r.err = h.c.TryRecv()
		case op == histRecv:
			n, r.err = h.c.RecvBatch(ctx, values)
		default:
			n, r.err = h.c.TryRecvBatch(values)
		}
		if r.err == nil {
			r.values = histValues(values[:n]...)
		}
		return r
	})
}

// deliveries receives from jobs, and holds what it gets.
func (c *histClient) deliveries(ctx context.Context, jobs histJobs, try bool, size int) (r histResult) {
	got := make([]*Delivery[int], size)
	var n int
	if try {
		n, r.err = jobs.TryRecvBatch(got)
	} else {
		n, r.err = jobs.RecvBatch(ctx, got)
	}
	for _, d := range got[:n] {
		r.values += histValues(d.Value)
		r.attempts += histValues(d.Attempt)
	}
	c.held = append(c.held, got[:n]...)
	return r
}

// settle settles one of the deliveries that c holds.
func (c *histClient) settle(ctx context.Context, op histOp) {
	at := c.rng.IntN(len(c.held))
	d := c.held[at]
	c.held = slices.Delete(c.held, at, at+1)
	c.do(histCall{op: op, values: histValues(d.Value)}, func(histCall) (r histResult) {
		switch op {
		case histAck:
			r.err = d.Ack()
		case histAckSync:
			r.err = d.AckSync(ctx)
		default:
			r.err = d.Nack()
		}
		return r
	})
}

// drain closes the channel, and receives until it gets an error.
func (c *histClient) drain(ctx context.Context) {
	c.close()
	for c.receive(ctx, histRecv, 1) == nil {
		for len(c.held) > 0 {
			c.settle(ctx, histAck)
		}
	}
}

// drainDead receives the dead letters, whose channel is closed.
func (c *histClient) drainDead(ctx context.Context, dead histJobs) {
	next := func(histCall) histResult {
		r := c.deliveries(ctx, dead, false, 1)
		for _, d := range c.held {
			_ = d.Ack() // or the next receive does not end
		}
		c.held, r.attempts = nil, ""
		return r
	}
	for c.do(histCall{op: histDead}, next).err == nil {
	}
}
