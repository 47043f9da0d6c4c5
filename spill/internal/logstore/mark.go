package logstore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io/fs"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// A mark records how far the log is synced. It is written after each sync, and not synced
// itself: it costs little, it is never ahead of the log, and it survives the process. So a
// damaged last commit differs from one that was not complete when the process died.
//
// The file has two slots, which commits use in turn, so that one of them is intact.
type mark struct {
	segment uint64
	offset  int64
	commit  uint64 // number of the next commit
	next    uint64 // sequence number of the next record
}

const (
	markFile = "synced"
	slotSize = 512
	markSize = 44 // store 8, segment 8, offset 8, commit 8, next 8, checksum 4
)

// write writes m, if possible. Without it, the log is still correct.
func (m mark) write(f disk.File, store uint64) {
	if f == nil {
		return
	}
	b := make([]byte, 0, markSize)
	for _, n := range []uint64{store, m.segment, uint64(m.offset), m.commit, m.next} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = binary.LittleEndian.AppendUint32(b, checksum(0, b))
	_, _ = f.WriteAt(b, int64(m.commit%2)*slotSize)
}

// before reports whether m is nearer to the start of the log than o. A commit in the
// acknowledgment area does not move the end of the log.
func (m mark) before(o mark) bool {
	return cmp.Or(cmp.Compare(m.segment, o.segment), cmp.Compare(m.offset, o.offset), cmp.Compare(m.commit, o.commit)) < 0
}

// readMark returns the last mark of the store, if there is any.
func readMark(d disk.Disk, store uint64) (last mark, err error) {
	f, err := d.Open(markFile)
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	if err != nil {
		return last, err
	}
	for slot := range int64(2) {
		b := make([]byte, markSize)
		if n, _ := f.ReadAt(b, slot*slotSize); n < markSize ||
			checksum(0, b[:40]) != binary.LittleEndian.Uint32(b[40:]) || binary.LittleEndian.Uint64(b) != store {
			continue
		}
		m := mark{
			segment: binary.LittleEndian.Uint64(b[8:]), offset: int64(binary.LittleEndian.Uint64(b[16:])),
			commit: binary.LittleEndian.Uint64(b[24:]), next: binary.LittleEndian.Uint64(b[32:]),
		}
		if last.before(m) && max(m.segment, uint64(m.offset), m.commit, m.next) <= maxNumber {
			last = m
		}
	}
	return last, f.Close()
}

// openMark opens the file of the mark, or creates it. It returns nil if it cannot.
func openMark(d disk.Disk) disk.File {
	f, err := d.Open(markFile)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = d.Create(markFile)
	}
	if err != nil {
		return nil
	}
	return f
}
