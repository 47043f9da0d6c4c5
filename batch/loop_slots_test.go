package batch

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/source"
)

// A loop with a limit in bytes keeps no value alive that it has yielded or dropped.
func TestReceiveMaxBytesRetention(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 15))
		values := make([]*int, random.IntN(300))
		for i := range values {
			v := random.IntN(1 + random.IntN(12))
			values[i] = &v
		}
		l := newLoop(Receive(t.Context(), source.Slice(values), 1+random.IntN(30), &Options[*int]{MaxBytes: 9, Linger: []time.Duration{0, time.Hour}[seed%2], TooLarge: TooLarge(seed % 3 &^ 1), Size: func(v *int) int { return *v }}))
		for over := false; !over; {
			batch, err := l.next()
			over = err != nil
			clear(l.take(batch)) // as the loop does after the body
			for i, slot := range l.buf {
				if (slot != nil) != (l.lo <= i && i < l.hi) {
					t.Fatalf("seed %d: slot %d of %d is %v, values in %d to %d", seed, i, len(l.buf), slot, l.lo, l.hi)
				}
			}
		}
		if l.release != nil {
			l.release()
		}
	}
}
