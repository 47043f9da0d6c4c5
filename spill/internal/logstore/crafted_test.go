package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// A craft sets a number of a file to a value, and makes the checksums right again.
type craft struct {
	name string
	set  func(file []byte, value uint64) []byte
}

// crafts returns a craft for each number in the files of a store.
func (i image) crafts() (all []craft) {
	store, codec, st, err := decodeCheckpoint(i.files[checkpointFile])
	if err != nil {
		panic(err)
	}
	for n := range numbersOf(st) {
		set := func(_ []byte, value uint64) []byte {
			_, _, st, _ := decodeCheckpoint(i.files[checkpointFile])
			numbersOf(st)[n](value)
			return encodeCheckpoint(store, codec, st)
		}
		all = append(all, craft{checkpointFile, set}, craft{acksFile, func(file []byte, value uint64) []byte {
			slot := set(nil, value)
			binary.LittleEndian.PutUint64(slot[28:], st.commit+1) // in effect
			binary.LittleEndian.PutUint32(slot[8:], checksum(checksum(0, slot[:8]), slot[12:]))
			area := binary.LittleEndian.AppendUint32(nil, uint32(len(slot)))
			return append(append(area, slot...), make([]byte, max(0, 3000-len(area)-len(slot)))...)
		}})
	}
	for at := 37 + len(codec); at < len(i.files[checkpointFile]); at++ { // counts, too; another codec is another error
		all = append(all, craft{checkpointFile, func(file []byte, value uint64) []byte {
			file = append(binary.AppendUvarint(file[:at:at], value), file[at+1:]...)
			binary.LittleEndian.PutUint32(file[8:], checksum(checksum(0, file[:8]), file[12:]))
			return file
		}})
	}
	for field := range 5 {
		all = append(all, craft{markFile, func(file []byte, value uint64) []byte {
			binary.LittleEndian.PutUint64(file[8*field:], value)
			binary.LittleEndian.PutUint32(file[40:], checksum(0, file[:40]))
			return file
		}})
	}
	for _, name := range i.names() {
		id, ok := segmentID(name)
		if !ok {
			continue
		}
		for field := range 3 {
			all = append(all, craft{name, func(file []byte, value uint64) []byte {
				binary.LittleEndian.PutUint64(file[8+8*field:], value)
				binary.LittleEndian.PutUint32(file[32:], checksum(0, file[:32]))
				return file
			}})
		}
		all = append(all, i.craftFrames(name, salt{store, id})...)
	}
	return all
}

// craftFrames returns a craft for each number of the frames of a segment.
func (i image) craftFrames(name string, place salt) (all []craft) {
	whole := i.files[name]
	for next := int64(segmentHeaderSize); next < int64(len(whole)); {
		at := next
		h, err := parseFrame(whole[at:], place, at)
		if err != nil || at+h.size() > int64(len(whole)) {
			break
		}
		numbers := []int64{8, 12, 13, 16, 24} // length, kind, flags, sequence number, commit
		if h.kind == kindAcks {
			numbers = append(numbers, frameHeaderSize, frameHeaderSize+8, frameHeaderSize+12)
		}
		for _, number := range numbers {
			all = append(all, craft{name, func(file []byte, value uint64) []byte {
				field := file[at+number : at+h.size()]
				switch number {
				case 8, frameHeaderSize + 8:
					binary.LittleEndian.PutUint32(field, uint32(value))
				case 12, 13:
					field[0] = byte(value)
				default:
					binary.LittleEndian.PutUint64(field, value)
				}
				head := file[at:]
				size := min(int64(binary.LittleEndian.Uint32(head[8:])), int64(len(head)-frameHeaderSize))
				binary.LittleEndian.PutUint32(head[4:], checksum(0, head[frameHeaderSize:frameHeaderSize+size]))
				binary.LittleEndian.PutUint32(head, checksum(place.at(at), head[4:frameHeaderSize]))
				return file
			}})
		}
		next += h.size()
	}
	return all
}

// numbersOf returns functions that set the numbers of a state.
func numbersOf(st *state) (set []func(uint64)) {
	set = append(set, func(v uint64) { st.next = v }, func(v uint64) { st.commit = v })
	for _, g := range st.segments {
		set = append(set,
			func(v uint64) { g.id = v }, func(v uint64) { g.first = v }, func(v uint64) { g.next = v },
			func(v uint64) { g.length = int64(v) }, func(v uint64) { g.live = int(v) }, func(v uint64) { g.liveBytes = int64(v) },
			func(v uint64) { g.first, g.next, g.live = 0, v, int(v) },
			func(v uint64) { g.next, g.live, g.length, st.next = v, int(v), int64(v), v })
		for seq, at := range g.copies {
			set = append(set,
				func(v uint64) { g.copies[v] = at },
				func(v uint64) { g.copies[seq] = place{int64(v), at.length} },
				func(v uint64) { g.copies[seq] = place{at.offset, uint32(v)} })
		}
	}
	return set
}

// mostBytes is how many bytes Open, Read, Repair and a Write may allocate together, for a store of a
// few kilobytes.
const mostBytes = 32 << 20

// crafted checks a store of which numbers were set by somebody who knows the format: Open, Read and
// Repair return, use little memory, and leave a store that works.
func crafted(t *testing.T, i image, crafts []craft, values []uint64) {
	d := i.with("", nil)
	for n, c := range crafts {
		d.Put(c.name, c.set(bytes.Clone(d.Contents()[c.name]), values[n]))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	use := func(s *Store, found Contents) error {
		records, err := s.Read(0, found.Next, 1<<20)
		if err == nil {
			err = s.Write(found.Next, [][]byte{{1}}, nil, 0)
		}
		if err == nil && len(records) > 0 {
			err = s.Write(found.Next+1, nil, []uint64{records[0].Seq}, 0)
		}
		return errors.Join(err, s.Close())
	}
	if s, found, err := Open(d, tiny); err == nil {
		_ = use(s, found)
	}
	report, err := Repair(d, tiny, nil)
	if err != nil {
		t.Errorf("%s, %d: %v", i.name, values, err)
		return
	}
	s, found, err := Open(d, tiny)
	if err == nil {
		err = use(s, found)
	}
	if err != nil {
		t.Errorf("%s, %d: after the repair %+v: %v", i.name, values, report, err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > mostBytes {
		t.Errorf("%s, %d: %d bytes allocated", i.name, values, after.TotalAlloc-before.TotalAlloc)
	}
}

// TestCrafted: files with right checksums and hostile contents.
func TestCrafted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	hostile := []uint64{0, 1, 1<<31 - 1, 1 << 32, 1 << 40, 1<<62 + 1, 1<<63 - 1, 1 << 63, 1<<64 - 2, 1<<64 - 1}
	for _, i := range images(t, 40) {
		all := i.crafts()
		for n := 0; n < len(all); n += suite.Rounds(8, 1) {
			c := all[n]
			crafted(t, i, []craft{c}, []uint64{hostile[random.IntN(len(hostile))]})
			crafted(t, i, []craft{c}, []uint64{random.Uint64N(200)})
			crafted(t, i, []craft{c, all[random.IntN(len(all))]}, []uint64{random.Uint64(), random.Uint64N(200)})
			if t.Failed() {
				return
			}
		}
		t.Logf("%s: %d numbers", i.name, len(all))
	}
}

// FuzzCrafted is TestCrafted with two numbers that the fuzzer chooses.
func FuzzCrafted(f *testing.F) {
	all := images(f, 40)
	f.Add(uint8(0), uint16(0), uint16(1), uint64(0), uint64(1)<<62)
	f.Fuzz(func(t *testing.T, image uint8, first, second uint16, a, b uint64) {
		i := all[int(image)%len(all)]
		crafts := i.crafts()
		crafted(t, i, []craft{crafts[int(first)%len(crafts)], crafts[int(second)%len(crafts)]}, []uint64{a, b})
	})
}
