package locked

import (
	"math"
	"math/rand/v2"
	"testing"
)

// mostPassed plays rounds in which levels get something to serve at random, and returns how
// often a level was passed over in a row at most, and how many levels were served at least from
// one time that a level was served out of turn, that is before a more urgent one, to the next.
func mostPassed(t *turns, levels, rounds int, rng *rand.Rand) (most, apart uint64) {
	set, passed, outOfTurn, since := uint64(0), make([]uint64, levels), make([]uint64, levels), make([]uint64, levels)
	apart = math.MaxUint64
	for range rounds {
		for i := range levels {
			if set>>i&1 == 0 && rng.IntN(3) == 0 {
				set |= 1 << i
				t.begin(&since[i])
			}
		}
		if set == 0 {
			continue
		}
		i := t.next(set, func(i int) uint64 { return since[i] })
		t.served(&since[i])
		if set&(1<<i-1) != 0 {
			if outOfTurn[i] > 0 {
				apart = min(apart, t.count-outOfTurn[i])
			}
			outOfTurn[i] = t.count
		}
		for k := range levels {
			if passed[k]++; k == i || set>>k&1 == 0 {
				passed[k] = 0
			}
			most = max(most, passed[k])
		}
		if rng.IntN(8) == 0 {
			set &^= 1 << i
		}
	}
	return most, apart
}

// TestTurnsBound: no level is passed over more often than the bound.
func TestTurnsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for levels := 1; levels <= 8; levels++ {
		for _, maxPassed := range []uint64{1, 2, 3, 8, 20} {
			turns := turns{maxPassed: maxPassed}
			most, apart := mostPassed(&turns, levels, 100_000, rng)
			if apart < maxPassed+1 {
				t.Errorf("%d levels, maxPassed %d: served out of turn after %d receives, want %d at least", levels, maxPassed, apart, maxPassed+1)
			}
			if bound := maxPassed + uint64(levels) - 1; most > bound {
				t.Errorf("%d levels, maxPassed %d: a level was passed over %d times, more than %d", levels, maxPassed, most, bound)
			}
		}
	}
	// Without turns the bound is exceeded: the test would notice.
	turns := turns{maxPassed: Never}
	if most, _ := mostPassed(&turns, 4, 100_000, rng); most < 100 {
		t.Errorf("without turns a level was passed over %d times only", most)
	}
}

// TestTurnsReached: with a flood on all levels, and maxPassed at least their number, the last
// level is passed over maxPassed + levels - 2 times, which is one less than the bound.
func TestTurnsReached(t *testing.T) {
	for levels := 2; levels <= 8; levels++ {
		for _, maxPassed := range []uint64{8, 20} {
			turns := turns{maxPassed: maxPassed}
			since := make([]uint64, levels) // all begin at once
			want := maxPassed + uint64(levels) - 2
			for n := uint64(0); ; n++ {
				i := turns.next(1<<levels-1, func(i int) uint64 { return since[i] })
				if turns.served(&since[i]); i < levels-1 {
					continue
				}
				if n != want {
					t.Errorf("%d levels, maxPassed %d: the last level was passed over %d times, want %d", levels, maxPassed, n, want)
				}
				break
			}
		}
	}
}

// TestNever: a level is not due however often it was passed over.
func TestNever(t *testing.T) {
	turns := turns{maxPassed: Never}
	var since [2]uint64
	turns.begin(&since[1])
	for range 10_000 {
		turns.begin(&since[0])
		if i := turns.next(3, func(i int) uint64 { return since[i] }); i != 0 {
			t.Fatalf("level %d was served", i)
		}
		turns.served(&since[0])
	}
}
