package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// TestFrame: a frame is valid in its place only.
func TestFrame(t *testing.T) {
	h, place := frame{kind: kindRecord, flags: flagFirst, seq: 7, commit: 3}, salt{store: 5, segment: 2}
	b := appendFrame(nil, h, 0, []byte("payload"), place, 100)
	got, err := parseFrame(b, place, 100)
	h.body, h.length = checksum(0, []byte("payload")), 7
	if err != nil || got != h || got.size() != int64(len(b)) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []struct {
		place  salt
		offset int64
	}{{place, 101}, {salt{5, 3}, 100}, {salt{6, 2}, 100}} {
		if _, err := parseFrame(b, wrong.place, wrong.offset); err != errHeader {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	for n := range frameHeaderSize {
		if _, err := parseFrame(b[:n], place, 100); err != errHeader {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := parseFrame(make([]byte, frameHeaderSize), salt{}, 0); err != errHeader {
		t.Errorf("zeros: %v", err)
	}
}

// TestTornTail: what is behind the last commit is cut off, and a commit with an old number
// is not applied.
func TestTornTail(t *testing.T) {
	for name, tail := range map[string]func(s *Store, offset int64) []byte{
		"garbage": func(*Store, int64) []byte { return bytes.Repeat([]byte{1}, 5000) },
		"zeros":   func(*Store, int64) []byte { return make([]byte, 5000) },
		"an old commit": func(s *Store, offset int64) []byte {
			h := frame{kind: kindRecord, flags: flagFirst | flagLast, seq: 3, commit: 1}
			return appendFrame(nil, h, 0, make([]byte, 4000), s.salt(s.state.active()), offset)
		},
		"half a commit": func(s *Store, offset int64) []byte {
			h := frame{kind: kindRecord, flags: flagFirst, seq: 3, commit: 2}
			return appendFrame(nil, h, 0, make([]byte, 4000), s.salt(s.state.active()), offset)
		},
	} {
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
		active := s.state.active()
		if _, err := active.file.WriteAt(tail(s, active.length), active.length); err != nil {
			t.Fatal(err)
		}
		d = d.After(simdisk.Killed, nil)
		for range 2 {
			s, c, err := Open(d, tiny)
			if err == nil {
				err = m.compare(s, c)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n := len(d.Contents()[segmentName(1)]); int64(n) != s.state.active().length {
				t.Errorf("%s: %d bytes were left", name, n)
			}
			if err := w.write(s, m); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			m, d = m.after(w), d.After(simdisk.Killed, nil)
		}
	}
}

// TestFileTooLarge: a limit of the file size ends a segment. If no other can be begun, it is
// an error of writes, and acknowledging succeeds all the same.
func TestFileTooLarge(t *testing.T) {
	d, m := simdisk.New(), newModel()
	s, _, err := Open(d, Options{Codec: "test", Reserve: 100, Acks: 400})
	if err != nil {
		t.Fatal(err)
	}
	w := step{payloads: [][]byte{{1}, {2}}}
	if err := w.write(s, m); err != nil {
		t.Fatal(err)
	}
	m = m.after(w)
	limited := []string{segmentName(1)}
	d.Fail = func(op, name string) error {
		if op == "write" && slices.Contains(limited, name) {
			return &os.PathError{Op: op, Path: name, Err: syscall.EFBIG}
		}
		return nil
	}
	if err := w.write(s, m); err != nil || s.state.active().id != 2 {
		t.Fatalf("%v, in segment %d", err, s.state.active().id)
	}
	m = m.after(w)
	limited = []string{segmentName(2), segmentName(3)}
	if err := w.write(s, m); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("a record was written beyond the limit: %v", err)
	}
	for seq := range uint64(4) {
		w := step{deletes: []uint64{seq + 1}}
		if err := w.write(s, m); err != nil {
			t.Fatal(err)
		}
		m = m.after(w)
	}
	d.Fail = nil
	s, c, err := Open(d.After(simdisk.Lost, nil), tiny)
	if err == nil {
		err = m.compare(s, c)
	}
	if err != nil {
		t.Error(err)
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
