package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/anishathalye/porcupine"
	"github.com/sluice-go/sluice"
)

// A PairOp is an operation on one of two channels, or on both: a Select with Default.
type PairOp uint8

// The operations of a history of two channels. The last two are a Select that receives from
// both channels, and one that sends to both.
const (
	PairSend PairOp = iota
	PairRecv
	PairClose
	SelectRecv
	SelectSend
)

var pairOpNames = [...]string{"TrySend", "TryRecv", "Close", "Select of receives", "Select of sends"}

// A PairCall is one operation. Channel is 0 or 1, and without a meaning for a Select.
type PairCall struct {
	Op      PairOp
	Channel int
	Value   byte // to send
}

// byDefault is the channel of a Select that chose Default.
const byDefault = -1

// A PairResult is the result of a PairCall. Channel is the chosen one of a Select.
type PairResult struct {
	Channel int
	Value   byte
	Err     error
}

// A pairState is the state of two FIFO queues. It is comparable.
type pairState struct {
	queue  [2]string
	closed [2]bool
}

// PairModel is two FIFO queues of a capacity above 0. A Select with Default chooses a
// channel that can proceed, and Default only if neither can.
func PairModel(capacity int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return pairState{} },
		Step: func(s, in, out any) (bool, any) {
			return s.(pairState).step(capacity, in.(PairCall), out.(PairResult))
		},
	}
}

// step reports whether the call can have that result in state s, and returns the next
// state.
func (s pairState) step(capacity int, c PairCall, r PairResult) (bool, pairState) {
	sends := c.Op == PairSend || c.Op == SelectSend
	blocked := func(i int) bool {
		return !s.closed[i] && (sends && len(s.queue[i]) >= capacity || !sends && s.queue[i] == "")
	}
	i := c.Channel
	if c.Op == SelectRecv || c.Op == SelectSend {
		if i = r.Channel; i == byDefault {
			return blocked(0) && blocked(1), s
		}
	}
	switch {
	case c.Op == PairClose:
		s.closed[i] = true
	case errors.Is(r.Err, sluice.ErrClosed):
		return s.closed[i] && (sends || s.queue[i] == ""), s
	case r.Err != nil: // ErrFull or ErrEmpty
		return blocked(i), s
	case sends:
		if blocked(i) || s.closed[i] {
			return false, s
		}
		s.queue[i] += string([]byte{c.Value})
	default:
		if s.queue[i] == "" || s.queue[i][0] != r.Value {
			return false, s
		}
		s.queue[i] = s.queue[i][1:]
	}
	return true, s
}

// RecordPair lets some goroutines make random calls on two channels, and returns the
// history. No call waits.
func RecordPair(a, b sluice.Channel[byte], clients, calls int, seed uint64) []porcupine.Operation {
	recorded.Add(1)
	var all sync.WaitGroup
	var clock, arrived atomic.Int64
	histories := make([][]porcupine.Operation, clients)
	for i := range clients {
		p := newPairClient([2]sluice.Channel[byte]{a, b}, seed, uint64(i))
		all.Go(func() {
			for arrived.Add(1); arrived.Load() < int64(clients); {
				runtime.Gosched()
			}
			for n := range calls {
				o := porcupine.Operation{ClientId: i, Call: clock.Add(1)}
				o.Input, o.Output = p.random(byte(1 + i*calls + n))
				o.Return = clock.Add(1)
				histories[i] = append(histories[i], o)
			}
		})
	}
	all.Wait()
	var history []porcupine.Operation
	for _, h := range histories {
		history = append(history, h...)
	}
	return history
}

// A pairClient makes calls in sequence.
type pairClient struct {
	channels [2]sluice.Channel[byte]
	rng      *rand.Rand
	in       [2]*sluice.RecvCase[byte]
	out      [2]*sluice.SendCase[byte]
	yields   [2]sluice.Case // cannot proceed, and yield while a Select polls
}

func newPairClient(channels [2]sluice.Channel[byte], seed, id uint64) *pairClient {
	p := &pairClient{channels: channels, rng: rand.New(rand.NewPCG(seed, id))}
	for i, c := range channels {
		p.in[i], p.out[i] = sluice.OnRecv(c), sluice.OnSend(c, 0)
	}
	for i := range p.yields {
		full := sluice.NewElastic(1, &sluice.ElasticOptions[byte]{MaxBytes: 1, Size: func(byte) int {
			runtime.Gosched()
			return 1
		}})
		_ = full.TrySend(0)
		p.yields[i] = sluice.OnSend(full, 0)
	}
	return p
}

// random makes one random call; a send sends v.
func (p *pairClient) random(v byte) (in PairCall, out PairResult) {
	in = PairCall{Channel: p.rng.IntN(2), Value: v}
	c := p.channels[in.Channel]
	switch p.rng.IntN(16) {
	case 0:
		in.Op = PairClose
		c.Close()
	case 1, 2, 3, 4, 5:
		in.Op = PairSend
		out.Err = c.TrySend(v)
	case 6, 7, 8, 9:
		in.Op = PairRecv
		out.Value, out.Err = c.TryRecv()
	case 10, 11:
		in.Op = SelectSend
		p.out[0].Value, p.out[1].Value = v, v
		out.Channel, out.Err = p.choose(p.out[0], p.out[1])
	default:
		in.Op = SelectRecv
		if out.Channel, out.Err = p.choose(p.in[0], p.in[1]); out.Channel != byDefault {
			out.Value = p.in[out.Channel].Value
		}
	}
	return in, out
}

// choose returns the chosen channel.
func (p *pairClient) choose(first, second sluice.Case) (int, error) {
	chosen, err := sluice.Select(context.Background(), p.yields[0], first, p.yields[1], second, sluice.Default)
	switch chosen {
	case first:
		return 0, err
	case second:
		return 1, err
	}
	return byDefault, err
}

// RenderPair formats a history of two channels.
func RenderPair(history []porcupine.Operation) (s string) {
	for _, o := range history {
		c := o.Input.(PairCall)
		s += fmt.Sprintf("client %d, %d to %d: %s, %+v -> %+v\n", o.ClientId, o.Call, o.Return, pairOpNames[c.Op], c, o.Output)
	}
	return s
}
