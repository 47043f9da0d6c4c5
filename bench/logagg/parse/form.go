package parse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unique"
)

// The encoding of an event outside the process has about 20 bytes. It uses
// varints, because most numbers are small: the minute, the status with the tick
// flag, the size, the time of reading, and the name of the service, preceded by
// its length plus one; a length of 0 means no name. The encoding is
// self-delimiting, so a batch is a concatenation of events.

var errForm = errors.New("invalid encoding of an event")

const tickMark = 1 << 16 // above any status

// AppendBinary appends the encoding of e to b.
func (e Event) AppendBinary(b []byte) ([]byte, error) { return e.Append(b), nil }

// Append is AppendBinary without an error, because it cannot fail.
func (e Event) Append(b []byte) []byte {
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

// UnmarshalBinary decodes e from b, which must contain nothing else.
func (e *Event) UnmarshalBinary(b []byte) error {
	rest, err := e.Cut(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%w: %d trailing bytes", errForm, len(rest))
	}
	return err
}

// Cut decodes e from the beginning of b and returns the rest of b. It keeps e's
// previous service handle if the name is the same, so that a run of lines of
// one service does not allocate.
func (e *Event) Cut(b []byte) (rest []byte, err error) {
	var minute, status, length uint64
	before := e.Service
	*e = Event{}
	for _, field := range []struct {
		to   *uint64
		most uint64
	}{{&minute, math.MaxUint32}, {&status, tickMark | math.MaxUint16}} {
		if b, err = cutUvarint(b, field.to, field.most); err != nil {
			return nil, err
		}
	}
	for _, to := range []*int64{&e.Bytes, &e.Read} {
		v, n := binary.Varint(b)
		if n <= 0 {
			return nil, errForm
		}
		*to, b = v, b[n:]
	}
	if b, err = cutUvarint(b, &length, math.MaxUint32); err != nil {
		return nil, err
	}
	if length > uint64(len(b))+1 {
		return nil, errForm
	}
	e.Minute, e.Status, e.Tick = Minute(minute), uint16(status), status&tickMark != 0
	if length == 0 {
		return b, nil
	}
	name := b[:length-1]
	if e.Service = before; before == (unique.Handle[string]{}) || before.Value() != string(name) {
		e.Service = unique.Make(string(name))
	}
	return b[length-1:], nil
}

// cutUvarint decodes a number, which must not exceed most.
func cutUvarint(b []byte, to *uint64, most uint64) ([]byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > most {
		return nil, errForm
	}
	*to = v
	return b[n:], nil
}
