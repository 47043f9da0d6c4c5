package logstore

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// fill writes batches of 10 records of n bytes.
func fill(t *testing.T, s *Store, m *model, batches, n int) {
	t.Helper()
	for range batches {
		w := step{}
		for i := range 10 {
			w.payloads = append(w.payloads, bytes.Repeat([]byte{byte(m.next) + byte(i)}, n))
		}
		if err := w.write(s, m); err != nil {
			t.Fatal(err)
		}
		for _, payload := range w.payloads { // m.after would copy a large map
			m.records[m.next] = payload
			m.next++
		}
	}
}

// TestSpace: space is given back while the store is open, even if a few old records stay,
// and no commit copies more than its bound.
func TestSpace(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, Options{SegmentSize: 16 << 10, Reserve: 1000, Acks: 1000})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, m, 400, 100)
	peak := d.Usage().Size
	if peak < 400_000 {
		t.Fatalf("%d bytes", peak)
	}
	longest := int64(0)
	d.Fail = func(op, name string) error { return nil }
	for from := uint64(1); from < m.next; from += 10 {
		w := step{}
		for seq := from; seq < from+10; seq++ {
			if seq%200 != 0 {
				w.deletes = append(w.deletes, seq)
			}
		}
		before := s.state.active().length
		if err := w.write(s, m); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, s.state.active().length-before)
		m = m.after(w)
	}
	fill(t, s, m, 20, 1)
	if size := d.Usage().Size; size > 80_000 {
		t.Errorf("%d bytes are left of %d, for %d records", size, peak, len(m.records))
	}
	if longest > copyStep+1000 {
		t.Errorf("a commit of %d bytes", longest)
	}
	if len(s.state.moved) == 0 {
		t.Error("no record was copied")
	}
	if err := m.compare(s, s.state.contents()); err != nil {
		t.Error(err)
	}
	if sum := s.Size(); sum > d.Usage().Size || sum < 1000 {
		t.Errorf("Size is %d of %d", sum, d.Usage().Size)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOpenReads: what Open reads does not depend on the backlog, and a read far inside it
// reads one segment at most.
func TestOpenReads(t *testing.T) {
	o := Options{SegmentSize: 32 << 10, Reserve: 1000, Acks: 1000}
	for _, batches := range []int{100, 3000} {
		for _, closed := range []bool{false, true} {
			d, m := simdisk.New(), newModel()
			s, _, err := Open(d, o)
			if err != nil {
				t.Fatal(err)
			}
			fill(t, s, m, batches, 100)
			if closed {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			d = d.After(simdisk.Killed, nil)
			s, c, err := Open(d, o)
			if err != nil || c.Records != 10*batches {
				t.Fatal(c, err)
			}
			if d.Usage().BytesRead > 200_000 {
				t.Errorf("Open read %d bytes of %d", d.Usage().BytesRead, d.Usage().Size)
			}
			d.ForgetReads()
			records, err := s.Read(m.next/2, m.next, 1)
			if err != nil || len(records) != 1 || records[0].Seq != m.next/2 {
				t.Fatal(records, err)
			}
			if d.Usage().BytesRead > 150_000 {
				t.Errorf("Read read %d bytes", d.Usage().BytesRead)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestUnloaded: of a large backlog, few segments are open at a time.
func TestUnloaded(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, tiny)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, m, 600, 100)
	if err := m.compareRecords(s); err != nil {
		t.Error(err)
	}
	if n := s.opened(); n > maxOpen || len(s.state.segments) < 2*maxOpen {
		t.Errorf("%d of %d segments are open", n, len(s.state.segments))
	}
	cached := 0
	for _, g := range s.state.segments {
		cached += len(g.places)
	}
	if cached != s.cached {
		t.Errorf("%d places, counted %d", cached, s.cached)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFullSegment: on a disk that is full before the first segment is, records are accepted again
// when all were acknowledged, and Close succeeds on the full disk.
func TestFullSegment(t *testing.T) {
	o := Options{Codec: "test", SegmentSize: 1 << 20, Reserve: 4000}
	for _, slack := range []int64{0, 5, 500} {
		d, m := simdisk.New(), newModel()
		s, _, err := Open(d, o)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			d.Limit = 0
			fill(t, s, m, 10, 300)
			d.Limit = d.Usage().Size + slack
			w := step{payloads: [][]byte{make([]byte, 1000)}}
			if err := w.write(s, m); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrUnknown) {
				t.Fatal(err)
			}
			for seq := range m.records {
				w := step{deletes: []uint64{seq}}
				if err := w.write(s, m); err != nil {
					t.Fatal(err)
				}
				m = m.after(w)
			}
			if err := w.write(s, m); err != nil {
				t.Fatalf("%d bytes were free, and all records are acknowledged: %v", slack, err)
			}
			m = m.after(w)
			if err := m.compare(s, s.state.contents()); err != nil {
				t.Fatal(err)
			}
		}
		d.Limit = d.Usage().Size
		if err := s.Close(); err != nil {
			t.Errorf("Close on a full disk: %v", err)
		}
		s, c, err := Open(d, o)
		if err == nil {
			err = errors.Join(m.compare(s, c), s.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
}
