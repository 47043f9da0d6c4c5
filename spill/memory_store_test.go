package spill

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// memoryStore is a store in memory that can be made to fail, and that checks how it
// is used.
type memoryStore struct {
	mu      sync.Mutex
	records map[uint64][]byte
	times   map[uint64]int64
	next    uint64 // after the last record that was stored
	writes  int
	busy    bool
	closed  bool
	// onWrite is called, without the lock, before each write; an error fails it,
	// and with errUnknown in it the write is done all the same, unless it is errNotStored.
	onWrite func(first uint64, payloads [][]byte, deletes []uint64) error
	onRead  func() error
}

// errNotStored is the error of a write with an unknown outcome that was not stored.
var errNotStored = fmt.Errorf("sync 0000000000000001.log: input/output error: %w", errUnknown)

func newMemoryStore() *memoryStore {
	return &memoryStore{records: map[uint64][]byte{}, times: map[uint64]int64{}}
}

func (s *memoryStore) Write(first uint64, payloads [][]byte, deletes []uint64, at int64) error {
	s.mu.Lock()
	if s.busy || s.closed {
		panic("two writes at once, or one to a closed store")
	}
	s.busy = true
	s.writes++
	s.mu.Unlock()
	var err error
	if s.onWrite != nil {
		err = s.onWrite(first, payloads, deletes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	if err != nil && !errors.Is(err, errUnknown) || err == errNotStored {
		return err
	}
	if len(payloads) > 0 && first < s.next {
		panic("a number is used twice")
	}
	s.next = max(s.next, first+uint64(len(payloads)))
	for i, payload := range payloads {
		s.records[first+uint64(i)], s.times[first+uint64(i)] = append([]byte{}, payload...), at
	}
	for _, n := range deletes {
		if _, ok := s.records[n]; !ok {
			panic("what is removed was not there")
		}
		delete(s.records, n)
	}
	return err
}

func (s *memoryStore) Read(from, to uint64, most int64) (records []logstore.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onRead != nil {
		if err := s.onRead(); err != nil {
			return nil, err
		}
	}
	for n := from; n < to && most > 0; n++ {
		if payload, ok := s.records[n]; ok {
			records = append(records, logstore.Record{Seq: n, Time: s.times[n], Payload: append([]byte{}, payload...)})
			most -= records[len(records)-1].Memory()
		}
	}
	return records, nil
}

// written returns the number of writes.
func (s *memoryStore) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// again returns the contents of s as a store that was opened again.
func (s *memoryStore) again() (*memoryStore, logstore.Contents) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		panic("opened twice")
	}
	again := &memoryStore{records: maps.Clone(s.records), times: maps.Clone(s.times), next: max(s.next, 1)}
	found := logstore.Contents{First: again.next, Next: again.next, Records: len(s.records)}
	if len(s.records) > 0 {
		found.First = slices.Min(slices.Collect(maps.Keys(s.records)))
	}
	for _, payload := range s.records {
		found.Bytes += int64(len(payload))
	}
	return again, found
}

func (s *memoryStore) Size() int64 { return 0 }

func (s *memoryStore) Warning() string { return "" }

func (s *memoryStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// durableOn returns a Durable on an empty store, whose records may use all of
// MemoryLimit.
func durableOn[T any](s store, o *DurableOptions[T]) *Durable[T] {
	p, err := o.config()
	if err != nil {
		panic(err)
	}
	return newDurable(p, s, logstore.Contents{First: 1, Next: 1})
}
