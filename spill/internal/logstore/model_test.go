package logstore

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// A model is what a store must hold.
type model struct {
	records map[uint64][]byte
	times   map[uint64]int64
	next    uint64
}

func newModel() *model {
	return &model{records: map[uint64][]byte{}, times: map[uint64]int64{}, next: 1}
}

// A step is a write.
type step struct {
	payloads [][]byte
	deletes  []uint64
	at       int64 // the time of the records; 0: none
}

// after returns the model after a write.
func (m *model) after(w step) *model {
	n := &model{records: maps.Clone(m.records), times: maps.Clone(m.times), next: m.next}
	for _, seq := range w.deletes {
		delete(n.records, seq)
	}
	for _, payload := range w.payloads {
		n.records[n.next], n.times[n.next] = payload, w.at
		n.next++
	}
	return n
}

// step returns a random write. Old records are kept back in some programs, so that
// segments have to be compacted.
func (m *model) step(random *rand.Rand) step {
	w := step{at: max(0, random.Int64N(1000)-500)}
	for range random.IntN(5) {
		payload := make([]byte, random.IntN(200))
		for i := range payload {
			payload[i] = byte(random.Uint32())
		}
		w.payloads = append(w.payloads, payload)
	}
	for _, seq := range slices.Sorted(maps.Keys(m.records)) {
		if seq%13 == 0 && random.IntN(40) > 0 {
			continue
		}
		if random.IntN(3) == 0 && len(w.deletes) < 6 {
			w.deletes = append(w.deletes, seq)
		}
	}
	random.Shuffle(len(w.deletes), func(i, j int) { w.deletes[i], w.deletes[j] = w.deletes[j], w.deletes[i] })
	return w
}

// compare returns an error if the store differs from the model.
func (m *model) compare(s *Store, c Contents) error {
	var total int64
	first := m.next
	for seq, payload := range m.records {
		total += int64(len(payload))
		if m.times[seq] != 0 {
			total += timeSize
		}
		first = min(first, seq)
	}
	if want := (Contents{First: first, Next: m.next, Records: len(m.records), Bytes: total}); c != want {
		return fmt.Errorf("contents %+v, want %+v", c, want)
	}
	if want := total + int64(len(m.records))*frameHeaderSize; s.state.frames != want {
		return fmt.Errorf("the frames of live records have %d bytes, want %d", s.state.frames, want)
	}
	return m.compareRecords(s)
}

func (m *model) compareRecords(s *Store) error {
	want := slices.Sorted(maps.Keys(m.records))
	for from := uint64(0); ; {
		records, err := s.Read(from, m.next+100, 300)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			switch {
			case r.Damaged != nil:
				return r.Damaged
			case len(want) == 0 || want[0] != r.Seq:
				return fmt.Errorf("record %d, want %v", r.Seq, want)
			case !bytes.Equal(r.Payload, m.records[r.Seq]):
				return fmt.Errorf("record %d is %d bytes %.20x, want %d bytes %.20x", r.Seq, len(r.Payload), r.Payload, len(m.records[r.Seq]), m.records[r.Seq])
			}
			if at, ok := m.times[r.Seq]; ok && r.Time != at {
				return fmt.Errorf("record %d is of %d, want %d", r.Seq, r.Time, at)
			}
			want, from = want[1:], r.Seq+1
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("records %v are missing", want)
	}
	return nil
}

var tiny = Options{Codec: "test", SegmentSize: 1000, Reserve: 2000, Acks: 3000}

// write writes a step.
func (w step) write(s *Store, m *model) error {
	return s.Write(m.next, w.payloads, w.deletes, w.at)
}

// TestModel runs random programs, with crashes of the process and reopening, against the
// model.
func TestModel(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		d, m := simdisk.New(), newModel()
		s, c, err := Open(d, tiny)
		for i := range 60 {
			if err != nil {
				t.Fatal(seed, i, err)
			}
			if err := m.compare(s, c); err != nil {
				t.Fatal(seed, i, err)
			}
			for range random.IntN(20) {
				w := m.step(random)
				if err := w.write(s, m); err != nil {
					t.Fatal(seed, i, err)
				}
				m = m.after(w)
				if err := m.compare(s, s.state.contents()); err != nil {
					t.Fatal(seed, i, err)
				}
			}
			if random.IntN(2) == 0 {
				d = d.After(simdisk.Crash(random.IntN(3)), random)
			} else if err := s.Close(); err != nil {
				t.Fatal(seed, i, err)
			}
			s, c, err = Open(d, tiny)
		}
		if err != nil || s.Close() != nil {
			t.Fatal(err)
		}
	}
}
