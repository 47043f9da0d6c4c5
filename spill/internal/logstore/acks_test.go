package logstore

import (
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// slotProgram acknowledges the records of a full disk one by one, until the disk fails. It
// returns the model after the last successful write, and the one after the write that failed.
func slotProgram(d *simdisk.Disk) (done, tried *model) {
	done = newModel()
	s, _, err := Open(d, tiny)
	if err != nil {
		return done, done
	}
	w := step{payloads: make([][]byte, 8)}
	if tried = done.after(w); w.write(s, done) != nil {
		return done, tried
	}
	done, d.Limit = tried, d.Usage().Size
	for seq := range done.next - 1 {
		w := step{deletes: []uint64{seq + 1}}
		if tried = done.after(w); w.write(s, done) != nil {
			break
		}
		done = tried
	}
	return done, tried
}

// TestCrashInSlot: a crash while acknowledgments are stored in slots, one after the other, keeps
// those that returned.
func TestCrashInSlot(t *testing.T) {
	whole := simdisk.New()
	slotProgram(whole)
	for n := range whole.Usage().Ops {
		d := simdisk.New()
		d.StopAt(n)
		done, tried := slotProgram(d)
		for seed := range uint64(12) {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			after := d.After([]simdisk.Crash{simdisk.Killed, simdisk.Lost, simdisk.Torn}[min(seed, 2)], random)
			if done.next > 1 { // or else the store may not exist yet
				after.Limit = after.Usage().Size
			}
			s, c, err := Open(after, tiny)
			if err == nil && done.compare(s, c) != nil {
				err = tried.compare(s, c)
			}
			if err != nil {
				t.Fatalf("operation %d, crash %d: %v", n, seed, err)
			}
		}
	}
}

// TestForgottenSlot: as TestForgottenPages, with acknowledgments in a slot.
func TestForgottenSlot(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, tiny)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, m, 1, 50)
	d.Limit = d.Usage().Size
	w := step{deletes: []uint64{1}}
	if err := w.write(s, m); err != nil {
		t.Fatal(err)
	}
	syncFails(t, d, s, m.after(w), acksFile, step{deletes: []uint64{2}})
}
