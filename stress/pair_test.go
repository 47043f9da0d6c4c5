package stress

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/sluice-go/sluice"
)

// TestSelectDefaultLinearizable: a Select with Default over two channels takes effect at one
// moment, at which the chosen case can proceed, or none.
func TestSelectDefaultLinearizable(t *testing.T) {
	capacityOne := []subject{
		{"Bounded 1", 1, false, options{}},
		{"Elastic 1", 1, true, options{}},
		{"Sharded 1x1", 1, false, options{Lanes: 1}},
	}
	pairs := [][2]subject{}
	for i, a := range capacityOne {
		for _, b := range capacityOne[i:] {
			pairs = append(pairs, [2]subject{a, b})
		}
	}
	many := subject{"Bounded 16", 16, false, options{}}
	few := subject{"Elastic 16", 16, true, options{Shrink: sluice.ShrinkEmpty}}
	for _, p := range append(pairs, [2]subject{many, many}, [2]subject{many, few}) {
		t.Run(fmt.Sprint(p[0].name, ", ", p[1].name), func(t *testing.T) {
			model := PairModel(p[0].capacity)
			for range rounds(5000) {
				seed := rand.Uint64()
				history := RecordPair(p[0].open(nil), p[1].open(nil), 2+rand.IntN(3), 2+rand.IntN(5), seed)
				if !porcupine.CheckOperations(model, history) {
					t.Fatalf("seed %d: %v\n%s", seed, errNotLinearizable, RenderPair(history))
				}
			}
		})
	}
}

// TestPlantedPair: the checker rejects a Default that was chosen although one of the two
// channels had a value, or room, at every moment.
func TestPlantedPair(t *testing.T) {
	call := func(client int, begin, end int64, c PairCall, r PairResult) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: c, Call: begin, Output: r, Return: end}
	}
	choice := PairResult{Channel: byDefault}
	for _, op := range []PairOp{SelectRecv, SelectSend} {
		// The token, a value or a free slot, is in channel 0, then in both, then in channel 1.
		put, take := PairSend, PairRecv
		history := []porcupine.Operation{call(0, 1, 2, PairCall{Op: put, Value: 1}, PairResult{})}
		if op == SelectSend {
			put, take = PairRecv, PairSend
			history = []porcupine.Operation{call(0, 1, 2, PairCall{Op: take, Channel: 1, Value: 1}, PairResult{})}
		}
		last := PairResult{}
		if take == PairRecv {
			last.Value = 1
		}
		second := call(0, 4, 5, PairCall{Op: put, Channel: 1, Value: 2}, PairResult{Value: 1})
		first := call(0, 6, 7, PairCall{Op: take, Value: 3}, last)
		wrong := append(history[:1:1], second, first, call(1, 3, 8, PairCall{Op: op}, choice))
		right := append(history[:1:1],
			call(0, 4, 5, PairCall{Op: take, Value: 3}, last), call(0, 6, 7, PairCall{Op: put, Channel: 1, Value: 2}, PairResult{Value: 1}),
			call(1, 3, 8, PairCall{Op: op}, choice))
		if porcupine.CheckOperations(PairModel(1), wrong) {
			t.Errorf("accepted although a channel was ready throughout:\n%s", RenderPair(wrong))
		}
		if !porcupine.CheckOperations(PairModel(1), right) {
			t.Errorf("rejected although neither was ready for a moment:\n%s", RenderPair(right))
		}
	}
}
