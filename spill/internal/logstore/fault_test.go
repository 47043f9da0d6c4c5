package logstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// TestRandomFaults: operations fail at random. A write that failed made no change, unless
// its error is ErrUnknown; then the store is read-only, and is correct when it is opened
// again.
func TestRandomFaults(t *testing.T) {
	faults := []error{syscall.EIO, syscall.ENOSPC, syscall.EFBIG}
	failed, unknown := 0, 0
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 4))
		d, m := simdisk.New(), newModel()
		for round := range 4 {
			d.Fail = nil
			s, c, err := Open(d, tiny)
			if err == nil {
				err = m.compare(s, c)
			}
			if err != nil {
				t.Fatal(seed, round, err)
			}
			for range 40 {
				d.Fail = func(op, name string) error {
					if op != "check" && op != "read" && op != "open" && random.IntN(25) == 0 {
						return faults[random.IntN(len(faults))]
					}
					return nil
				}
				w := m.step(random)
				err := w.write(s, m)
				d.Fail = nil
				if err == nil {
					m = m.after(w)
				} else if failed++; errors.Is(err, ErrUnknown) {
					unknown++
					if m, err = outcome(d, s, m, w, random); err != nil {
						t.Fatal(seed, round, err)
					}
					break
				}
				if err := m.compare(s, s.state.contents()); err != nil {
					t.Fatal(seed, round, err)
				}
			}
			_ = s.Close()
		}
	}
	t.Logf("%d writes failed, of %d the outcome was unknown", failed, unknown)
	if failed-unknown < 100 || unknown < 100 {
		t.Error("too few failures")
	}
}

// outcome checks a store whose last write has an unknown outcome, and returns the model
// with or without it.
func outcome(d *simdisk.Disk, s *Store, m *model, w step, random *rand.Rand) (*model, error) {
	if err := m.compareRecords(s); err != nil {
		return m, err
	}
	syncs := d.Usage().Syncs
	if err := w.write(s, m); !errors.Is(err, ErrUnknown) || d.Usage().Syncs != syncs {
		return m, fmt.Errorf("a failed store was written to: %w", err)
	}
	after := d.After(simdisk.Crash(random.IntN(3)), random)
	again, c, err := Open(after, tiny)
	if err != nil {
		return m, err
	}
	if m.compare(again, c) != nil {
		m = m.after(w)
	}
	if err := errors.Join(m.compare(again, c), again.Close(), s.Close()); err != nil {
		return m, err
	}
	d.Become(after)
	return m, nil
}

// TestFullDisk: on a full disk records are rejected, and all others can be read and
// acknowledged, one by one and in any order. Afterwards there is room again.
func TestFullDisk(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 5))
		d, m := simdisk.New(), newModel()
		d.Limit = 40_000
		s, _, err := Open(d, tiny)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			w := step{payloads: [][]byte{make([]byte, random.IntN(400))}}
			if err = w.write(s, m); err == nil {
				m = m.after(w)
			}
		}
		if !errors.Is(err, syscall.ENOSPC) || len(m.records) < 50 {
			t.Fatalf("%d records: %v", len(m.records), err)
		}
		d.Limit = d.Usage().Size // no byte is left
		if seed%2 == 1 {
			d = d.After(simdisk.Killed, random)
			d.Limit = d.Usage().Size
			if s, _, err = Open(d, tiny); err != nil {
				t.Fatal(err)
			}
		}
		seqs := slices.Collect(func(yield func(uint64) bool) {
			for seq := range m.records {
				if !yield(seq) {
					return
				}
			}
		})
		if seed%3 == 0 {
			slices.Sort(seqs)
		}
		for _, seq := range seqs {
			w := step{deletes: []uint64{seq}}
			if err := w.write(s, m); err != nil {
				t.Fatalf("seed %d: with %d records left: %v", seed, len(m.records), err)
			}
			m = m.after(w)
			if err := m.compare(s, s.state.contents()); err != nil {
				t.Fatal(seed, err)
			}
		}
		w := step{payloads: [][]byte{make([]byte, 1000)}}
		if err := w.write(s, m); err != nil {
			t.Fatal(seed, err)
		}
		m = m.after(w)
		again, c, err := Open(d.After(simdisk.Lost, random), tiny)
		if err = errors.Join(err, s.Close()); err == nil {
			err = m.compare(again, c)
		}
		if err != nil {
			t.Fatal(seed, err)
		}
	}
}

// TestLeftOver: what a failed write has left, and could not be cut off, does no harm.
func TestLeftOver(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, tiny)
	if err != nil {
		t.Fatal(err)
	}
	write := func(w step, fails bool) {
		t.Helper()
		if err := w.write(s, m); (err != nil) != fails || errors.Is(err, ErrUnknown) {
			t.Fatal(err)
		}
		if !fails {
			m = m.after(w)
		}
	}
	write(step{payloads: [][]byte{{1}, {2}, {3}}}, false)
	d.Fail = func(op, name string) error {
		if op == "write" || op == "truncate" {
			return syscall.EIO
		}
		return nil
	}
	write(step{payloads: [][]byte{make([]byte, 300), make([]byte, 300)}}, true)
	d.Fail = nil
	for seq := range uint64(3) {
		write(step{deletes: []uint64{seq + 1}}, false)
		again, c, err := Open(d.After(simdisk.Killed, nil), tiny)
		if err == nil {
			err = m.compare(again, c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestMisuse: records out of order, and acknowledgments of records that are not there, are
// errors and change nothing.
func TestMisuse(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, tiny)
	if err != nil {
		t.Fatal(err)
	}
	w := step{payloads: [][]byte{{1}, {2}}}
	if err := w.write(s, m); err != nil {
		t.Fatal(err)
	}
	m = m.after(w)
	for _, err := range []error{
		s.Write(2, [][]byte{{3}}, nil, 0), s.Write(4, [][]byte{{3}}, nil, 0),
		s.Write(3, nil, []uint64{3}, 0), s.Write(3, nil, []uint64{1, 1}, 0), s.Write(3, [][]byte{{3}}, []uint64{0}, 0),
	} {
		if err == nil || errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	}
	if _, _, err := Open(d, tiny); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	if err := errors.Join(s.Write(3, nil, nil, 0), m.compareRecords(s), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(0, 9, 9); err != errClosed || s.Write(3, nil, []uint64{1}, 0) != errClosed || s.Close() != nil {
		t.Error("a closed store works")
	}
	if _, _, err := Open(d, Options{Codec: "other"}); err == nil {
		t.Error("opened with another codec")
	}
}

// TestForgottenPages: after a sync that failed, the system shows bytes that are not on the
// disk. The contents that a store reports when it is opened then must survive a crash.
func TestForgottenPages(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, tiny)
	if err != nil {
		t.Fatal(err)
	}
	first := step{payloads: [][]byte{{1}, {2}}}
	if err := first.write(s, m); err != nil {
		t.Fatal(err)
	}
	m = m.after(first)
	syncFails(t, d, s, m, "", step{payloads: [][]byte{{3}}, deletes: []uint64{1}})
}

// syncFails writes w while syncs fail, of a file or, without a name, of all; closes s, and opens it
// again, which finds w. That must survive a crash.
func syncFails(t *testing.T, d *simdisk.Disk, s *Store, m *model, file string, w step) {
	t.Helper()
	d.Fail = func(op, name string) error {
		if op == "sync" && (file == "" || name == file) {
			return syscall.EIO
		}
		return nil
	}
	if err := w.write(s, m); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	d.Fail = nil
	_ = s.Close()
	s, c, err := Open(d, tiny)
	if err != nil {
		t.Fatal(err)
	}
	if m = m.after(w); m.compare(s, c) != nil {
		t.Fatalf("%+v: the test wants a store that sees the commit", c)
	}
	again, c, err := Open(d.After(simdisk.Lost, nil), tiny)
	if err == nil {
		err = m.compare(again, c)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestForgottenNames: the new names of a checkpoint and of a segment were not synced, because the
// sync of the folder failed, or because the process died. What is written after the store was opened
// again must survive a crash.
func TestForgottenNames(t *testing.T) {
	for _, dies := range []bool{false, true} {
		d, m := simdisk.New(), newModel()
		s, _, err := Open(d, tiny)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, m, 1, 100) // the segment is full
		d.Fail = func(op, name string) error {
			if op == "syncdir" {
				return syscall.EIO
			}
			return nil
		}
		if err := (step{payloads: [][]byte{{1}}}).write(s, m); !errors.Is(err, ErrUnknown) {
			t.Fatal(err)
		}
		d.Fail = nil
		if dies {
			d = d.After(simdisk.Killed, nil)
		} else {
			_ = s.Close()
		}
		if s, _, err = Open(d, tiny); err != nil {
			t.Fatal(err)
		}
		w := step{payloads: [][]byte{{2}}, deletes: []uint64{1, 2, 3}}
		if err := w.write(s, m); err != nil {
			t.Fatal(err)
		}
		m = m.after(w)
		s, c, err := Open(d.After(simdisk.Lost, nil), tiny)
		if err == nil {
			err = m.compare(s, c)
		}
		if err != nil {
			t.Errorf("dies %v: %v", dies, err)
		}
	}
}
