package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-go/sluice"
)

// A histLine is one call of a handwritten history. Calls follow each other, except that one
// with until begins where it stands and ends after that many later ones.
type histLine struct {
	call   histCall
	result histResult
	until  int
}

func histOf(lines ...histLine) (history []porcupine.Operation) {
	for i, l := range lines {
		history = append(history, porcupine.Operation{
			Input: l.call, Call: int64(2 * i), Output: l.result, Return: int64(2*(i+l.until) + 1),
		})
	}
	return history
}

// The calls of handwritten histories: sender 0 sends 0, 1 and 2, sender 1 sends 16 and 17.
func histSends(values string, err error) histLine {
	return histLine{call: histCall{op: histSend, values: values}, result: histResult{err: err}}
}

func histTries(v string, err error) histLine {
	return histLine{call: histCall{op: histTrySend, values: v}, result: histResult{err: err}}
}

func histGets(receiver int, values string, err error) histLine {
	return histLine{call: histCall{op: histRecv, receiver: receiver}, result: histResult{values: values, err: err}}
}

// histDelivers is a delivery, and its Attempt.
func histDelivers(receiver int, v string, attempt byte) histLine {
	return histLine{
		call:   histCall{op: histDeliver, receiver: receiver},
		result: histResult{values: v, attempts: string([]byte{attempt})},
	}
}

func histSettles(op histOp, v string, err error) histLine {
	return histLine{call: histCall{op: op, values: v}, result: histResult{err: err}}
}

func histCounts(n int) histLine {
	return histLine{call: histCall{op: histLen}, result: histResult{n: n}}
}

func histDeads(v string, err error) histLine {
	return histLine{call: histCall{op: histDead}, result: histResult{values: v, err: err}}
}

// histCloses is a Close and the moment at which the servers know of it.
func histCloses() []histLine {
	return []histLine{{call: histCall{op: histClose}}, {call: histCall{op: histSeal}}}
}

func (l histLine) overlaps(later int) histLine { l.until = later; return l }

func (l histLine) on(handle int) histLine { l.call.handle = handle; return l }

func (l histLine) isCanceled() histLine { l.call.canceled = true; return l }

// TestHistoriesPlanted: the model rejects each history that a channel must not have, and
// accepts one beside it that it may have.
func TestHistoriesPlanted(t *testing.T) {
	a, b, c, x := "\x00", "\x01", "\x02", "\x10"
	closed, empty, full := sluice.ErrClosed, sluice.ErrEmpty, sluice.ErrFull
	unknown := error(&UnknownError{Cause: errors.New("no answer")})
	end := func(lines ...histLine) []histLine { // a Close, and receivers that get ErrClosed
		return append(append(lines, histCloses()...), histGets(0, "", closed))
	}
	ordered := histModel{limit: 8, ordered: true}
	jobs := histModel{limit: 8, maxDeliver: 2}
	for _, test := range []struct {
		name         string
		model        histModel // a limit of 8 if it is zero
		right, wrong []histLine
	}{
		{
			name:  "a value is lost",
			right: end(histSends(a, nil), histGets(1, a, nil)),
			wrong: end(histSends(a, nil)),
		}, {
			name:  "a value is lost beside a Close",
			right: append(append([]histLine{histSends(a, closed).overlaps(3)}, histCloses()...), histGets(0, "", closed)),
			wrong: append(append([]histLine{histSends(a, nil).overlaps(3)}, histCloses()...), histGets(0, "", closed)),
		}, {
			name:  "a value comes twice",
			right: end(histSends(a, nil), histGets(1, a, nil)),
			wrong: end(histSends(a, nil), histGets(1, a, nil), histGets(2, a, nil)),
		}, {
			name:  "an invented value",
			right: end(histSends(a, nil), histGets(1, a, nil)),
			wrong: end(histSends(a, nil), histGets(1, b, nil), histGets(1, a, nil)),
		}, {
			name:  "the younger value of a sender first",
			right: end(histSends(a, nil), histSends(b, nil), histGets(1, b, nil), histGets(2, a, nil)), // several receivers
			wrong: end(histSends(a, nil), histSends(b, nil), histGets(1, b, nil), histGets(1, a, nil)),
		}, {
			name:  "a batch in another order",
			right: end(histSends(a+b, nil), histGets(1, a+b, nil)),
			wrong: end(histSends(a+b, nil), histGets(1, b+a, nil)),
		}, {
			name: "two senders, ordered", model: ordered,
			right: end(histSends(a, nil).overlaps(1), histSends(x, nil), histGets(1, x, nil), histGets(2, a, nil)),
			wrong: end(histSends(a, nil), histSends(x, nil), histGets(1, x, nil), histGets(2, a, nil)),
		}, {
			name: "a value within a batch", model: ordered,
			right: end(histSends(a+b, nil).overlaps(1), histSends(x, nil), histGets(1, x, nil), histGets(1, a, nil), histGets(1, b, nil)),
			wrong: end(histSends(a+b, nil).overlaps(1), histSends(x, nil), histGets(1, a, nil), histGets(1, x, nil), histGets(1, b, nil)),
		}, {
			name: "the next one before the acknowledgment, ordered", model: histModel{limit: 8, ordered: true},
			right: end(histSends(a+b, nil), histDelivers(1, a, 1), histSettles(histAck, a, nil), histDelivers(2, b, 1), histSettles(histAck, b, nil)),
			wrong: end(histSends(a+b, nil), histDelivers(1, a, 1), histDelivers(2, b, 1), histSettles(histAck, a, nil), histSettles(histAck, b, nil)),
		}, {
			name:  "part of a batch",
			right: end(histLine{call: histCall{op: histSend, values: a + b}, result: histResult{err: closed}}.overlaps(3)),
			wrong: end(histLine{call: histCall{op: histSend, values: a + b}, result: histResult{err: closed, n: 1}}.overlaps(3), histGets(1, a, nil).overlaps(2)),
		}, {
			name:  "ErrClosed before Close",
			right: append([]histLine{histGets(1, "", closed).overlaps(2)}, histCloses()...),
			wrong: append([]histLine{histGets(1, "", closed)}, histCloses()...),
		}, {
			name:  "ErrClosed before the value in flight is acknowledged",
			right: append(append([]histLine{histSends(a, nil), histDelivers(1, a, 1)}, histCloses()...), histSettles(histAck, a, nil).overlaps(1), histGets(2, "", closed)),
			wrong: append(append([]histLine{histSends(a, nil), histDelivers(1, a, 1)}, histCloses()...), histGets(2, "", closed), histSettles(histAck, a, nil)),
		}, {
			name:  "a value after ErrClosed",
			right: end(histSends(a, unknown)),
			wrong: append(end(histSends(a, unknown)), histGets(1, a, nil)),
		}, {
			name:  "a send after Close",
			right: append(histCloses(), histSends(a, closed), histGets(1, "", closed)),
			wrong: append(histCloses(), histSends(a, nil), histGets(1, a, nil), histGets(1, "", closed)),
		}, {
			name: "closed for its own process first",
			right: []histLine{{call: histCall{op: histClose}, until: 4}, histSends(a, closed), histSends(x, nil).on(1), histGets(1, x, nil),
				{call: histCall{op: histSeal}}},
			wrong: []histLine{{call: histCall{op: histClose}, until: 4}, histSends(a, closed).on(1), histSends(x, nil).on(1), histGets(1, x, nil),
				{call: histCall{op: histSeal}}},
		}, {
			name: "more than the limit", model: histModel{limit: 1},
			right: end(histSends(a, nil), histGets(1, a, nil).overlaps(1), histSends(b, nil), histGets(1, b, nil)),
			wrong: end(histSends(a, nil), histSends(b, nil), histGets(1, a, nil), histGets(1, b, nil)),
		}, {
			name: "full, and never was", model: histModel{limit: 2},
			right: end(histSends(a, nil), histSends(b, nil), histGets(1, a, nil), histTries(c, full), histGets(1, b, nil)),
			wrong: end(histSends(a, nil), histTries(c, full), histGets(1, a, nil)),
		}, {
			name: "full, though the servers have confirmed the removal", model: histModel{limit: 1},
			right: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histAck, a, nil), histTries(b, full)),
			wrong: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histAckSync, a, nil), histTries(b, full)),
		}, {
			name: "full after Close", model: histModel{limit: 1},
			right: append(append([]histLine{histSends(a, nil)}, histCloses()...), histTries(b, closed)),
			wrong: append(append([]histLine{histSends(a, nil)}, histCloses()...), histTries(b, full)),
		}, {
			name: "Send does not wait for room", model: histModel{limit: 1},
			right: []histLine{histSends(a, nil), histTries(b, full)},
			wrong: []histLine{histSends(a, nil), histSends(b, full)},
		}, {
			name:  "canceled, and stored",
			right: end(histSends(a, context.Canceled).isCanceled()),
			wrong: end(histSends(a, context.Canceled).isCanceled(), histGets(1, a, nil)),
		}, {
			name:  "canceled by nobody",
			right: end(histGets(1, "", context.Canceled).isCanceled()),
			wrong: end(histGets(1, "", context.Canceled)),
		}, {
			name:  "a receive that waits and does not",
			right: end(histLine{call: histCall{op: histTryRecv}, result: histResult{err: empty}}),
			wrong: end(histGets(1, "", empty)),
		}, {
			name:  "unknown, stored or not",
			right: end(histSends(a, unknown), histSends(b, unknown), histGets(1, b, nil)),
			wrong: end(histSends(a, unknown), histGets(1, a, nil), histGets(1, a, nil)),
		}, {
			name: "Len", model: histModel{limit: 2},
			right: []histLine{histSends(a, nil), histGets(1, a, nil), histCounts(1), histSends(b, nil).overlaps(1), histCounts(2)}, // as it was
			wrong: []histLine{histSends(a, nil), histCounts(2), histSends(b, nil)},
		}, {
			name: "Len above the limit", model: histModel{limit: 1},
			right: []histLine{histSends(a, nil), histGets(1, a, nil), histSends(b, nil), histCounts(1)},
			wrong: []histLine{histSends(a, nil), histGets(1, a, nil), histSends(b, nil), histCounts(2)},
		}, {
			name: "in flight twice", model: jobs,
			right: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil), histDelivers(2, a, 2), histSettles(histAck, a, nil)),
			wrong: end(histSends(a, nil), histDelivers(1, a, 1), histDelivers(2, a, 2), histSettles(histAck, a, nil)),
		}, {
			name: "acknowledged, and back", model: jobs,
			right: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histAckSync, a, context.Canceled).isCanceled(), histDelivers(1, a, 2), histSettles(histAck, a, nil)),
			wrong: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histAck, a, nil), histDelivers(1, a, 2), histSettles(histAck, a, nil)),
		}, {
			name: "not acknowledged, and gone", model: jobs,
			right: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil), histDelivers(1, a, 2), histSettles(histAck, a, nil)),
			wrong: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil)),
		}, {
			name: "the same Attempt", model: jobs,
			right: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil), histDelivers(1, a, 3), histSettles(histAck, a, nil)), // returned unseen
			wrong: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil), histDelivers(1, a, 1), histSettles(histAck, a, nil)),
		}, {
			name: "a dead letter", model: jobs,
			right: append(end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil), histDelivers(1, a, 2), histSettles(histNack, a, nil)), histDeads(a, nil), histDeads("", closed)),
			wrong: append(end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil)), histDeads(a, nil), histDeads("", closed)),
		}, {
			name: "a dead letter is lost", model: jobs,
			right: append(end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histAck, a, nil)), histDeads("", closed)),
			wrong: append(end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil), histDelivers(1, a, 2), histSettles(histNack, a, nil)), histDeads("", closed)),
		}, {
			name: "an attempt too many", model: jobs,
			right: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil), histDelivers(1, a, 2), histSettles(histNack, a, nil)),
			wrong: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histNack, a, nil), histDelivers(1, a, 2), histSettles(histNack, a, nil), histDelivers(1, a, 3), histSettles(histAck, a, nil)),
		}, {
			name: "an Ack of a value in flight fails", model: jobs,
			right: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histAck, a, nil)),
			wrong: end(histSends(a, nil), histDelivers(1, a, 1), histSettles(histAck, a, ErrExpired)),
		}, {
			name: "the order of a key", model: histModel{limit: 8, ordered: true, keys: 2}, // 0 and 2 have a key, and 1
			right: end(histSends(a, nil), histSends(b, nil), histSends(c, nil), histGets(1, b, nil), histGets(2, a, nil), histGets(1, c, nil)),
			wrong: end(histSends(a, nil), histSends(b, nil), histSends(c, nil), histGets(1, b, nil), histGets(2, c, nil), histGets(1, a, nil)),
		}, {
			name: "one key is drained, another is not", model: histModel{limit: 8, keys: 2},
			right: end(histSends(a+b, nil), histGets(1, a, nil), histGets(1, b, nil)),
			wrong: end(histSends(a+b, nil), histGets(1, a, nil)),
		},
	} {
		if test.model == (histModel{}) {
			test.model.limit = 8
		}
		if err := test.model.explain(histOf(test.right...)); err != nil {
			t.Errorf("%s: the right history: %v", test.name, err)
		}
		if err := test.model.explain(histOf(test.wrong...)); err == nil {
			t.Errorf("%s: the wrong history is accepted", test.name)
		}
	}
}

// A histFault is a channel with one fault.
type histFault struct {
	sluice.Channel[int]
	kind string

	mu    sync.Mutex
	kept  []int // values that it has received, and not returned
	calls int
	shut  atomic.Bool
}

var histFaults = []string{
	"none", "loses", "repeats", "reorders", "invents", "ErrClosed too early", "accepts after Close", "stores what was canceled",
	"cancels without cause", "ErrFull with room", "takes more than the limit", "counts too much", "loses the end of a batch",
}

// third reports true for each third call, if f has that fault.
func (f *histFault) third(kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kind != kind {
		return false
	}
	f.calls++
	return f.calls%3 == 0
}

func (f *histFault) Send(ctx context.Context, v int) error {
	if f.third("cancels without cause") {
		return context.Canceled
	}
	err := f.Channel.Send(ctx, v)
	switch {
	case f.kind == "accepts after Close" && errors.Is(err, sluice.ErrClosed):
		return nil
	case f.kind == "stores what was canceled" && err == nil && ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

func (f *histFault) TrySend(v int) error {
	if f.third("ErrFull with room") {
		return sluice.ErrFull
	}
	err := f.Channel.TrySend(v)
	if f.kind == "takes more than the limit" && errors.Is(err, sluice.ErrFull) {
		f.keep(v)
		return nil
	}
	return err
}

func (f *histFault) SendBatch(ctx context.Context, vs []int) (int, error) {
	if f.kind == "loses the end of a batch" {
		n, err := f.Channel.SendBatch(ctx, vs[:len(vs)-1])
		if err == nil {
			n = len(vs)
		}
		return n, err
	}
	return f.Channel.SendBatch(ctx, vs)
}

func (f *histFault) keep(v int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = append(f.kept, v)
}

// unkeep returns a value that was kept.
func (f *histFault) unkeep() (v int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.kept) == 0 {
		return 0, false
	}
	v, f.kept = f.kept[0], f.kept[1:]
	return v, true
}

func (f *histFault) Recv(ctx context.Context) (int, error) {
	if v, ok := f.unkeep(); ok {
		return v, nil
	}
	if f.kind == "ErrClosed too early" && f.shut.Load() {
		return 0, sluice.ErrClosed
	}
	v, err := f.Channel.Recv(ctx)
	if err != nil {
		return v, err
	}
	switch {
	case f.third("loses"):
		return f.Channel.Recv(ctx)
	case f.third("repeats"):
		f.keep(v)
	case f.third("reorders"):
		if next, err := f.Channel.TryRecv(); err == nil {
			f.keep(v)
			return next, nil
		}
	case f.third("invents"):
		f.keep(histValue(histSenders-1, histPerSender-1))
	}
	return v, nil
}

func (f *histFault) Len() int {
	if f.kind == "counts too much" {
		return f.Channel.Len() + 3
	}
	return f.Channel.Len()
}

func (f *histFault) Close() {
	f.shut.Store(true)
	f.Channel.Close()
}

// TestHistoriesFaults: the recorder and the model together see each fault of a channel, here
// of one in memory, and none of a channel without one.
func TestHistoriesFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range histFaults {
		t.Run(strings.ReplaceAll(kind, " ", "_"), func(t *testing.T) {
			t.Parallel()
			most := uint64(400)
			if kind == "none" {
				most = 50
			}
			for seed := range most {
				f := &histFault{Channel: sluice.NewBounded[int](3, nil), kind: kind}
				err := histModel{limit: 3}.explain(recordHistory(t, histPlan{clients: 3, calls: 6}, seed, histHandle{c: f}))
				if kind == "none" && err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if kind != "none" && err != nil {
					t.Logf("found by history %d", seed+1)
					return
				}
			}
			if kind != "none" {
				t.Errorf("%d histories of a faulty channel are explained", most)
			}
		})
	}
}

// TestHistoriesFaultsStored is the same with the embedded server, for the faults that lose,
// repeat and reorder.
func TestHistoriesFaultsStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, Options[int]{Dir: dir, Name: "anchor", Log: mute()}) // keeps the server
	for _, kind := range []string{"loses", "repeats", "reorders"} {
		for seed := uint64(0); ; seed++ {
			if seed == 200 {
				t.Errorf("%s: 200 histories are explained", kind)
				break
			}
			c, err := Open(t.Context(), &Options[int]{Dir: dir, Name: fmt.Sprint(kind, "-", seed), Log: mute()})
			if err != nil {
				t.Fatal(err)
			}
			f := &histFault{Channel: c, kind: kind}
			plan := histPlan{clients: 2 + rand.IntN(2), calls: 6, whole: true}
			err = histModel{limit: sluice.Unlimited}.explain(recordHistory(t, plan, seed, histHandle{c: f}))
			leave(t, c)
			if err != nil {
				t.Logf("%s: found by history %d", kind, seed+1)
				break
			}
		}
	}
}
