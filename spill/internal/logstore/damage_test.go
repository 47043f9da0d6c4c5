package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// An image is the files of a store, and what they hold.
type image struct {
	name   string
	files  map[string][]byte
	model  *model
	intact bool // all segments are: nothing may be lost
}

// images returns stores after a kill and after Close.
func images(t testing.TB, steps int) (all []image) {
	for seed := range uint64(2) {
		d := simdisk.New()
		done, _ := program(d, seed+20, steps)
		killedDisk := d.After(simdisk.Killed, nil)
		all = append(all, image{name: fmt.Sprint("killed ", seed), files: killedDisk.Contents(), model: done})
		s, _, err := Open(killedDisk, tiny)
		if err != nil || s.Close() != nil {
			t.Fatal(err)
		}
		all = append(all, image{name: fmt.Sprint("closed ", seed), files: killedDisk.Contents(), model: done})
	}
	return all
}

// with returns a disk with the files, one of them replaced or, if nil, removed.
func (i image) with(name string, data []byte) *simdisk.Disk {
	d := simdisk.New()
	for n, b := range i.files {
		if n != name {
			d.Put(n, bytes.Clone(b))
		}
	}
	if data != nil {
		d.Put(name, data)
	}
	return d
}

// names returns the files that matter, sorted.
func (i image) names() (names []string) {
	for name := range i.files {
		if name != reserveFile && name != acksFile {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// inspect opens a damaged store: it must either report damage or be correct. If it
// reports damage, Repair must leave what can be read.
func (i image) inspect(d *simdisk.Disk) (noticed bool, err error) {
	before := d.Contents()
	s, c, err := Open(d, tiny)
	var damage *DamagedError
	switch {
	case err != nil && !errors.As(err, &damage):
		return false, err
	case err != nil:
		for name, b := range d.Contents() {
			if !bytes.Equal(b, before[name]) {
				return true, fmt.Errorf("%s was changed, although: %w", name, err)
			}
		}
	default:
		err = i.model.compare(s, c)
		if err != nil && !errors.As(err, &damage) {
			return false, fmt.Errorf("silent: %w", err)
		}
		d = d.After(simdisk.Killed, nil)
	}
	if err == nil {
		return false, nil
	}
	return true, i.repaired(d)
}

// repaired repairs a store, and checks that what is left is correct.
func (i image) repaired(d *simdisk.Disk) error {
	before := d.Usage().Handles
	report, err := Repair(d, tiny, nil)
	if err != nil {
		return err
	}
	if u := d.Usage(); u.Handles != before {
		return fmt.Errorf("the repair left %d files open", u.Handles-before)
	}
	s, c, err := Open(d, tiny)
	if err != nil {
		return fmt.Errorf("after the repair %+v: %w", report, err)
	}
	left := newModel()
	left.times = i.model.times
	left.next = c.Next
	for from := uint64(0); ; {
		records, err := s.Read(from, c.Next, 1000)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			want, ok := i.model.records[r.Seq]
			if r.Damaged != nil || ok && !bytes.Equal(want, r.Payload) || !ok && !report.Returned {
				return fmt.Errorf("after the repair, record %d: %w", r.Seq, r.Damaged)
			}
			if left.records[r.Seq] = r.Payload; ok {
				delete(left.records, r.Seq)
				left.records[r.Seq] = want
			}
			from = r.Seq + 1
		}
	}
	missing := 0
	for seq := range i.model.records {
		if left.records[seq] == nil {
			missing++
		}
	}
	if missing > report.Lost || i.intact && report.Lost > 0 || report.Records != len(left.records) {
		return fmt.Errorf("%d records are missing, and the report is %+v", missing, report)
	}
	w := step{payloads: [][]byte{[]byte("new")}}
	if err := w.write(s, left); err != nil {
		return err
	}
	return errors.Join(left.after(w).compareRecords(s), s.Close())
}

// TestFlippedBits: a changed bit anywhere is noticed, or makes no difference.
func TestFlippedBits(t *testing.T) {
	every := suite.Rounds(17, 1)
	for _, image := range images(t, 8) {
		tried, noticed := 0, 0
		for _, name := range image.names() {
			for bit := 0; bit < 8*len(image.files[name]); bit += every {
				data := bytes.Clone(image.files[name])
				data[bit/8] ^= 1 << (bit % 8)
				saw, err := image.inspect(image.with(name, data))
				if err != nil {
					t.Fatalf("%s: bit %d of %s: %v", image.name, bit, name, err)
				}
				if tried++; saw {
					noticed++
				}
			}
		}
		t.Logf("%s: %d of %d noticed", image.name, noticed, tried)
	}
}

// TestCutFiles: a file that is shorter than it was, or missing, is noticed, or makes no
// difference.
func TestCutFiles(t *testing.T) {
	cuts := suite.Rounds(8, 40)
	for _, image := range images(t, cuts) {
		for _, name := range image.names() {
			for n := 0; n < len(image.files[name]); n += suite.Rounds(3, 1) {
				if _, err := image.inspect(image.with(name, bytes.Clone(image.files[name][:n]))); err != nil {
					t.Fatalf("%s: %s cut to %d bytes: %v", image.name, name, n, err)
				}
			}
			if _, err := image.inspect(image.with(name, nil)); err != nil {
				t.Fatalf("%s: %s removed: %v", image.name, name, err)
			}
		}
	}
}

// TestOldFiles: a file that was put back from an earlier moment is noticed, or makes no
// difference, and so is one of another store.
func TestOldFiles(t *testing.T) {
	for _, image := range images(t, 40) {
		for _, other := range images(t, 12) {
			for name, data := range other.files {
				if _, err := image.inspect(image.with(name, data)); err != nil {
					t.Errorf("%s: %s of %s: %v", image.name, name, other.name, err)
				}
			}
		}
	}
}

// TestDamageWithoutMark: without a mark, a changed bit is noticed in each commit but the
// last.
func TestDamageWithoutMark(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, Options{Reserve: 100, Acks: 100})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, m, 3, 7)
	whole := d.Contents()[segmentName(1)]
	commit := (len(whole) - segmentHeaderSize) / 3
	for bit := 0; bit < 8*len(whole); bit += suite.Rounds(7, 1) {
		d = d.After(simdisk.Killed, nil)
		_ = d.Remove(markFile)
		data := bytes.Clone(whole)
		data[bit/8] ^= 1 << (bit % 8)
		d.Put(segmentName(1), data)
		s, c, err := Open(d, Options{Reserve: 100, Acks: 100})
		var damage *DamagedError
		switch last := bit/8 >= len(whole)-commit; {
		case !last && !errors.As(err, &damage):
			t.Fatalf("bit %d of %d: %v", bit, 8*len(whole), err)
		case last && (err != nil || c.Records != 20):
			t.Fatalf("bit %d of the last commit: %d records, %v", bit, c.Records, err)
		case last:
			_ = s.release()
		}
	}
}

// TestOldMetadata: a checkpoint, mark or acknowledgment area of an earlier moment, as a backup or a
// tool that copies files puts it back, is noticed or makes no difference. No segment is damaged, so
// Repair loses no record.
func TestOldMetadata(t *testing.T) {
	metadata := []string{checkpointFile, markFile, acksFile}
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 3))
		d, m := simdisk.New(), newModel()
		s, _, err := Open(d, tiny)
		if err != nil {
			t.Fatal(err)
		}
		var moments []map[string][]byte
		for range 40 {
			w := m.step(random)
			if err := w.write(s, m); err != nil {
				t.Fatal(err)
			}
			m = m.after(w)
			moments = append(moments, d.Contents())
			if random.IntN(8) == 0 {
				if s.Close() != nil {
					t.Fatal(err)
				}
				moments = append(moments, d.Contents())
				if s, _, err = Open(d, tiny); err != nil {
					t.Fatal(err)
				}
			}
		}
		i := image{name: fmt.Sprint("program ", seed), files: d.Contents(), model: m, intact: true}
		for n, old := range moments {
			for set := 1; set < 1<<len(metadata); set++ {
				d, names := i.with("", nil), []string(nil)
				for k, name := range metadata {
					if set>>k&1 == 0 {
						continue
					}
					names = append(names, name)
					if d.Put(name, bytes.Clone(old[name])); old[name] == nil {
						_ = d.Remove(name)
					}
				}
				if _, err := i.inspect(d); err != nil {
					t.Errorf("%s: %v of moment %d: %v", i.name, names, n, err)
				}
			}
		}
	}
}

// TestBehindDamage: records are intact behind others that are damaged, and whose acknowledgments are
// between them: when the store reads them, when it is opened again, and when it is repaired.
func TestBehindDamage(t *testing.T) {
	d, m := simdisk.New(), newModel()
	large := Options{Codec: "test", SegmentSize: 1 << 20, Reserve: 2000, Acks: 3000}
	s, _, err := Open(d, large)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, m, 2, 100)
	places := slices.Clone(s.state.active().places)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name := segmentName(1)
	data := d.Contents()[name]
	clear(data[places[13].offset:]) // records 14 to 20
	d.Put(name, data)
	if s, _, err = Open(d, large); err != nil {
		t.Fatal(err)
	}
	for seq := uint64(14); seq <= 20; seq++ {
		if records, err := s.Read(seq, seq+1, 1); err != nil || len(records) != 1 || records[0].Damaged == nil {
			t.Fatalf("record %d: %v, %v", seq, records, err)
		}
		w := step{deletes: []uint64{seq}}
		if err := w.write(s, m); err != nil {
			t.Fatal(err)
		}
		m = m.after(w)
	}
	fill(t, s, m, 1, 100)
	if err := errors.Join(m.compareRecords(s), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, _, err = Open(d, large); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.compareRecords(s), s.Close()); err != nil {
		t.Errorf("opened again: %v", err)
	}
	d = image{files: d.Contents()}.with(checkpointFile, nil)
	report, err := Repair(d, large, nil)
	if err != nil || report.Records != len(m.records) || report.Lost > 7 {
		t.Errorf("repaired: %+v, %v", report, err)
	}
	if s, _, err = Open(d, large); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.compareRecords(s), s.Close()); err != nil {
		t.Errorf("repaired: %v", err)
	}
}

// TestRepairLastSegments: Repair counts the records of segments that are missing, and which
// the checkpoint does not list.
func TestRepairLastSegments(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, tiny)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, m, 1, 100)
	checkpoint := d.Contents()[checkpointFile]
	fill(t, s, m, 3, 100)
	d = image{files: d.Contents()}.with(checkpointFile, checkpoint)
	for id := range s.state.active().id {
		if id > 0 {
			_ = d.Remove(segmentName(id + 1))
		}
	}
	var damage *DamagedError
	if _, _, err := Open(d, tiny); !errors.As(err, &damage) {
		t.Fatal(err)
	}
	report, err := Repair(d, tiny, nil)
	if err != nil || report.Lost != 30 || report.First != 11 || report.Last != 40 || report.Records != 10 || !report.Returned {
		t.Errorf("%+v, %v", report, err)
	}
	s, c, err := Open(d, tiny)
	if err != nil || c.Records != 10 || c.Next != 41 || s.Close() != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestLostSlot: a changed bit in the slot that is in effect is noticed, whether or not later
// commits are in the log. Repair then works without the acknowledgments.
func TestLostSlot(t *testing.T) {
	for _, later := range []bool{false, true} {
		d, m := simdisk.New(), newModel()
		s, _, err := Open(d, tiny)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, m, 1, 50)
		d.Limit = d.Usage().Size
		for seq := range uint64(3) {
			w := step{deletes: []uint64{seq + 1}}
			if err := w.write(s, m); err != nil {
				t.Fatal(err)
			}
			m = m.after(w)
		}
		if d.Limit = 0; !s.inSlot || !s.reserve {
			t.Fatal("the test wants acknowledgments in a slot")
		}
		if later {
			w := step{payloads: [][]byte{{1}}} // in the same segment
			if err := s.add(w.payloads, nil, 0); err != nil || !s.inSlot {
				t.Fatal(err)
			}
			m = m.after(w)
		}
		i := image{name: "slot", files: d.Contents(), model: m}
		slot := s.area.last * s.area.half
		for bit := slot * 8; bit < (slot+slotLength+int64(s.lastCP))*8; bit += 3 {
			area := bytes.Clone(i.files[acksFile])
			area[bit/8] ^= 1 << (bit % 8)
			if noticed, err := i.inspect(i.with(acksFile, area)); err != nil || !noticed {
				t.Fatalf("later commits %v, bit %d of the slot: noticed %v, %v", later, bit-slot*8, noticed, err)
			}
		}
		if noticed, err := i.inspect(i.with(acksFile, nil)); err != nil || !noticed {
			t.Errorf("without the area: noticed %v, %v", noticed, err)
		}
		// After a repair without the checkpoint, the slots are older than the new one.
		if noticed, err := i.inspect(i.with(checkpointFile, i.files[checkpointFile][:30])); err != nil || !noticed {
			t.Errorf("without the checkpoint: noticed %v, %v", noticed, err)
		}
		if noticed, err := i.inspect(i.with("", nil)); err != nil || noticed {
			t.Errorf("without damage: noticed %v, %v", noticed, err)
		}
	}
}

// TestLostAcknowledged: records of a lost segment that are known to be acknowledged do not
// count as lost, wherever that is stored. If it was in the lost segment, the report says so.
func TestLostAcknowledged(t *testing.T) {
	for _, closed := range []bool{false, true} {
		for _, active := range []bool{false, true} {
			d, m := simdisk.New(), newModel()
			s, _, err := Open(d, tiny)
			if err != nil {
				t.Fatal(err)
			}
			if fill(t, s, m, 1, 50); !active { // segment 1
				fill(t, s, m, 2, 50) // and 2
			}
			if err := (step{deletes: []uint64{2, 3, 7}}).write(s, m); err != nil {
				t.Fatal(err)
			}
			if closed {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			d = d.After(simdisk.Killed, nil)
			if err := d.Remove(segmentName(1)); err != nil {
				t.Fatal(err)
			}
			report, err := Repair(d, tiny, nil)
			want := 17
			if active {
				want = 7
			}
			if active && !closed { // the acknowledgments were in the segment, too
				want = 10
			}
			if err != nil || report.Lost != want || report.Returned != active || report.NoCheckpoint {
				t.Errorf("closed %v, active %v: %+v, %v", closed, active, report, err)
			}
		}
	}
}

// TestRepairKeepsNumbers: records are never numbered again from 1, even if none is left.
func TestRepairKeepsNumbers(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, tiny)
	if err != nil {
		t.Fatal(err)
	}
	old := d.Contents()[checkpointFile]
	fill(t, s, m, 4, 100)
	if err := errors.Join(step{deletes: slices.Collect(maps.Keys(m.records))}.write(s, m), s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, checkpoint := range [][]byte{old, old[:20], nil} {
		d := image{files: d.Contents()}.with(checkpointFile, bytes.Clone(checkpoint))
		if _, err := Repair(d, tiny, nil); err != nil {
			t.Fatal(err)
		}
		if s, c, err := Open(d, tiny); err != nil || c.Next != m.next || c.Records != 0 || s.Close() != nil {
			t.Errorf("a checkpoint of %d bytes: %+v, want %d, %v", len(checkpoint), c, m.next, err)
		}
	}
}

// TestRepairScarce: a file that cannot be opened because the process has too many is not damaged.
// Repair fails, and loses no record.
func TestRepairScarce(t *testing.T) {
	for _, i := range images(t, 40) {
		for _, checkpoint := range [][]byte{i.files[checkpointFile], i.files[checkpointFile][:20]} {
			for n := 0; ; n++ {
				d, opened := i.with(checkpointFile, bytes.Clone(checkpoint)), 0
				d.Fail = func(op, name string) error {
					if op == "open" && name != checkpointFile {
						if opened++; opened > n {
							return syscall.EMFILE
						}
					}
					return nil
				}
				report, err := Repair(d, tiny, nil)
				if report.Lost > 0 || err != nil && !errors.Is(err, syscall.EMFILE) {
					t.Fatalf("%s, %d files: %+v, %v", i.name, n, report, err)
				}
				if d.Fail = nil; err == nil {
					break
				}
				if report, err = Repair(d, tiny, nil); err != nil || report.Lost > 0 || report.Records < len(i.model.records) {
					t.Fatalf("%s, %d files, and again: %+v, %v", i.name, n, report, err)
				}
			}
		}
	}
}
