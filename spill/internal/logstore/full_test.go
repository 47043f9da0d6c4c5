package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// scaled are the default options, divided by 64, as are the disks of the tests.
var scaled = Options{Codec: "test", SegmentSize: 128 << 10, Reserve: 16 << 10, Acks: 2 << 10}

const scaledBlock = 64

// fillDisk writes records of up to n bytes until the disk is full.
func fillDisk(s *Store, m *model, n int, random *rand.Rand) (*model, error) {
	m = m.after(step{}) // a copy
	for {
		w := step{payloads: [][]byte{make([]byte, 1+random.IntN(n))}}
		w.payloads[0][0] = byte(random.Uint32())
		if err := w.write(s, m); err != nil {
			if errors.Is(err, syscall.ENOSPC) && !errors.Is(err, ErrUnknown) {
				err = nil
			}
			return m, err
		}
		m.records[m.next] = w.payloads[0]
		m.next++
	}
}

// drain acknowledges records, up to batch at a time, until left are left.
func drain(s *Store, m *model, left, batch int, random *rand.Rand) (*model, error) {
	m = m.after(step{})
	seqs := slices.Sorted(maps.Keys(m.records))
	random.Shuffle(len(seqs), func(i, j int) { seqs[i], seqs[j] = seqs[j], seqs[i] })
	for len(seqs) > left {
		n := min(1+random.IntN(batch), len(seqs)-left)
		if err := (step{deletes: seqs[:n]}).write(s, m); err != nil {
			return m, fmt.Errorf("with %d records: %w", len(seqs), err)
		}
		for _, seq := range seqs[:n] {
			delete(m.records, seq)
		}
		seqs = seqs[n:]
	}
	return m, nil
}

// TestFullRestart: a store is closed, other programs fill the disk, and take each byte that
// becomes free: all records can be acknowledged.
func TestFullRestart(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 20))
		d, m := simdisk.New(), newModel()
		d.Block = scaledBlock
		s, _, err := Open(d, scaled)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, m, 30, 100)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		d.Limit = d.Usage().Size
		s, c, err := Open(d, scaled)
		if err != nil || m.compare(s, c) != nil || s.Warning() != "" {
			t.Fatalf("%v, warning %q", errors.Join(err, m.compare(s, c)), s.Warning())
		}
		for len(m.records) > 0 {
			if m, err = drain(s, m, len(m.records)-1, 1, random); err != nil {
				t.Fatal(seed, err)
			}
			d.Limit = d.Usage().Size
			if random.IntN(20) == 0 {
				d, s = reopened(t, d, s, m, random)
			}
		}
		if err := m.compare(s, s.state.contents()); err != nil {
			t.Fatal(err)
		}
	}
}

// reopened opens a store again, after Close or a crash, on a disk as full as before.
func reopened(t *testing.T, d *simdisk.Disk, s *Store, m *model, random *rand.Rand) (*simdisk.Disk, *Store) {
	t.Helper()
	if how := simdisk.Crash(random.IntN(4)); how > simdisk.Torn {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	} else {
		limit := d.Limit
		d = d.After(how, random)
		d.Limit, d.Block = limit, scaledBlock
	}
	s, c, err := Open(d, scaled)
	if err == nil {
		err = m.compare(s, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

// TestWithoutSpares: a folder whose spare files were removed opens on a full disk. A small acknowledgment area suffices; without room even for that,
// Warning says so, and acknowledgments succeed as soon as there is room.
func TestWithoutSpares(t *testing.T) {
	o := Options{Codec: "test"}
	for _, free := range []int64{0, minAcksSize, 3 * minAcksSize} {
		random := rand.New(rand.NewPCG(uint64(free), 21))
		d, m := simdisk.New(), newModel()
		d.Block = 4096
		s, _, err := Open(d, o)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, m, 30, 4000)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.Remove(acksFile), d.Remove(reserveFile)); err != nil {
			t.Fatal(err)
		}
		d.Limit = d.Usage().Size + free
		if s, _, err = Open(d, o); err != nil {
			t.Fatal(err)
		}
		if free == 0 {
			if !strings.Contains(s.Warning(), acksFile) {
				t.Errorf("warning %q", s.Warning())
			}
			for ; len(m.records) > 0 && err == nil; m, err = drain(s, m, len(m.records)-1, 1, random) {
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("the test wants a disk without room: %v", err)
			}
			d.Limit += minAcksSize
		}
		if m, err = drain(s, m, 0, 1, random); err != nil {
			t.Fatal(free, err)
		}
		if s.area == nil || !strings.Contains(s.Warning(), reserveFile) {
			t.Errorf("warning %q", s.Warning())
		}
		d.Limit += 2 * d.Block                            // for the next segment
		w := step{payloads: [][]byte{make([]byte, 1000)}} // takes the space of the drained records
		if err := w.write(s, m); err != nil || s.Warning() != "" {
			t.Fatalf("%v, warning %q", err, s.Warning())
		}
		m = m.after(w)
		if err := errors.Join(m.compare(s, s.state.contents()), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestSmallDisk: on each disk from 2 MiB on, sends succeed again when few records are
// left, whichever they are, and however often it was full.
func TestSmallDisk(t *testing.T) {
	for size := int64(2); size <= 40; size += int64(suite.Rounds(8, 1)) + size/4 {
		random := rand.New(rand.NewPCG(uint64(size), 22))
		d, m := simdisk.New(), newModel()
		d.Block, d.Limit = scaledBlock, size<<20/64
		s, _, err := Open(d, scaled)
		if err != nil {
			t.Fatal(err)
		}
		for round := range suite.Rounds(3, 6) {
			before := m.next
			if m, err = fillDisk(s, m, 10+random.IntN(1000), random); err != nil {
				t.Fatal(size, round, err)
			}
			var live int64
			for _, payload := range m.records {
				live += int64(len(payload)) + frameHeaderSize
			}
			// The reserve, the area, and a half of what is left at worst.
			if want := d.Limit/4 - 8<<10; m.next == before || live < want/2 {
				t.Fatalf("disk of %d MiB, round %d: full with %d records, %d bytes", size, round, len(m.records), live)
			}
			left := len(m.records) / 14 * random.IntN(2)
			if m, err = drain(s, m, left, 1+random.IntN(20), random); err == nil {
				err = m.compare(s, s.state.contents())
			}
			if err != nil {
				t.Fatal(size, round, err)
			}
			if random.IntN(2) == 0 {
				d, s = reopened(t, d, s, m, random)
			}
		}
	}
}

// TestSmallArea: without room for a state in the acknowledgment area, a write on a full disk
// reports the full disk, at whichever step it was full.
func TestSmallArea(t *testing.T) {
	o := tiny
	o.Acks = 8
	for limit := int64(4000); limit < 5200; limit += 7 {
		d := simdisk.New()
		d.Limit = limit
		s, _, err := Open(d, o)
		if err == nil {
			_, err = fillDisk(s, newModel(), 100, rand.New(rand.NewPCG(uint64(limit), 24)))
		}
		if err != nil {
			t.Fatal(limit, err)
		}
	}
}

// fullProgram fills a small disk and drains it, again and again, until the disk fails. It
// returns the model after the last successful write, and the one after the write that failed.
func fullProgram(d *simdisk.Disk, seed uint64) (done, tried *model) {
	random := rand.New(rand.NewPCG(seed, 23))
	done = newModel()
	s, _, err := Open(d, tiny)
	for range 3 {
		for filling := 0; filling < 5 && err == nil; {
			w := step{payloads: [][]byte{bytes.Repeat([]byte{byte(random.Uint32())}, 200+random.IntN(500))}}
			tried = done.after(w)
			switch err = w.write(s, done); {
			case err == nil:
				done = tried
			case errors.Is(err, simdisk.ErrOff):
			case errors.Is(err, syscall.ENOSPC):
				filling, err = filling+1, nil
			}
		}
		for len(done.records) > 2 && err == nil {
			w := step{}
			for seq := range done.records {
				if len(w.deletes) < 5 {
					w.deletes = append(w.deletes, seq)
				}
			}
			if tried = done.after(w); w.write(s, done) != nil {
				return done, tried
			}
			done = tried
		}
		if err != nil {
			return done, tried
		}
		if s.Close() != nil {
			return done, done
		}
		if s, _, err = Open(d, tiny); err != nil {
			return done, done
		}
	}
	return done, done
}

// TestCrashWhenFull: as TestCrash, on a disk that is full again and again. The disk is as
// full after the crash.
func TestCrashWhenFull(t *testing.T) {
	limits := []int64{9_000, 11_000, 14_000}
	every := 3
	if !suite.All() {
		limits, every = limits[:2], 11
	}
	for _, limit := range limits {
		whole := simdisk.New()
		whole.Limit = limit
		fullProgram(whole, uint64(limit))
		for n := 0; n < whole.Usage().Ops; n += every {
			d := simdisk.New()
			d.Limit = limit
			d.StopAt(n)
			done, tried := fullProgram(d, uint64(limit))
			for _, how := range []simdisk.Crash{simdisk.Killed, simdisk.Lost, simdisk.Torn, simdisk.Torn} {
				random := rand.New(rand.NewPCG(uint64(n), uint64(limit)))
				after := d.After(how, random)
				after.Limit = max(limit, after.Usage().Size)
				if err := survivesFull(after, done, tried); err != nil {
					t.Fatalf("limit %d, operation %d, crash %d: %v", limit, n, how, err)
				}
			}
		}
		t.Logf("limit %d: %d operations", limit, whole.Usage().Ops)
	}
}

// survivesFull is survives for a full disk: all records can be acknowledged, and then sends
// succeed.
func survivesFull(d *simdisk.Disk, done, tried *model) error {
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
	if m, err = drain(s, m, 0, 3, random); err != nil {
		return err
	}
	w := step{payloads: [][]byte{make([]byte, 700)}}
	if err := w.write(s, m); err != nil {
		return err
	}
	m = m.after(w)
	if err := errors.Join(m.compare(s, s.state.contents()), s.Close()); err != nil {
		return err
	}
	if s, c, err = Open(d, tiny); err != nil {
		return err
	}
	return errors.Join(m.compare(s, c), s.Close())
}
