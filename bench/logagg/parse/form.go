package parse

import (
	"encoding/binary"
	"errors"
	"unique"
)

var errForm = errors.New("invalid encoding of an event")

// formBytes is the length of an encoding without the name of the service.
const formBytes = 8 + 8 + 4 + 4 + 4

const tickMark = 1 << 16 // above any status

// AppendForm appends the encoding of e outside the process to b: the time of reading, the
// size, the minute, the status with the mark of a tick, and the name of the service, preceded
// by its length plus one; a length of 0 means no name. The encoding is self-delimiting, so a
// batch is a concatenation of events.
func (e Event) AppendForm(b []byte) []byte {
	status, length, name := uint32(e.Status), 0, ""
	if e.Tick {
		status |= tickMark
	}
	if e.Service != (unique.Handle[string]{}) {
		name = e.Service.Value()
		length = len(name) + 1
	}
	number := binary.LittleEndian
	b = number.AppendUint64(b, uint64(e.Read))
	b = number.AppendUint64(b, uint64(e.Bytes))
	b = number.AppendUint32(b, uint32(e.Minute))
	b = number.AppendUint32(b, status)
	b = number.AppendUint32(b, uint32(length))
	return append(b, name...)
}

// CutForm decodes e from the beginning of b and returns the rest of b. It keeps e's
// previous service handle if the name is the same, so that a run of lines of
// one service does not allocate.
func (e *Event) CutForm(b []byte) (rest []byte, err error) {
	if len(b) < formBytes {
		return nil, errForm
	}
	number := binary.LittleEndian
	got := Event{Read: int64(number.Uint64(b)), Bytes: int64(number.Uint64(b[8:])), Minute: Minute(number.Uint32(b[16:]))}
	status, length, rest := number.Uint32(b[20:]), int64(number.Uint32(b[24:])), b[formBytes:]
	got.Status, got.Tick = uint16(status), status&tickMark != 0
	switch {
	case status >= 2*tickMark || length > int64(len(rest))+1:
		return nil, errForm
	case length > 0:
		name := rest[:length-1]
		rest = rest[length-1:]
		if got.Service = e.Service; got.Service == (unique.Handle[string]{}) || got.Service.Value() != string(name) {
			got.Service = unique.Make(string(name))
		}
	}
	*e = got
	return rest, nil
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
