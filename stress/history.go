package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/sluice-go/sluice"
)

// A Plan describes a run.
type Plan struct {
	// Clients is the number of goroutines, and Calls the number of calls that
	// each of them makes. Keep both small: the checker tries orders, and every
	// known defect of channels shows with three goroutines.
	Clients, Calls int
	// OneSender assigns all sends to the first client, OneReceiver all receives
	// to the last.
	OneSender, OneReceiver bool
	// NoLen calls TryRecv instead of Len, in any client.
	NoLen bool
	// Filled is the number of values sent before the clients begin.
	Filled int
	// Starving is Recv or Send: an additional client calls it before the others
	// begin. The call waits, and another goroutine wins the race Losses times.
	Starving Op
	Losses   int
	// Open makes the channel. It calls onDrop with each dropped value.
	Open func(onDrop func(byte)) sluice.Channel[byte]
	// OpenAged makes a channel whose values become too old, instead of Open. Clients let time
	// pass, and each value that is too old is an operation of the history.
	OpenAged func(undelivered func(byte, sluice.Reason)) sluice.Channel[byte]
}

// A Run is the record of one execution.
type Run struct {
	History []porcupine.Operation
	Dropped []byte // values that OnUndelivered saw
	Starved bool   // the starving client had lost as often as planned when the clients began
}

// Values that identify their sender. Clients send small ones.
const (
	filling    = 100
	waited     = 199
	snatchings = 200
)

// A client makes calls in sequence and records them.
type client struct {
	id      int
	c       sluice.Channel[byte]
	rng     *rand.Rand
	clock   *atomic.Int64
	ops     []Op
	history []porcupine.Operation
	cancel  atomic.Pointer[context.CancelFunc] // of the current call
	queues  bool                               // TrySend never hands off: see starve
	sleeps  bool                               // values become too old
}

// A world is the channel of a run and its users.
type world struct {
	plan  Plan
	c     sluice.Channel[byte]
	clock atomic.Int64
	gone  atomic.Int64 // number of finished clients
	first *client      // makes the calls before and after the clients run
	all   []*client    // the other clients

	mu      sync.Mutex
	dropped []byte
	expired []porcupine.Operation
}

func newWorld(p Plan) *world {
	w := &world{plan: p}
	if p.OpenAged != nil {
		w.c = p.OpenAged(w.undelivered)
	} else {
		w.c = p.Open(func(v byte) { w.undelivered(v, sluice.Overflowed) })
	}
	w.first = w.client()
	return w
}

// undelivered records that no receiver gets v. The channel has removed a value that was too old
// at some time before it reports that.
func (w *world) undelivered(v byte, why sluice.Reason) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped = append(w.dropped, v)
	if why == sluice.TooOld {
		w.expired = append(w.expired, porcupine.Operation{
			ClientId: w.plan.Clients + 2 + len(w.expired), Input: Call{Op: Expire, Value: v}, Output: Result{}, Return: w.clock.Add(1),
		})
	}
}

// client adds a client.
func (w *world) client() *client {
	id := len(w.all)
	if w.first == nil {
		id = w.plan.Clients + 1
	}
	return &client{id: id, c: w.c, clock: &w.clock, sleeps: w.plan.OpenAged != nil}
}

// recorded counts the histories of the process.
var recorded atomic.Int64

// Record executes the plan once, in a bubble. Waiting calls are canceled, some
// while others run, the rest once every goroutine is blocked: so every run ends
// without a clock. The remaining values are received at the end, as part of the
// history.
func Record(t *testing.T, p Plan, seed uint64) (run Run) {
	recorded.Add(1)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(p)
		rng := rand.New(rand.NewPCG(seed, 1))
		w.fill()
		run.Starved = p.Losses > 0 && w.starve() == p.Losses
		w.begin(seed)
		for range rng.IntN(3 * p.Clients) {
			runtime.Gosched()
			w.all[rng.IntN(len(w.all))].interrupt()
		}
		for synctest.Wait(); w.gone.Load() < int64(len(w.all)); synctest.Wait() {
			if p.OpenAged != nil {
				time.Sleep(time.Nanosecond) // the clock of a bubble runs while all of it waits
			}
			for _, cl := range w.all {
				if cl.interrupt(); rng.IntN(2) == 0 {
					break
				}
			}
			rng.Shuffle(len(w.all), func(i, j int) { w.all[i], w.all[j] = w.all[j], w.all[i] })
		}
		w.drain()
		for _, cl := range append(w.all, w.first) {
			run.History = append(run.History, cl.history...)
		}
		run.History, run.Dropped = append(run.History, w.expired...), w.dropped
	})
	return run
}

// fill sends the initial values.
func (w *world) fill() {
	for i := range w.plan.Filled {
		w.first.make(context.Background(), TrySend, byte(filling+i))
	}
}

// starve makes a client wait, and takes what it was woken for until it has lost
// as often as planned, or is served. It returns the number of losses.
//
// The values for a starving receiver are batches of one: a batch is queued even if a
// receiver waits to which a single value would be handed off.
func (w *world) starve() (lost int) {
	w.first.queues = true
	defer func() { w.first.queues = false }()
	waiting := w.client()
	w.all = append(w.all, waiting)
	ctx, cancel := context.WithCancel(context.Background())
	waiting.cancel.Store(&cancel)
	go func() {
		defer w.gone.Add(1)
		waiting.make(ctx, w.plan.Starving, waited)
	}()
	canceled, end := context.WithCancel(context.Background())
	end()
	for synctest.Wait(); lost < w.plan.Losses; lost++ {
		v := byte(snatchings + lost%50)
		wake, snatch := TrySend, TryRecv
		if w.plan.Starving == Send {
			wake, snatch = TryRecv, TrySend
		}
		w.first.make(canceled, wake, v)
		err := w.first.make(canceled, snatch, v)
		if synctest.Wait(); err != nil || w.gone.Load() > 0 {
			break
		}
	}
	return lost
}

// begin starts the clients.
func (w *world) begin(seed uint64) {
	var arrived atomic.Int64
	p := w.plan
	for i := range p.Clients {
		cl := w.client()
		cl.rng, cl.ops = rand.New(rand.NewPCG(seed, uint64(i)+2)), p.ops(i)
		w.all = append(w.all, cl)
		go func() {
			defer w.gone.Add(1)
			// All clients begin together: a call takes less time than starting
			// a goroutine.
			for arrived.Add(1); arrived.Load() < int64(p.Clients); {
				runtime.Gosched()
			}
			for n := range p.Calls {
				cl.random(byte(1 + i*p.Calls + n))
			}
		}()
	}
}

// drain receives the remaining values.
func (w *world) drain() {
	for w.first.make(context.Background(), TryRecv, 0) == nil {
	}
}

// ops lists the operations that the client may call.
func (p Plan) ops(id int) []Op {
	ops := []Op{Len, Close}
	if p.NoLen {
		ops[0] = TryRecv
	}
	if !p.OneSender || id == 0 {
		ops = append(ops, Send, Send, Send, Send, TrySend, TrySend)
	}
	if !p.OneReceiver || id == p.Clients-1 {
		ops = append(ops, Recv, Recv, Recv, Recv, TryRecv, TryRecv)
	}
	return ops
}

// interrupt cancels the client's current call.
func (cl *client) interrupt() {
	if cancel := cl.cancel.Load(); cancel != nil {
		(*cancel)()
	}
}

// random makes one random call; a send sends v.
func (cl *client) random(v byte) {
	op := cl.ops[cl.rng.IntN(len(cl.ops))]
	if op == Close && cl.rng.IntN(3) > 0 {
		op = cl.ops[0] // a closed channel offers little to check
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch cl.rng.IntN(8) {
	case 0:
		cancel()
	case 1:
		runtime.Gosched()
	case 2, 3:
		if cl.sleeps {
			time.Sleep(time.Duration(cl.rng.IntN(3)))
		}
	}
	cl.cancel.Store(&cancel)
	if cl.rng.IntN(2) == 0 {
		ctx = yielding{ctx}
	}
	_ = cl.make(ctx, op, v)
}

// yielding is a context that yields the processor when called: between the
// channel's check that a call cannot proceed and the park.
type yielding struct{ context.Context }

func (y yielding) Done() <-chan struct{} {
	runtime.Gosched()
	return y.Context.Done()
}

func (y yielding) Err() error {
	runtime.Gosched()
	return y.Context.Err()
}

// make makes a call, records it and returns its error.
func (cl *client) make(ctx context.Context, op Op, v byte) error {
	in := Call{Op: op, Value: v, Begin: cl.clock.Add(1)}
	var out Result
	switch op {
	case Send:
		out.Err = cl.c.Send(ctx, v)
	case TrySend:
		if !cl.queues {
			out.Err = cl.c.TrySend(v)
		} else if _, out.Err = cl.c.SendBatch(ctx, []byte{v}); errors.Is(out.Err, context.Canceled) {
			out.Err = sluice.ErrFull
		}
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
	return out.Err
}

// Render formats a history in the order in which the calls began.
func Render(history []porcupine.Operation) string {
	var b strings.Builder
	for _, o := range history {
		fmt.Fprintf(&b, "client %d, %d to %d: %s\n", o.ClientId, o.Call, o.Return, describe(o.Input.(Call), o.Output.(Result)))
	}
	return b.String()
}

// noteSends sets Beside of each call that a send overlaps.
func noteSends(history []porcupine.Operation) {
	for i := range history {
		c := history[i].Input.(Call)
		c.Beside = slices.ContainsFunc(history, func(o porcupine.Operation) bool {
			return o.Input.(Call).Op <= TrySend && o.Call < c.End && c.Begin < o.Return
		})
		history[i].Input = c
	}
}
