package parse

import (
	"encoding/binary"
	"errors"
	"math"
	"unique"
)

var errForm = errors.New("invalid encoding of an event")

const tickMark = 1 << 16 // above any status

// AppendForm appends the encoding of e outside the process to b: about 20 bytes, in
// varints, because most numbers are small. These are the minute, the status with the mark of a
// tick, the size, the time of reading, and the name of the service, preceded by its length plus
// one; a length of 0 means no name. The encoding is self-delimiting, so a batch is a
// concatenation of events.
func (e Event) AppendForm(b []byte) []byte {
	status := uint64(e.Status)
	if e.Tick {
		status |= tickMark
	}
	b = binary.AppendUvarint(b, uint64(e.Minute))
	b = binary.AppendUvarint(b, status)
	b = binary.AppendVarint(b, e.Bytes)
	b = binary.AppendVarint(b, e.Read)
	if e.Service == (unique.Handle[string]{}) {
		return append(b, 0)
	}
	service := e.Service.Value()
	b = binary.AppendUvarint(b, uint64(len(service))+1)
	return append(b, service...)
}

// CutForm decodes e from the beginning of b and returns the rest of b. It keeps e's
// previous service handle if the name is the same, so that a run of lines of
// one service does not allocate.
func (e *Event) CutForm(b []byte) (rest []byte, err error) {
	form := form{rest: b}
	minute, status := form.unsigned(math.MaxUint32), form.unsigned(tickMark|math.MaxUint16)
	got := Event{Minute: Minute(minute), Status: uint16(status), Tick: status&tickMark != 0, Bytes: form.signed(), Read: form.signed()}
	if length := form.unsigned(math.MaxUint32); length > 0 {
		name := form.take(length - 1)
		if got.Service = e.Service; got.Service == (unique.Handle[string]{}) || got.Service.Value() != string(name) {
			got.Service = unique.Make(string(name))
		}
	}
	if form.invalid {
		return nil, errForm
	}
	*e = got
	return form.rest, nil
}

// AppendBinary and UnmarshalBinary are the encoding of a single event, for channels that encode
// their values themselves.
func (e Event) AppendBinary(b []byte) ([]byte, error) { return e.AppendForm(b), nil }

func (e *Event) UnmarshalBinary(b []byte) error {
	rest, err := e.CutForm(b)
	if err == nil && len(rest) > 0 {
		err = errForm
	}
	return err
}

// A form is an encoding that is being decoded. Once it is invalid it stays so.
type form struct {
	rest    []byte
	invalid bool
}

// take cuts n bytes.
func (f *form) take(n uint64) []byte {
	if n > uint64(len(f.rest)) {
		f.invalid = true
		return nil
	}
	cut := f.rest[:n]
	f.rest = f.rest[n:]
	return cut
}

// unsigned cuts a number, which must not exceed most.
func (f *form) unsigned(most uint64) uint64 {
	v, n := binary.Uvarint(f.rest)
	if n <= 0 || v > most {
		f.invalid = true
		return 0
	}
	f.take(uint64(n))
	return v
}

func (f *form) signed() int64 {
	v, n := binary.Varint(f.rest)
	if n <= 0 {
		f.invalid = true
		return 0
	}
	f.take(uint64(n))
	return v
}
