package logstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// program runs a program until it ends or the disk fails. It returns the model after the
// last successful write, and the one after the write that failed.
func program(d *simdisk.Disk, seed uint64, steps int) (done, tried *model) {
	random := rand.New(rand.NewPCG(seed, 1))
	done = newModel()
	s, _, err := Open(d, tiny)
	if err != nil {
		return done, done
	}
	for i := range steps {
		w := done.step(random)
		if tried = done.after(w); w.write(s, done) != nil {
			return done, tried
		}
		if done = tried; i%25 == 24 {
			if s.Close() != nil {
				return done, done
			}
			if s, _, err = Open(d, tiny); err != nil {
				return done, done
			}
		}
	}
	return done, done
}

// survives opens a disk after a crash, and returns an error if what it holds is neither
// one nor the other.
func survives(d *simdisk.Disk, done, tried *model) error {
	s, c, err := Open(d, tiny)
	if err != nil {
		return err
	}
	m := done
	if done.compare(s, c) != nil {
		if m = tried; tried.compare(s, c) != nil {
			return fmt.Errorf("%w; or, with the last write: %w", done.compare(s, c), tried.compare(s, c))
		}
	}
	random := rand.New(rand.NewPCG(9, 9))
	for range 3 { // it can be used
		w := m.step(random)
		if err := w.write(s, m); err != nil {
			return err
		}
		m = m.after(w)
	}
	if err := m.compareRecords(s); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, c, err = Open(d, tiny); err != nil {
		return err
	}
	return errors.Join(m.compare(s, c), s.Close())
}

// TestCrash: after a crash at each operation, whatever becomes of what was not synced, the
// store has all writes that returned, and the one in progress as a whole or not at all.
func TestCrash(t *testing.T) {
	seeds, step := uint64(3), 1
	if !suite.All() {
		seeds, step = 1, 4
	}
	for seed := range seeds {
		whole := simdisk.New()
		program(whole, seed, 60)
		for n := 0; n < whole.Usage().Ops; n += step {
			d := simdisk.New()
			d.StopAt(n)
			done, tried := program(d, seed, 60)
			for _, how := range []simdisk.Crash{simdisk.Killed, simdisk.Lost, simdisk.Torn, simdisk.Torn} {
				random := rand.New(rand.NewPCG(uint64(n), seed))
				if err := survives(d.After(how, random), done, tried); err != nil {
					t.Fatalf("seed %d, operation %d, crash %d: %v", seed, n, how, err)
				}
			}
		}
		t.Logf("%d operations", whole.Usage().Ops)
	}
}

// TestCrashInRecovery: a crash at each operation of Open after a crash loses nothing.
func TestCrashInRecovery(t *testing.T) {
	for seed := range uint64(suite.Rounds(6, 30)) {
		random := rand.New(rand.NewPCG(seed, 2))
		first := simdisk.New()
		first.StopAt(80 + random.IntN(400))
		done, tried := program(first, seed, 60)
		for n := range 60 {
			how := simdisk.Crash(random.IntN(3))
			d := first.After(how, rand.New(rand.NewPCG(seed, 3)))
			d.StopAt(n)
			if s, _, err := Open(d, tiny); err == nil {
				_ = s.Write(s.state.next, nil, nil, 0)
			}
			if err := survives(d.After(simdisk.Crash(random.IntN(3)), random), done, tried); err != nil {
				t.Fatalf("seed %d, crash %d, operation %d: %v", seed, how, n, err)
			}
		}
	}
}

// TestCrashSees: the test would notice a store that does not sync, and one that renames
// before it syncs.
func TestCrashSees(t *testing.T) {
	for _, lie := range []string{"sync", "syncdir"} {
		seen := false
		for n := 10; n < 600 && !seen; n += 3 {
			d := simdisk.New()
			d.Liar = lie
			d.StopAt(n)
			done, tried := program(d, 1, 60)
			seen = survives(d.After(simdisk.Lost, nil), done, tried) != nil
		}
		if !seen {
			t.Errorf("a disk that ignores %s passes", lie)
		}
	}
}
