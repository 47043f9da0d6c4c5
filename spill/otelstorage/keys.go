package otelstorage

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// A record is the length of the key, the key, and the value.

func appendRecord(b []byte, key string, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	return append(b, value...)
}

var errRecord = errors.New("not a record of a key and a value")

func parseRecord(b []byte) (key string, value []byte, err error) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return "", nil, errRecord
	}
	b = b[n:]
	return string(b[:length]), b[length:], nil
}

// keys maps keys to sequence numbers. A queue numbers its items, so numbers have their places in
// blocks: a million of them uses 9 MB.
type keys struct {
	blocks map[uint64]*block // by the number divided by blockLength
	others map[string]uint64
}

type block struct {
	seqs [blockLength]uint64 // 0: none
	used int
}

const blockLength = 64

func newKeys() keys { return keys{map[uint64]*block{}, map[string]uint64{}} }

// number returns the number that key is the decimal notation of.
func number(key string) (n uint64, ok bool) {
	if key == "" || key[0] < '0' || key[0] > '9' || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(key, 10, 64)
	return n, err == nil
}

// get returns the sequence number of key, or 0.
func (k keys) get(key string) uint64 {
	n, ok := number(key)
	if !ok {
		return k.others[key]
	}
	if b := k.blocks[n/blockLength]; b != nil {
		return b.seqs[n%blockLength]
	}
	return 0
}

// set sets the sequence number of key, or removes key if it is 0.
func (k keys) set(key string, seq uint64) {
	n, ok := number(key)
	if !ok && seq == 0 {
		delete(k.others, key)
		return
	}
	if !ok {
		k.others[key] = seq
		return
	}
	b := k.blocks[n/blockLength]
	if b == nil {
		b = new(block)
		k.blocks[n/blockLength] = b
	}
	if b.seqs[n%blockLength] != 0 {
		b.used--
	}
	if b.seqs[n%blockLength] = seq; seq != 0 {
		b.used++
	}
	if b.used == 0 {
		delete(k.blocks, n/blockLength)
	}
}
