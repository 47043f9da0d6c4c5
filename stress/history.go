package stress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/anishathalye/porcupine"
	"github.com/sluice-go/sluice"
)

// A Plan says what a run is to look like.
type Plan struct {
	// Clients is how many goroutines call, and Calls how many calls each of
	// them makes. Few: the checker tries orders, and every fault known of
	// channels shows with three goroutines.
	Clients, Calls int
	// OneSender and OneReceiver give all sends, or all receives, to the first,
	// or the last, client.
	OneSender, OneReceiver bool
	// Open makes the channel. onDrop is to see each dropped value.
	Open func(onDrop func(byte)) sluice.Chan[byte]
}

// A Run is what happened.
type Run struct {
	History []porcupine.Operation
	Dropped []byte // what OnDrop saw
}

// A client makes calls one after another and writes down when.
type client struct {
	id      int
	c       sluice.Chan[byte]
	rng     *rand.Rand
	clock   *atomic.Int64
	ops     []Op
	history []porcupine.Operation
	cancel  atomic.Pointer[context.CancelFunc] // of the latest call
}

// Record makes one run of the plan, in a bubble. Calls that wait are cancelled,
// some while others run, the rest once nothing moves any more: so every run
// ends, without a clock. What is left is received in the end, and is part of the
// history.
func Record(t *testing.T, p Plan, seed uint64) (run Run) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		c := p.Open(func(v byte) {
			mu.Lock()
			run.Dropped = append(run.Dropped, v)
			mu.Unlock()
		})
		rng := rand.New(rand.NewPCG(seed, 1))
		var clock, arrived, gone atomic.Int64
		clients := make([]*client, p.Clients)
		for i := range clients {
			cl := &client{id: i, c: c, rng: rand.New(rand.NewPCG(seed, uint64(i)+2)), clock: &clock, ops: p.ops(i)}
			clients[i] = cl
			go func() {
				defer gone.Add(1)
				// All begin together: calls are shorter than the start of a
				// goroutine.
				for arrived.Add(1); arrived.Load() < int64(p.Clients); {
					runtime.Gosched()
				}
				for n := range p.Calls {
					cl.random(byte(1 + i*p.Calls + n))
				}
			}()
		}
		for range rng.IntN(3 * p.Clients) {
			runtime.Gosched()
			clients[rng.IntN(len(clients))].interrupt()
		}
		for synctest.Wait(); gone.Load() < int64(p.Clients); synctest.Wait() {
			for _, cl := range clients {
				if cl.interrupt(); rng.IntN(2) == 0 {
					break
				}
			}
			rng.Shuffle(len(clients), func(i, j int) { clients[i], clients[j] = clients[j], clients[i] })
		}
		for _, cl := range clients {
			run.History = append(run.History, cl.history...)
		}
		run.History = append(run.History, drain(c, p.Clients, &clock)...)
	})
	return run
}

// drain receives what is left, as one client more.
func drain(c sluice.Chan[byte], id int, clock *atomic.Int64) []porcupine.Operation {
	last := &client{id: id, c: c, clock: clock}
	for {
		last.make(context.Background(), TryRecv, 0)
		if last.history[len(last.history)-1].Output.(Result).Err != nil {
			return last.history
		}
	}
}

// ops lists what the client may call.
func (p Plan) ops(id int) []Op {
	ops := []Op{Len, Close}
	if !p.OneSender || id == 0 {
		ops = append(ops, Send, Send, Send, Send, TrySend, TrySend)
	}
	if !p.OneReceiver || id == p.Clients-1 {
		ops = append(ops, Recv, Recv, Recv, Recv, TryRecv, TryRecv)
	}
	return ops
}

// interrupt cancels what the client is waiting for, if anything.
func (cl *client) interrupt() {
	if cancel := cl.cancel.Load(); cancel != nil {
		(*cancel)()
	}
}

// random makes one random call; v is the value if it is a send.
func (cl *client) random(v byte) {
	op := cl.ops[cl.rng.IntN(len(cl.ops))]
	if op == Close && cl.rng.IntN(3) > 0 {
		op = Len // closed channels are dull
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch cl.rng.IntN(8) {
	case 0:
		cancel()
	case 1:
		runtime.Gosched()
	}
	cl.cancel.Store(&cancel)
	if cl.rng.IntN(2) == 0 {
		ctx = yielding{ctx}
	}
	cl.make(ctx, op, v)
}

// yielding is a context that yields the processor when it is asked: between a
// channel's finding that a call cannot proceed, and its parking the caller.
type yielding struct{ context.Context }

func (y yielding) Done() <-chan struct{} {
	runtime.Gosched()
	return y.Context.Done()
}

func (y yielding) Err() error {
	runtime.Gosched()
	return y.Context.Err()
}

// make makes a call and writes it down.
func (cl *client) make(ctx context.Context, op Op, v byte) {
	in := Call{Op: op, Value: v, Begin: cl.clock.Add(1)}
	var out Result
	switch op {
	case Send:
		out.Err = cl.c.Send(ctx, v)
	case TrySend:
		out.Err = cl.c.TrySend(v)
	case Recv:
		out.Value, out.Err = cl.c.Recv(ctx)
	case TryRecv:
		out.Value, out.Err = cl.c.TryRecv()
	case Len:
		out.Len = cl.c.Len()
	case Close:
		cl.c.Close()
	}
	in.End = cl.clock.Add(1)
	cl.history = append(cl.history, porcupine.Operation{
		ClientId: cl.id, Input: in, Call: in.Begin, Output: out, Return: in.End,
	})
}

// Render writes a history down in the order in which the calls began.
func Render(history []porcupine.Operation) string {
	var b strings.Builder
	for _, o := range history {
		fmt.Fprintf(&b, "client %d, %d to %d: %s\n", o.ClientId, o.Call, o.Return, describe(o.Input.(Call), o.Output.(Result)))
	}
	return b.String()
}
