package spill

import (
	"errors"
	"io"

	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A logStore is a log of segments as the store of a Durable.
type logStore struct {
	*logstore.Store
	lock io.Closer // queue.db
}

func (s *logStore) write(first uint64, payloads [][]byte, deletes []uint64, at int64) error {
	return s.WriteTimed(first, payloads, deletes, at)
}

func (s *logStore) read(from, to uint64, most int64) ([]storedRecord, error) {
	found, err := s.Read(from, to, most)
	if err != nil {
		return nil, err
	}
	records := make([]storedRecord, len(found))
	for i, r := range found {
		records[i] = storedRecord{seq: r.Seq, at: r.Time, payload: r.Payload, damaged: r.Damaged}
	}
	return records, nil
}

func (s *logStore) size() int64 { return s.Size() }

func (s *logStore) warning() string { return s.Warning() }

func (s *logStore) close() error { return errors.Join(s.Close(), s.lock.Close()) }
