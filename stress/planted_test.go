package stress

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/sluice-go/sluice"
)

// A line is one call of a handwritten history.
type line struct {
	client     int
	begin, end int64
	call       Call
	result     Result
}

func history(lines ...line) (h []porcupine.Operation) {
	for _, l := range lines {
		l.call.Begin, l.call.End = l.begin, l.end
		h = append(h, porcupine.Operation{
			ClientId: l.client, Input: l.call, Call: l.begin, Output: l.result, Return: l.end,
		})
	}
	return h
}

func send(client int, begin, end int64, v byte, err error) line {
	return line{client, begin, end, Call{Op: Send, Value: v}, Result{Err: err}}
}

func trySend(client int, begin, end int64, v byte, err error) line {
	return line{client, begin, end, Call{Op: TrySend, Value: v}, Result{Err: err}}
}

func recv(client int, begin, end int64, v byte, err error) line {
	return line{client, begin, end, Call{Op: Recv}, Result{Value: v, Err: err}}
}

func tryRecv(client int, begin, end int64, v byte, err error) line {
	return line{client, begin, end, Call{Op: TryRecv}, Result{Value: v, Err: err}}
}

func length(client int, begin, end int64, n int) line {
	return line{client, begin, end, Call{Op: Len}, Result{Len: n}}
}

func closing(client int, begin, end int64) line {
	return line{client, begin, end, Call{Op: Close}, Result{}}
}

// TestPlanted: the checker rejects every history that a channel must not
// produce, and accepts the corresponding correct one.
func TestPlanted(t *testing.T) {
	for _, test := range []struct {
		name         string
		capacity     int
		overflow     sluice.Overflow
		right, wrong []line
		dropped      []byte // in both histories
	}{
		{
			name: "a value is lost", capacity: 2,
			right: []line{send(0, 1, 2, 7, nil), recv(1, 3, 4, 7, nil)},
			wrong: []line{send(0, 1, 2, 7, nil), tryRecv(1, 3, 4, 0, sluice.ErrEmpty)},
		}, {
			name: "a value is received twice", capacity: 2,
			right: []line{send(0, 1, 2, 7, nil), recv(1, 3, 6, 7, nil), recv(2, 4, 5, 0, context.Canceled)},
			wrong: []line{send(0, 1, 2, 7, nil), recv(1, 3, 6, 7, nil), recv(2, 4, 5, 7, nil)},
		}, {
			name: "the younger value first", capacity: 2,
			right: []line{send(0, 1, 3, 1, nil), send(1, 2, 4, 2, nil), recv(2, 5, 6, 2, nil), recv(2, 7, 8, 1, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), send(1, 3, 4, 2, nil), recv(2, 5, 6, 2, nil), recv(2, 7, 8, 1, nil)},
		}, {
			name: "full with room", capacity: 2,
			right: []line{send(0, 1, 2, 1, nil), send(0, 3, 6, 2, nil), trySend(1, 4, 5, 3, sluice.ErrFull), recv(2, 7, 8, 1, nil), recv(2, 9, 10, 2, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), trySend(1, 3, 4, 3, sluice.ErrFull), recv(2, 7, 8, 1, nil)},
		}, {
			name: "more than the capacity", capacity: 1,
			right: []line{send(0, 1, 2, 1, nil), send(1, 3, 6, 2, nil), recv(2, 4, 5, 1, nil), recv(2, 7, 8, 2, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), send(1, 3, 4, 2, nil), recv(2, 5, 6, 1, nil), recv(2, 7, 8, 2, nil)},
		}, {
			name: "canceled, and delivered", capacity: 1,
			right: []line{send(0, 1, 2, 1, nil), send(1, 3, 4, 2, context.Canceled), recv(2, 5, 6, 1, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), send(1, 3, 4, 2, context.Canceled), recv(2, 5, 6, 1, nil), recv(2, 7, 8, 2, nil)},
		}, {
			name: "canceled without having to wait", capacity: 1,
			right: []line{send(0, 1, 2, 2, nil), recv(2, 3, 4, 2, nil)},
			wrong: []line{send(0, 1, 2, 2, context.Canceled)},
		}, {
			name: "a receive canceled without having to wait", capacity: 1,
			right: []line{send(0, 1, 4, 2, nil), recv(1, 2, 3, 0, context.Canceled), recv(2, 5, 6, 2, nil)},
			wrong: []line{send(0, 1, 2, 2, nil), recv(1, 3, 4, 0, context.Canceled), recv(2, 5, 6, 2, nil)},
		}, {
			name: "sent after Close", capacity: 2,
			right: []line{closing(0, 1, 4), send(1, 2, 3, 1, nil), recv(2, 5, 6, 1, nil)},
			wrong: []line{closing(0, 1, 2), send(1, 3, 4, 1, nil), recv(2, 5, 6, 1, nil)},
		}, {
			name: "dropped by Close", capacity: 2,
			right: []line{send(0, 1, 2, 1, nil), closing(0, 3, 4), recv(2, 5, 6, 1, nil), recv(2, 7, 8, 0, sluice.ErrClosed)},
			wrong: []line{send(0, 1, 2, 1, nil), closing(0, 3, 4), recv(2, 5, 6, 0, sluice.ErrClosed)},
		}, {
			name: "closed before Close", capacity: 2,
			right: []line{recv(2, 1, 4, 0, sluice.ErrClosed), closing(0, 2, 3)},
			wrong: []line{recv(2, 1, 2, 0, sluice.ErrClosed), closing(0, 3, 4)},
		}, {
			name: "empty though closed", capacity: 2,
			right: []line{closing(0, 1, 2), tryRecv(1, 3, 4, 0, sluice.ErrClosed)},
			wrong: []line{closing(0, 1, 2), tryRecv(1, 3, 4, 0, sluice.ErrEmpty)},
		}, {
			name: "a wrong length", capacity: 2,
			right: []line{send(0, 1, 4, 1, nil), length(1, 2, 3, 1), recv(2, 5, 6, 1, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), length(1, 3, 4, 0), recv(2, 5, 6, 1, nil)},
		}, {
			// The receive that waits takes the value before TryRecv finds nothing.
			name: "empty before a length that counts the value", capacity: 4,
			right: []line{recv(0, 1, 12, 5, nil), send(1, 2, 3, 5, nil), tryRecv(2, 4, 11, 0, sluice.ErrEmpty),
				send(1, 5, 6, 1, nil), send(1, 7, 8, 2, nil), length(1, 9, 10, 2), recv(1, 13, 14, 1, nil), recv(1, 15, 16, 2, nil)},
			wrong: []line{recv(0, 1, 12, 5, nil), send(1, 2, 3, 5, nil), tryRecv(2, 4, 11, 0, sluice.ErrEmpty),
				send(1, 5, 6, 1, nil), send(1, 7, 8, 2, nil), length(1, 9, 10, 3), recv(1, 13, 14, 1, nil), recv(1, 15, 16, 2, nil)},
		}, {
			// The send that waits adds its value before TrySend finds no room.
			name: "full before a length that misses the value", capacity: 2,
			right: []line{send(0, 1, 2, 1, nil), send(0, 3, 4, 2, nil), send(0, 5, 14, 3, nil), recv(1, 6, 7, 1, nil),
				trySend(2, 8, 13, 4, sluice.ErrFull), recv(1, 9, 10, 2, nil), length(1, 11, 12, 1), recv(1, 15, 16, 3, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), send(0, 3, 4, 2, nil), send(0, 5, 14, 3, nil), recv(1, 6, 7, 1, nil),
				trySend(2, 8, 13, 4, sluice.ErrFull), recv(1, 9, 10, 2, nil), length(1, 11, 12, 0), recv(1, 15, 16, 3, nil)},
		}, {
			name:  "a rendezvous without a partner",
			right: []line{send(0, 1, 4, 1, nil), recv(1, 2, 3, 1, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), recv(1, 3, 4, 1, nil)},
		}, {
			name:  "a rendezvous with a length",
			right: []line{send(0, 1, 4, 1, nil), length(2, 2, 3, 0), recv(1, 2, 5, 1, nil)},
			wrong: []line{send(0, 1, 4, 1, nil), length(2, 2, 3, 1), recv(1, 2, 5, 1, nil)},
		}, {
			name:  "two Try operations pair",
			right: []line{trySend(0, 1, 4, 1, nil), recv(1, 2, 3, 1, nil)},
			wrong: []line{trySend(0, 1, 2, 1, nil), tryRecv(1, 3, 4, 1, nil)},
		}, {
			name: "the oldest is dropped", capacity: 1, overflow: sluice.DropOldest, dropped: []byte{1},
			right: []line{send(0, 1, 2, 1, nil), send(0, 3, 4, 2, nil), recv(1, 5, 6, 2, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), send(0, 3, 4, 2, nil), recv(1, 5, 6, 1, nil)},
		}, {
			name: "the newest is dropped", capacity: 1, overflow: sluice.DropNewest, dropped: []byte{2},
			right: []line{send(0, 1, 2, 1, nil), send(0, 3, 4, 2, nil), recv(1, 5, 6, 1, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), send(0, 3, 4, 2, nil), recv(1, 5, 6, 2, nil)},
		}, {
			name: "waiting under Reject", capacity: 1, overflow: sluice.Reject,
			right: []line{send(0, 1, 2, 1, nil), send(0, 3, 4, 2, sluice.ErrFull), recv(1, 5, 6, 1, nil)},
			wrong: []line{send(0, 1, 2, 1, nil), send(0, 3, 4, 2, context.Canceled), recv(1, 5, 6, 1, nil)},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			right := Run{History: history(test.right...), Dropped: test.dropped}
			if err := Explain(right, Model(test.capacity, test.overflow)); err != nil {
				t.Errorf("the correct history: %v\n%s", err, Render(right.History))
			}
			wrong := Run{History: history(test.wrong...), Dropped: test.dropped}
			if err := Explain(wrong, Model(test.capacity, test.overflow)); err != errNotLinearizable {
				t.Errorf("the wrong history: %v, want %v\n%s", err, errNotLinearizable, Render(wrong.History))
			}
		})
	}
}

// TestPlantedDrop: the values that OnUndelivered saw are compared with the missing
// ones.
func TestPlantedDrop(t *testing.T) {
	h := history(send(0, 1, 2, 1, nil), send(0, 3, 4, 2, nil), recv(1, 5, 6, 2, nil))
	for _, dropped := range [][]byte{nil, {1, 1}, {2}} {
		if err := Explain(Run{History: h, Dropped: dropped}, Model(1, sluice.DropOldest)); err == nil {
			t.Errorf("OnUndelivered saw %v of a history that dropped 1: no error", dropped)
		}
	}
}

// forgetful is a channel that sometimes returns ErrEmpty although it holds
// values, like a ring buffer whose emptiness check is not atomic.
type forgetful struct {
	sluice.Channel[byte]
	calls *int
}

func (f forgetful) TryRecv() (byte, error) {
	if *f.calls++; *f.calls%3 == 0 {
		return 0, sluice.ErrEmpty
	}
	return f.Channel.TryRecv()
}

// timid is a channel that after a number of calls defers to waiters: its
// TryRecv returns ErrEmpty while a goroutine waits, however many values are
// queued.
type timid struct {
	sluice.Channel[byte]
	calls   int32
	tries   *atomic.Int32
	waiting *atomic.Int32
}

func (c timid) Recv(ctx context.Context) (byte, error) {
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	return c.Channel.Recv(ctx)
}

func (c timid) TryRecv() (byte, error) {
	if c.tries.Add(1) > c.calls && c.waiting.Load() > 0 {
		return 0, sluice.ErrEmpty
	}
	return c.Channel.TryRecv()
}

// TestRecorderSeesFaults tests the recorder together with the checker.
func TestRecorderSeesFaults(t *testing.T) {
	const losses = 5
	for name, plan := range map[string]Plan{
		"forgetful": {Clients: 3, Calls: 6, OneReceiver: true, Open: func(func(byte)) sluice.Channel[byte] {
			return forgetful{sluice.NewBounded[byte](3, nil), new(int)}
		}},
		"forgetful, filled": {Clients: 1, Calls: 6, Filled: 3, Open: func(func(byte)) sluice.Channel[byte] {
			return forgetful{sluice.NewBounded[byte](3, nil), new(int)}
		}},
		"timid": {Clients: 1, Calls: 6, Starving: Recv, Losses: losses, Open: func(func(byte)) sluice.Channel[byte] {
			return timid{sluice.NewElastic[byte](3, nil), losses, new(atomic.Int32), new(atomic.Int32)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(500) {
				if run := Record(t, plan, seed); Explain(run, Model(3, sluice.Block)) != nil {
					return
				}
			}
			t.Error("all of 500 runs of a faulty channel are explained")
		})
	}
}

// TestBag: a Bag accepts any order, but rejects everything else that a queue
// rejects.
func TestBag(t *testing.T) {
	mixed := history(send(0, 1, 2, 1, nil), send(1, 3, 4, 2, nil), recv(2, 5, 6, 2, nil), recv(2, 7, 8, 1, nil))
	if err := Explain(Run{History: mixed}, Bag(2, sluice.Block)); err != nil {
		t.Errorf("the younger value first: %v", err)
	}
	for name, wrong := range map[string][]line{
		"twice": {send(0, 1, 2, 1, nil), recv(2, 3, 4, 1, nil), recv(2, 5, 6, 1, nil)},
		"lost":  {send(0, 1, 2, 1, nil), send(0, 3, 4, 2, nil), recv(2, 5, 6, 2, nil), tryRecv(2, 7, 8, 0, sluice.ErrEmpty)},
		"full":  {send(0, 1, 2, 1, nil), trySend(1, 3, 4, 3, sluice.ErrFull), recv(2, 5, 6, 1, nil)},
	} {
		if err := Explain(Run{History: history(wrong...)}, Bag(2, sluice.Block)); err != errNotLinearizable {
			t.Errorf("%s: %v, want %v", name, err, errNotLinearizable)
		}
	}
}
