package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// setVersion changes the version of a segment or a checkpoint.
func setVersion(d *simdisk.Disk, name string, to byte) {
	b := d.Contents()[name]
	b[7] = to
	if name == checkpointFile {
		binary.LittleEndian.PutUint32(b[8:], checksum(checksum(0, b[:8]), b[12:]))
	} else {
		binary.LittleEndian.PutUint32(b[32:], checksum(0, b[:32]))
	}
	d.Put(name, b)
}

// versions returns the versions of the checkpoint and of the segments, in order.
func versions(d *simdisk.Disk) (checkpoint byte, segments []byte) {
	files := d.Contents()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, ok := segmentID(name); ok && len(files[name]) > 7 {
			segments = append(segments, files[name][7])
		}
	}
	return files[checkpointFile][7], segments
}

// oldStore returns the disk of a store of version 1, which was killed or closed, and what is in it.
func oldStore(t *testing.T, closed bool) (*simdisk.Disk, *model) {
	t.Helper()
	d, m := simdisk.New(), newModel()
	s, _, err := open(d, tiny)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 3))
	for range 30 {
		w := m.step(random)
		w.at = 0
		if err := w.write(s, m); err != nil {
			t.Fatal(err)
		}
		m = m.after(w)
	}
	if closed {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d = d.After(simdisk.Killed, nil)
	for name := range d.Contents() {
		if _, ok := segmentID(name); ok || name == checkpointFile {
			setVersion(d, name, version1)
		}
	}
	return d, m
}

// TestVersion1: a store of version 1 is opened. At each moment of the first commit with times, these
// are only in a segment of version 2, and the checkpoint has version 2 then, so that an earlier version of the
// library refuses the store.
func TestVersion1(t *testing.T) {
	for _, closed := range []bool{false, true} {
		for n := 0; ; n++ {
			d, m := oldStore(t, closed)
			s, c, err := open(d, tiny)
			if err == nil {
				err = m.compare(s, c)
			}
			if err != nil {
				t.Fatal(err)
			}
			before := d.Contents()
			if checkpoint, segments := versions(d); checkpoint != version1 || slices.Max(segments) != version1 {
				t.Fatalf("opening has changed the version: %d, %d", checkpoint, segments)
			}
			w := step{payloads: [][]byte{{1}, {2}}, at: 77}
			d.StopAt(d.Usage().Ops + n)
			err = w.write(s, m)
			d.Fail = nil
			checkpoint, _ := versions(d)
			for name, b := range d.Contents() {
				_, ok := segmentID(name)
				switch {
				case ok && len(b) > segmentHeaderSize && b[7] == version && checkpoint != version:
					t.Errorf("after %d operations %s has a commit, and the checkpoint version %d", n, name, checkpoint)
				case ok && len(b) > 7 && b[7] == version1 && len(b) != len(before[name]):
					t.Errorf("after %d operations there is a commit in %s, which has version 1", n, name)
				}
			}
			if errors.Is(err, simdisk.ErrOff) {
				continue
			}
			if err != nil || n < 3 {
				t.Fatalf("after %d operations: %v", n, err)
			}
			m = m.after(w)
			s, c, err = open(d.After(simdisk.Killed, nil), tiny)
			if err == nil {
				err = errors.Join(m.compare(s, c), s.Close())
			}
			if err != nil {
				t.Error(err)
			}
			break
		}
	}
}

// TestLaterVersion: a file of a later version is not damaged. Open and Repair return an error
// that names it, and change nothing.
func TestLaterVersion(t *testing.T) {
	for _, name := range []string{checkpointFile, segmentName(1)} {
		for _, lost := range []bool{false, true} { // the checkpoint
			if lost && name == checkpointFile {
				continue
			}
			d, m := simdisk.New(), newModel()
			s, _, err := open(d, tiny)
			if err != nil {
				t.Fatal(err)
			}
			if err := (step{payloads: [][]byte{{1}}}).write(s, m); err != nil {
				t.Fatal(err)
			}
			d = d.After(simdisk.Killed, nil)
			setVersion(d, name, version+1)
			if lost {
				b := d.Contents()[checkpointFile]
				b[20]++
				d.Put(checkpointFile, b)
			}
			before := fmt.Sprint(d.Contents())
			var damage *DamagedError
			if _, _, err := open(d, tiny); !lost && (!errors.Is(err, errVersion) || errors.As(err, &damage) || !strings.Contains(err.Error(), name)) {
				t.Errorf("%s: Open: %v", name, err)
			}
			if _, err := repair(d, tiny); !errors.Is(err, errVersion) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, checkpoint lost %v: Repair: %v", name, lost, err)
			}
			if after := fmt.Sprint(d.Contents()); after != before {
				t.Errorf("%s: the files have changed", name)
			}
		}
	}
}

// TestTimedFrame: a frame with a time has it in front of the payload, under the checksum; what
// is too short for a time, or a list of ranges with one, is not a frame.
func TestTimedFrame(t *testing.T) {
	place := salt{store: 5, segment: 2}
	b := appendFrame(nil, frame{kind: kindRecord, flags: timed(-9), seq: 7}, -9, []byte("payload"), place, 100)
	h, err := parseFrame(b, place, 100)
	if err != nil || h.length != 15 || h.body != checksum(0, b[frameHeaderSize:]) {
		t.Fatalf("%+v, %v", h, err)
	}
	if at, payload := h.untime(b[frameHeaderSize:]); at != -9 || string(payload) != "payload" {
		t.Errorf("%d, %q", at, payload)
	}
	if at, payload := (frame{}).untime([]byte("payload")); at != 0 || string(payload) != "payload" || timed(0) != 0 {
		t.Errorf("without a time: %d, %q", at, payload)
	}
	acks := appendFrame(nil, frame{kind: kindAcks, flags: flagTimed}, 1, nil, place, 0)
	short := appendFrame(nil, frame{kind: kindRecord}, 0, []byte("short"), place, 0)
	short[13] |= flagTimed
	binary.LittleEndian.PutUint32(short, checksum(place.at(0), short[4:frameHeaderSize]))
	for _, b := range [][]byte{acks, short} {
		if h, err := parseFrame(b, place, 0); err != errHeader {
			t.Errorf("%+v, %v", h, err)
		}
	}
}
